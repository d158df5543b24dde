"""What `argolint explain --setup [WHAT]` prints."""

from collections.abc import Mapping

SETUP = """\
What argolint needs in Argo CD: to read. It writes nothing unless you ask for it with a flag.

1. An account of its own (argocd-cm):

     data:
       accounts.argolint: apiKey

2. Its rights (argocd-rbac-cm, policy.csv):

     p, role:argolint, applications, get, */*, allow
     p, role:argolint, applicationsets, get, */*, allow
     p, role:argolint, projects, get, *, allow
     p, role:argolint, clusters, get, *, allow
     p, role:argolint, repositories, get, *, allow
     g, argolint, role:argolint

   Without `projects`, `clusters`, `repositories` or `applicationsets` argolint works, says what it could not read, and
   rules that need it are less sure. The built-in role:readonly holds all of these.

3. Its token:

     argocd account generate-token --account argolint
     export ARGOCD_SERVER=argocd.example.com ARGOCD_AUTH_TOKEN=<the token>

With impersonation (application.sync.impersonation.enabled) Argo CD 3.5 and later reads as the service accounts that each AppProject names
under destinationServiceAccounts. They need, in the namespaces of their applications:

     rules:
     - {apiGroups: ["*"], resources: ["*"], verbs: [get]}
     - {apiGroups: ["", events.k8s.io], resources: [events], verbs: [list]}

Where they lack it the server answers 403, whatever rights the account above has.

For one project only, a project role does (it sees the applications of that project alone, so objects shared with other
projects stay unknown):

     spec:
       roles:
       - name: argolint
         policies:
         - p, proj:<project>:argolint, applications, get, <project>/*, allow

     argocd proj role create-token <project> argolint

A login made with `argocd login` works as it is: argolint reads the same file.
"""

OPENREPORTS = """\
What `argolint publish openreports` needs in the cluster that Argo CD runs in. It is the only command that writes.

1. The CRDs of OpenReports (openreports.io).

2. A Role of its own, in each namespace that holds Applications, or a ClusterRole:

     apiVersion: rbac.authorization.k8s.io/v1
     kind: ClusterRole
     metadata: {name: argolint-openreports}
     rules:
     - {apiGroups: [openreports.io], resources: [reports], verbs: [get, list, create, patch, delete]}

3. Argo CD must not see the Reports, or they are orphans in every application's tree (argocd-cm):

     resource.exclusions: |
       - apiGroups: [openreports.io]
         kinds: ["*"]
         clusters: ["*"]

Then, in a pod with that account:

     argolint check --fail-on never -o json=report.json && argolint publish openreports report.json
"""

EXTENSION = """\
What argolint's extension of Argo CD's UI needs (Argo CD 2.14 or later). The names fit the chart with the release name argolint in the
namespace argocd; change them where yours differ.

1. One token for two readers: argocd-server sends it, `argolint serve` answers no one without it. The label lets argocd-cm refer to the Secret:

     TOKEN=$(openssl rand -hex 32)
     kubectl -n argocd create secret generic argolint-extension --from-literal=token="$TOKEN" --from-literal=authorization="Bearer $TOKEN"
     kubectl -n argocd label secret argolint-extension app.kubernetes.io/part-of=argocd

   A key of argocd-secret does as well: its reference is `$KEY` in place of `$argolint-extension:authorization`.

2. The service reads it: `extension.existingTokenSecret.name: argolint-extension` in the chart's values, or

     argolint serve --extension-token-file FILE

3. Argo CD's proxy (argocd-cmd-params-cm, argocd-cm):

     data:
       server.enable.proxy.extension: "true"     # argocd-cmd-params-cm; restart argocd-server afterwards

     data:
       extension.config.argolint: |              # argocd-cm
         services:
         - url: http://argolint.argocd.svc:9797
           headers:
           - name: Authorization
             value: $argolint-extension:authorization

4. The right to ask, for those who see applications (argocd-rbac-cm, policy.csv). They see findings of applications that they may `get`, no others:

     p, role:readonly, extensions, invoke, argolint, allow

5. The file in argocd-server's pod, put there by argolint's own image (a patch of Deployment argocd-server). Any other way to put the output of
   `argolint extension` below /tmp/extensions does; `argolint extension -o FILE.tar.gz` makes the archive for argocd-extension-installer:

     spec:
       template:
         spec:
           initContainers:
           - name: argolint-extension
             image: <argolint's image>
             args: [extension, -o, /tmp/extensions/extension-argolint.js]
             securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
             volumeMounts: [{name: extensions, mountPath: /tmp/extensions}]
           containers:
           - name: argocd-server
             volumeMounts: [{name: extensions, mountPath: /tmp/extensions}]
           volumes:
           - name: extensions
             emptyDir: {}

Related applications of other projects are not named, since argolint does not know who may see them: --extension-show-other-projects names them.
"""

DEEP_LINK = """\
A link from each application in Argo CD's UI to its findings (argocd-cm). The address is that of `argolint serve`, or of a page written with
`argolint check -o html=report.html`:

     data:
       application.links: |
         - url: https://argolint.example.com/report.html#?q=app:{{.app.metadata.namespace}}/{{.app.metadata.name}}
           title: argolint
           description: findings of this application
           icon.class: fa-check-double

Browsers send no bearer token: for people, put a proxy with a login before `argolint serve`, which sends the token of --token-file.
"""

SETUPS: Mapping[str, str] = {"": SETUP, "openreports": OPENREPORTS, "extension": EXTENSION, "deep-link": DEEP_LINK}
"""The texts by the word after --setup."""

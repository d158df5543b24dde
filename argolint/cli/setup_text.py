"""What `argolint explain --setup` prints."""

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

"""Basic types of argolint: identities, differences, findings, fixes.

Everything here is frozen and contains plain data. `App` and `Resource`, which wrap the server's answers, are in `argolint.application`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

Json = Any
"""A decoded JSON value; `Any` is used only here, where manifests are read."""
Object = Mapping[str, Json]
"""A decoded Kubernetes object. Never change one: it is shared."""

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
Confidence = Literal["possible", "likely", "proven"]


class AppRef(msgspec.Struct, frozen=True, order=True, gc=False):
    """One Application: `namespace` is never empty, `server` is the Argo CD's own URL."""

    namespace: str
    name: str
    project: str = "default"
    server: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ResourceKey(NamedTuple):
    """Identity of an object on its cluster, independent of the API version. `cluster`: the canonical server URL."""

    cluster: str
    group: str
    kind: str
    namespace: str
    name: str

    @property
    def id(self) -> ResourceId:
        """The object without the version of its API."""
        return ResourceId(self.group, self.kind, self.namespace, self.name, "", self.cluster)

    def __str__(self) -> str:
        return _title(self)


class ResourceId(msgspec.Struct, frozen=True, order=True, gc=False):
    """An object as Argo CD names it. Core group is the empty string; cluster-scoped objects have no namespace."""

    group: str
    kind: str
    namespace: str
    name: str
    version: str = ""
    cluster: str = ""

    @property
    def key(self) -> ResourceKey:
        return ResourceKey(self.cluster, self.group, self.kind, self.namespace, self.name)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return _title(self)


def _title(of: ResourceKey | ResourceId) -> str:
    return f"{of.kind} {of.namespace}/{of.name}" if of.namespace else f"{of.kind} {of.name}"


class _Missing:
    """The value of a field on the side of a difference that lacks it; unlike None, which is JSON's null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Writer:
    """A manager that wrote a field of a live object, from metadata.managedFields."""

    manager: str
    operation: str = ""  # Apply or Update
    subresource: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One difference that Argo CD itself sees: `live` is the normalized live value, `desired` the predicted one.

    `pointer`: an RFC 6901 pointer into the normalized live object. A side without the field is MISSING. `secret`: neither value may be
    printed (`redaction` decides when the difference is created). `masked`: Argo CD shows masks in place of both values, so that comparisons
    with other values are impossible. `printed`: the printable parts of desired and live, if some parts are not.
    """

    pointer: str
    desired: Json
    live: Json
    writer: Writer | None = None
    secret: bool = False
    masked: bool = False
    printed: tuple[Json, Json] | None = None

    @property
    def sides(self) -> tuple[Json, Json]:
        """Desired and live for printing; not for a `secret` difference."""
        return self.printed or (self.desired, self.live)


SymptomKind = Literal["change", "missing", "extra", "sync", "health", "operation", "condition"]


@dataclass(frozen=True, order=True, slots=True)
class Symptom:
    """Something that Argo CD shows as wrong and that a finding must explain.

    kind       resource   detail
    change     yes        pointer of one Change
    missing    yes        the object is desired and not live
    extra      yes        the object is live and not desired
    sync       no         OutOfSync or Unknown without a resource or condition as the reason
    health     yes/no     Degraded, Missing, Progressing, Unknown (no resource: the Application's own)
    operation  no         phase of the failed or waiting operation
    condition  no         "<type>: <message>"
    """

    kind: SymptomKind
    resource: ResourceKey | None = None
    detail: str = ""

    @classmethod
    def change(cls, resource: ResourceId, pointer: str = "") -> Symptom:
        return cls("change", resource.key, pointer)

    @classmethod
    def missing(cls, resource: ResourceId) -> Symptom:
        return cls("missing", resource.key)

    @classmethod
    def extra(cls, resource: ResourceId) -> Symptom:
        return cls("extra", resource.key)

    @classmethod
    def health(cls, resource: ResourceId | None = None) -> Symptom:
        return cls("health", resource.key if resource else None)

    @classmethod
    def operation(cls) -> Symptom:
        return cls("operation")

    @classmethod
    def sync(cls) -> Symptom:
        return cls("sync")

    @classmethod
    def condition(cls, kind: str, message: str = "") -> Symptom:
        return cls("condition", None, f"{kind}: {message}" if message else kind)

    def covers(self, other: Symptom) -> bool:
        """True if a claim on self explains `other`: equal, or self is a prefix of it (pointer or condition type)."""
        same = self.kind == other.kind and self.resource == other.resource
        return same and other.is_part(len(self.detail)) and other.detail.startswith(self.detail)

    def is_part(self, length: int) -> bool:
        """True if the first `length` characters of the detail are a prefix at a part boundary, or the whole."""
        if length in (0, len(self.detail)):
            return True
        separator = "/" if self.kind == "change" else ": "
        return self.kind in ("change", "condition") and self.detail.startswith(separator, length)


@dataclass(frozen=True, slots=True)
class Follows:
    """The cause of a finding, under which a report shows it. One of four:

    symptom   the finding that explains this symptom: of any application if it names an object, else of the same one
    resource  a finding of `rule` about this object, of any application
    app       the worst finding of this other application
    key       a cause without a finding of its own, such as a missing operator: all findings of one key follow from it, and
              `title` names it in one sentence, the same for all of them

    `mended`: fixing the cause also fixes this finding, so the cause's fixes, if it has any, replace this finding's own.
    """

    symptom: Symptom | None = None
    resource: ResourceKey | None = None
    rule: str = ""
    app: AppRef | None = None
    key: str = ""
    title: str = ""
    mended: bool = False

    @classmethod
    def finding(cls, rule: str, resource: ResourceId, *, mended: bool = False) -> Follows:
        return cls(resource=resource.key, rule=rule, mended=mended)

    @classmethod
    def common(cls, title: str, *key: str) -> Follows:
        """A common cause; the parts of the key identify it: a kind of cause, the cluster, what is missing there."""
        return cls(key="\0".join(key), title=title)


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a manifest in Git or a chart repository, as far as known."""

    repo: str = ""
    revision: str = ""
    path: str = ""
    chart: str = ""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """The place of a finding: an application, perhaps one of its resources, perhaps one field of it."""

    app: AppRef
    resource: ResourceId | None = None
    pointer: str = ""


Role = Literal["owner", "claimant", "cause", "symptom", "dependent", "other"]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding, and its role."""

    app: AppRef
    resource: ResourceId | None = None
    pointer: str = ""
    role: Role = "other"


FixTarget = Literal["helm-values", "manifest", "application", "live", "operator", "argocd-settings"]
EditKind = Literal["json-patch", "yaml", "command", "text"]


@dataclass(frozen=True, slots=True)
class Edit:
    """The change itself. `content`: a list of RFC 6902 operations for json-patch, else text to paste."""

    kind: EditKind
    content: Json


GONE = Edit("json-patch", [{"op": "remove", "path": ""}])
"""`Fix.plays` of a command that deletes the live object `Fix.resource`."""

Proof = Literal["replayed", "rendered-twice"]
Effect = Literal["restarts", "scales", "deletes", "hides", "needs-sync", "needs-force-sync"]
EFFECTS: tuple[Effect, ...] = ("restarts", "scales", "deletes", "hides", "needs-sync", "needs-force-sync")
"""Effects on pods, workloads, live objects or fields, later differences; or a manual step that the fix needs."""


Part = Literal["keep", "release"]
"""The role of an application in the hand-over of a shared object: it becomes the only owner, or stops rendering the object."""


@dataclass(frozen=True, slots=True)
class Need:
    """A requirement of a fix: an Argo CD, a cluster or an External Secrets Operator (`of`) of at least this version, such as `2.10`."""

    of: Literal["argocd", "kubernetes", "external-secrets"]
    at_least: str


@dataclass(frozen=True, slots=True)
class Fix:
    """One of the ranked ways to end a fault: the root cause first, mitigation after.

    A rule sets:

    where       the file, application or object to change
    caveat      what the fix costs or hides
    safe        no workload restarts, nothing is deleted, nothing is hidden
    resource    the manifest that a json-patch of target `manifest` edits, if it is not the finding's own
    before      commands to run before the edit reaches the cluster; verification assumes them, and `fix --write` skips such a fix
    effects     side effects; the engine adds those that it sees
    needs       required versions in addition to those that the edit shows; where the fleet has an older one, the fix becomes advice for
                after the upgrade
    older       what is left of the fix on an Argo CD that is too old for the edit, and what it then costs; the next one
                where it is too old for that, too
    plays       the effect of a command on the live object of the finding, as a json-patch: it is replayed in place of the command,
                which never runs. `GONE`: `resource` is deleted; with target `manifest`, the manifest leaves Git
    trials      the parts of a fix of several applications: it is verified if each part was replayed

    The engine sets:

    verified    True if the edit was replayed in memory and the fault was gone; None if it was not replayed
    unverified  why it was not replayed
    proof       how a verified fix was verified
    """

    title: str
    target: FixTarget
    where: str
    edit: Edit
    caveat: str = ""
    safe: bool = False
    verified: bool | None = None
    unverified: str = ""
    resource: ResourceId | None = None
    proof: Proof | None = None
    effects: tuple[Effect, ...] = ()
    before: tuple[str, ...] = ()
    trials: tuple[tuple[AppRef, Part], ...] = ()
    needs: tuple[Need, ...] = ()
    plays: Edit | None = None
    older: tuple[tuple[Edit, str], ...] = ()


RelationKind = Literal[
    "comes-later",
    "spec-says",
    "rewritten-by",
    "made-by",
    "denied-by",
    "not-in-git",
    "owner-ill",
    "contradicts",
    "said-by-child",
]
"""The relation of two objects, in order of precedence: causes that someone can change in Git come first.

comes-later     the sync creates the other object only later
spec-says       the message refuses a value of the object's own fields
rewritten-by    the other object's Application overwrites a value that someone else must set
made-by         a controller makes it from the other object
denied-by       the other object refuses it: a quota, a policy, the Pod Security level of a namespace
not-in-git      the failing part comes from a webhook and not from Git
owner-ill       the object that it waits for is unhealthy
contradicts     the object's conditions report success, but Argo CD does not
said-by-child   a child object has the reason
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation that an explanation rests on: from the finding's object to another one. `resource` is None for an Application itself."""

    kind: RelationKind
    app: AppRef
    resource: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, reported once.

    explains    claims on the symptoms that this finding explains. Each symptom goes to the rule of highest rank; a finding that loses all
                its claims is dropped; one without claims is a comment and stays
    follows     the possible causes, the likeliest first; the engine resolves that to `caused_by`, a fingerprint
    key         the fact key of a fleet finding, which is the subject in its fingerprint
    relation    the relation behind the explanation, if a sentence was resolved to other objects

    The engine sets `rule`, `family`, `severity`, `source`, `key` and `caused_by`.
    """

    message: str
    at: Location
    cause: str | None = None
    severity: Severity | None = None
    confidence: Confidence = "proven"
    evidence: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    explains: tuple[Symptom, ...] = ()
    follows: tuple[Follows, ...] = ()
    caused_by: str = ""
    source: Source | None = None
    relation: Relation | None = None
    rule: str = ""
    family: str = ""
    key: str = ""
    suppressed: Mapping[str, str] | None = None

    def edits(self, fix: Fix) -> ResourceId | None:
        """The object that the fix changes: the finding's own, unless it names another one."""
        return fix.resource or self.at.resource


@dataclass(frozen=True, slots=True)
class Trial:
    """The part of one application in a fix of several. A rule names it, the engine replays it on the application's states.

    `why`: empty if it works, the obstacle if it does not, None before the replay. `open`: an assumption that the states do not show: that a
    chart or an overlay then renders everything except the object. The engine clears it if a render with `values` (Helm values, YAML)
    confirms that.
    """

    part: Part
    resource: ResourceId
    why: str | None = None
    open: str = ""
    values: str = ""
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """Data from one application for a fleet-wide rule; facts of one `key` meet in the rule's `join`. `data` is plain JSON.

    `about`: the object whose change removes the fact; without its facts the rule must report nothing.
    """

    key: str
    app: AppRef
    data: Mapping[str, Json] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    about: ResourceKey | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be looked at: the run goes on and is incomplete. `server`: its Argo CD, if a run reads several."""

    stage: str
    error: str
    hint: str = ""
    app: AppRef | None = None
    rule: str | None = None
    server: str = ""


UNREAD = frozenset({"server", "login"})
"""The stages of a failure of a whole Argo CD: nothing of it could be read."""
SETTINGS = "settings"
"""The stage of a failure after which an Argo CD has only the address that was asked: its own URL is one of its settings."""
DESTINATION = "destination"
"""The stage of a failure of an application whose cluster does not answer Argo CD: it is reported once per cluster."""


@dataclass(frozen=True, order=True, slots=True)
class Note:
    """A suppression annotation found on an application (`resource` is None) or on one of its objects."""

    app: AppRef
    resource: ResourceId | None
    rule: str
    reason: str


WantKind = Literal["events", "app-events", "live", "peer", "manifests", "render", "sync-windows", "revision"]


@dataclass(frozen=True, order=True, slots=True)
class Want:
    """Evidence that costs another request. A rule requests it, the engine fetches it, and it is in `app.evidence`.

    events        Events of one object (needs its uid)                 -> tuple[Event, ...]
    app-events    Events of the Application itself                     -> tuple[Event, ...]
    live          the live object, from the cluster, by its owner app  -> dict
    peer          an object of another application (`app`)             -> Resource
    manifests     the plain rendered manifests, hooks included         -> tuple[dict, ...]   opt-in
    render        two fresh renders (noCache)                          -> tuple[tuple[dict, ...], tuple[dict, ...]]   free in a snapshot and from a checkout, else opt-in
    sync-windows  assigned and active windows                          -> dict
    revision      author, date and message of `revision`, of the `source` (from 0) if there are several    -> dict
    """

    kind: WantKind
    resource: ResourceId | None = None
    uid: str = ""
    app: AppRef | None = None
    revision: str = ""
    source: int | None = None

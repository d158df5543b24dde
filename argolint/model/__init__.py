"""What the rest of argolint passes around: identities, differences, findings, fixes.

Everything here is frozen and holds plain data. `App` and `Resource`, which wrap the server's answers, are in app.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

Json = Any
"""A decoded JSON value; it is `Any` only at the edge where manifests are read."""
Object = Mapping[str, Json]
"""A decoded Kubernetes object. Never change one: it is shared."""

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
Confidence = Literal["possible", "likely", "proven"]


class AppRef(msgspec.Struct, frozen=True, order=True, gc=False):
    """One Application: `namespace` is always filled, `server` is the Argo CD's own URL."""

    namespace: str
    name: str
    project: str = "default"
    server: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ResourceKey(NamedTuple):
    """Identity of an object on its cluster, whatever API version names it. `cluster` is the canonical server URL."""

    cluster: str
    group: str
    kind: str
    namespace: str
    name: str


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
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class _Missing:
    """The side of a difference that does not hold the field; unlike None, which is JSON's null."""

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
    """Who wrote a field of a live object, from metadata.managedFields."""

    manager: str
    operation: str = ""  # Apply or Update
    subresource: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One difference that Argo CD itself sees: `live` is the normalised live value, `desired` the predicted one.

    `pointer` is an RFC 6901 pointer into the normalised live object. A side without the field is MISSING.
    `secret` says that neither value may be printed (`redaction` decides when the difference is made), `masked` that Argo CD
    itself shows masks in place of both, so that whether they equal anything else is not known. `printed` is what may be printed
    of desired and live, where that is not all of them.
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
        """Desired and live as they may be printed, unless the difference is `secret`."""
        return self.printed or (self.desired, self.live)


SymptomKind = Literal["change", "missing", "extra", "sync", "health", "operation", "condition"]


@dataclass(frozen=True, order=True, slots=True)
class Symptom:
    """Something that Argo CD shows as wrong and that a finding must explain.

    kind       resource   detail
    change     yes        pointer of one Change
    missing    yes        the object is desired and not live
    extra      yes        the object is live and not desired
    sync       no         OutOfSync or Unknown though no resource and no condition says why
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
        """True when a claim on self answers `other`: equal, or self is a prefix of it (pointer or condition type)."""
        same = self.kind == other.kind and self.resource == other.resource
        return same and other.is_part(len(self.detail)) and other.detail.startswith(self.detail)

    def is_part(self, length: int) -> bool:
        """True when that many first characters of the detail name what the whole lies in, or the whole itself."""
        if length in (0, len(self.detail)):
            return True
        separator = "/" if self.kind == "change" else ": "
        return self.kind in ("change", "condition") and self.detail.startswith(separator, length)


@dataclass(frozen=True, slots=True)
class Follows:
    """What a finding follows from, so that a report shows it under its cause. One of four:

    symptom   the finding that explains this symptom: of any application where it names an object, else of the finding's own
    resource  a finding of `rule` about this object, whatever application it belongs to
    app       the worst finding of this other application
    key       a cause without a finding of its own, such as a missing operator: all findings of one key follow from it, and
              `title` names it in one sentence, the same for all of them

    `mended` says that what ends that finding ends this one as well: its fixes take the place of the finding's own where the first is verified.
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
        """The parts of the key say whose cause it is: a kind of cause, the cluster, what is missing there."""
        return cls(key="\0".join(key), title=title)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a manifest comes from in Git or a chart repository, as far as known."""

    repo: str = ""
    revision: str = ""
    path: str = ""
    chart: str = ""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """What a finding is about: an application, perhaps one of its resources, perhaps one field of it."""

    app: AppRef
    resource: ResourceId | None = None
    pointer: str = ""


Role = Literal["owner", "claimant", "cause", "symptom", "dependent", "other"]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding, and what it is to it."""

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
"""What a command plays that deletes the live object `Fix.resource`."""

Proof = Literal["replayed", "rendered-twice"]
Effect = Literal["restarts", "scales", "deletes", "hides", "needs-sync", "needs-force-sync"]
EFFECTS: tuple[Effect, ...] = ("restarts", "scales", "deletes", "hides", "needs-sync", "needs-force-sync")
"""Of pods, workloads, live objects or fields, later differences; what someone must do by hand for the fix to take hold."""


Part = Literal["keep", "release"]
"""Of an object that several applications render: to be its only owner from now on, or to render it no more."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a fix needs: an Argo CD or a cluster (`of`) of this version at least, such as `2.10`."""

    of: Literal["argocd", "kubernetes"]
    at_least: str


@dataclass(frozen=True, slots=True)
class Fix:
    """One of the ranked ways to end a fault: the root cause first, mitigation after.

    `where` names the file, application or object to change; `caveat` what the fix costs or hides; `safe` means that no
    workload restarts, nothing is deleted and nothing hidden. `verified` is set by the engine only: True when the edit was
    replayed in memory and the fault was gone, None with `unverified` saying why it was not replayed.
    `resource` is the manifest that a json-patch of target `manifest` edits, when it is not the finding's own.
    `trials` are the parts that applications have in a fix of several: it is verified when each of them has played its own.
    `proof` says how a verified fix was proven; `effects` what else it does, which the engine adds to. `before` are commands
    that come before the edit reaches the cluster: the proof counts on them, and `fix --write` writes none that has one. `needs` are versions that the fix asks for in addition to what its
    edit says by itself; the engine drops it where the fleet contradicts one. `plays` is what a command does to the live object of the
    finding (of `resource`, where it is `GONE`), as a json-patch: that is replayed in the place of the command, which no one runs.
    `GONE` of a fix of target `manifest` is that the whole manifest leaves Git.
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
"""How two objects stand to each other, the deciding one first: nearest to what someone can change in Git.

comes-later     the sync creates the other one only afterwards
spec-says       the object's own fields hold what the message refuses
rewritten-by    the other one's Application overwrites what someone else must fill in
made-by         a controller makes it from the other one
denied-by       the other one refuses it: a quota, a policy, the level of a namespace
not-in-git      the part that fails comes from a webhook and not from Git
owner-ill       what it waits for is itself not well
contradicts     the object calls itself well, and Argo CD does not
said-by-child   an object below it says why
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """What an explanation rests on: how the finding's object stands to another one. `resource` is None for an Application itself."""

    kind: RelationKind
    app: AppRef
    resource: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, reported once. A rule fills what it knows; the engine stamps `rule`, `family`, `severity`, `source`, `key`, `caused_by`.

    `explains` claims the symptoms that this finding answers. For each symptom the rule of highest rank speaks; a finding
    all of whose claims are answered by others is dropped, one that claims nothing is a comment and stays.
    `follows` says what it follows from, the likeliest first; the engine resolves that to `caused_by`, a fingerprint.
    `key` is the fact key of a fleet finding, and stands for its subject in the fingerprint.
    `relation` is what the explanation rests on, where a sentence was resolved against the objects around it.
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


@dataclass(frozen=True, slots=True)
class Trial:
    """A part that an application could have in a fix of several. A rule names it, the engine plays it on the application's states.

    `why` is empty when it works, says what is in the way when it does not, and is None as long as it was not played.
    `open` says what it rests on that the states do not show: that a chart or an overlay then renders all but the object. The engine empties it
    when a render with `values` (Helm values, YAML) shows that.
    """

    part: Part
    resource: ResourceId
    why: str | None = None
    open: str = ""
    values: str = ""
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """What one application tells a fleet-wide rule; facts of one `key` meet in the rule's `join`. `data` is plain JSON.

    `about` is the object whose change takes the fact away: without its facts the rule must then be silent.
    """

    key: str
    app: AppRef
    data: Mapping[str, Json] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    about: ResourceKey | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be looked at: the run goes on and is incomplete. `server` is its Argo CD, where a run reads several."""

    stage: str
    error: str
    hint: str = ""
    app: AppRef | None = None
    rule: str | None = None
    server: str = ""


UNREAD = frozenset({"server", "login"})
"""The stages of a failure that belongs to an Argo CD as a whole: nothing of it could be read."""
SETTINGS = "settings"
"""The stage of a failure after which an Argo CD goes by the address that was asked: its own URL is one of its settings."""
DESTINATION = "destination"
"""The stage of a failure of an application whose cluster does not answer Argo CD: it is said once for all of that cluster."""


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
    """Evidence that costs another request. A rule names it, the engine fetches it, `app.evidence` then holds it.

    events        Events of one object (needs its uid)                 -> tuple[Event, ...]
    app-events    Events of the Application itself                     -> tuple[Event, ...]
    live          the live object, from the cluster, by its owner app  -> dict
    peer          an object that another application manages (`app`)   -> Resource
    manifests     the plain rendered manifests, hooks included         -> tuple[dict, ...]   opt-in
    render        two fresh renders (noCache)                          -> tuple[tuple[dict, ...], tuple[dict, ...]]   free in a snapshot and from a checkout, else opt-in
    sync-windows  assigned and active windows                          -> dict
    revision      author, date and message of `revision`, of the `source` (from 0) where there are several    -> dict
    """

    kind: WantKind
    resource: ResourceId | None = None
    uid: str = ""
    app: AppRef | None = None
    revision: str = ""
    source: int | None = None

"""What the webhooks of operators refuse in their own kinds because two fields do not go together.

Single fields are the rows of validation.yaml. An operator may run without its webhook; it then fails at the object itself, or does not do what is written.
Sources: external-secrets apis/externalsecrets/v1/externalsecret_validator.go; cert-manager internal/apis/certmanager/validation/certificate.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from argolint import Object
from argolint.values import dig, items, mapping, maps, parse_duration, text_at
from argolint.values.kubernetes import api_of

from ._field_checks import Refused, invalid, required

_SHORTEST, _LATEST = timedelta(hours=1), timedelta(minutes=5)
"""The shortest certificate, and the shortest time before its end at which it is renewed (cert-manager pkg/apis/certmanager/v1/const.go)."""
_USUAL_DURATION = "2160h0m0s"


def webhook_refusals(obj: Object) -> Iterator[Refused]:
    """What the operator's webhook refuses in an object of its own kinds."""
    check = _CHECKS.get((api_of(obj)[0], str(obj.get("kind"))))
    yield from check(obj) if check else ()


def _external_secret(obj: Object) -> Iterator[Refused]:
    spec = mapping(obj, "spec")
    if not items(spec, "data") and not items(spec, "dataFrom"):
        yield required("/spec/data", "either data or dataFrom should be specified")
    for number, entry in enumerate(maps(spec, "dataFrom")):
        at, source = f"/spec/dataFrom/{number}", mapping(entry, "sourceRef")
        generates = source.get("generatorRef") is not None
        ways = [way for way in ("extract", "find") if entry.get(way) is not None]
        if not ways and not source:
            yield required(at, "either extract, find, or sourceRef must be set to dataFrom")
        elif len(ways) + generates > 1:
            detail = "extract, find, or generatorRef cannot be set at the same time"
            yield Refused(f"{at}/{ways[-1]}", "Forbidden", detail)
    deletes, creates = (text_at(spec, "target", policy) for policy in ("deletionPolicy", "creationPolicy"))
    if deletes == "Delete" and creates in ("Merge", "None", "CreateOrMerge"):
        detail = "deletionPolicy=Delete must not be used when the controller doesn't own the secret. Please set creationPolicy=Owner"
        yield invalid("/spec/target/deletionPolicy", deletes, detail)
    elif deletes == "Merge" and creates == "None":
        detail = "deletionPolicy=Merge must not be used with creationPolicy=None. There is no Secret to merge with"
        yield invalid("/spec/target/deletionPolicy", deletes, detail)


def _certificate(obj: Object) -> Iterator[Refused]:
    spec = mapping(obj, "spec")
    if not any(spec.get(field) for field in _NAMES):
        yield invalid("/spec", "", f"at least one of {', '.join(_NAMES)} must be set")
    lasts = parse_duration(spec.get("duration") or _USUAL_DURATION)
    early = parse_duration(spec.get("renewBefore"))
    if lasts is not None and lasts < _SHORTEST:
        yield invalid("/spec/duration", spec.get("duration"), "certificate duration must be greater than 1h0m0s")
    if early is not None and early < _LATEST:
        yield invalid("/spec/renewBefore", spec.get("renewBefore"), "certificate renewBefore must be greater than 5m0s")
    elif early is not None and lasts is not None and early >= lasts:
        given = text_at(spec, "duration") or _USUAL_DURATION
        detail = f"certificate duration {given} must be greater than renewBefore {spec.get('renewBefore')}"
        yield invalid("/spec/renewBefore", spec.get("renewBefore"), detail)
    if early is not None and dig(spec, "renewBeforePercentage") is not None:
        detail = "renewBefore and renewBeforePercentage are mutually exclusive and cannot both be set"
        yield invalid("/spec/renewBefore", spec.get("renewBefore"), detail)


_NAMES = ("commonName", "literalSubject", "dnsNames", "uris", "emailAddresses", "ipAddresses", "otherNames")
_CHECKS: Mapping[tuple[str, str], Callable[[Object], Iterator[Refused]]] = {
    ("external-secrets.io", "ExternalSecret"): _external_secret,
    ("cert-manager.io", "Certificate"): _certificate,
}

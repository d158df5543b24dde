"""The stable identity of a fault, for baselines."""

from __future__ import annotations

import hashlib

from argolint.model import Finding

Identity = tuple[str, str]
"""Server and fingerprint: the key of a finding."""


def identity(finding: Finding) -> Identity:
    """The key of a finding. It includes the server, since Applications of the same name on two Argo CDs give the same fingerprint."""
    return finding.at.app.server, fingerprint(finding)


def fingerprint(finding: Finding) -> str:
    """The fingerprint of a fault: a hash of rule and subject (for a fleet finding, its fact key), without any text that may be reworded."""
    return hashlib.sha256("\0".join(subject(finding.rule, finding)).encode()).hexdigest()[:32]


def subject(rule: str, finding: Finding) -> tuple[str, ...]:
    """The parts of a fingerprint; the finding need not have its rule yet."""
    at = finding.at
    about = (
        (finding.key,)
        if finding.key
        else (
            str(at.app),
            *((at.resource.group, at.resource.kind, at.resource.namespace, at.resource.name) if at.resource else ()),
            at.pointer,
        )
    )
    return rule, *about

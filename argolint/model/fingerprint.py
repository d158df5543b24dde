"""The stable identity of a fault, which baselines hold on to."""

from __future__ import annotations

import hashlib

from argolint.model import Finding

Identity = tuple[str, str]
"""Server and fingerprint: what makes two findings the same one."""


def identity(finding: Finding) -> Identity:
    """Two Argo CDs may hold Applications of one name, whose faults have one fingerprint."""
    return finding.at.app.server, fingerprint(finding)


def fingerprint(finding: Finding) -> str:
    """Stable identity of a fault: rule and subject (a fleet finding's subject is its fact key), nothing that is reworded."""
    return hashlib.sha256("\0".join(subject(finding.rule, finding)).encode()).hexdigest()[:32]


def subject(rule: str, finding: Finding) -> tuple[str, ...]:
    """What a fingerprint is made of; the finding need not know its rule yet."""
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

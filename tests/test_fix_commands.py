"""The commands of fixes of every recording; those of fixtures are looked at where the fixtures are checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from argolint.reports import document as report
from argolint.reports.document import ReportedEdit, ReportedFix
from tests.conftest import PHASES
from tests.shell_commands import called, called_by_a_shell, commands, faults


@pytest.mark.parametrize("phase", PHASES)
def test_every_command_of_a_recording_can_be_run(phase: str, report_of: Callable[[str], Path]) -> None:
    fixes = [fix for finding in report.read(report_of(phase)).findings for fix in finding.fixes]
    assert any(command.startswith("kubectl ") for fix in fixes for command in commands(fix))
    assert faults(fixes) == []


def test_a_line_that_needs_no_shell_is_read_as_a_shell_reads_it() -> None:
    lines = [
        "kubectl -n shop get pods",
        "kubectl -n shop get secret a -o jsonpath='{.data}' # both keys",
        'argocd app patch argocd/web --patch \'[{"op": "remove"}]\'#2',
        "helm get values a=b'c'd -n shop",
        "kubectl get pods -l a={b,c}",
        "kubectl get pods ~",
    ]
    assert called(lines) == called_by_a_shell(lines)


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("kubectl -n shop get pod 'web", "bash cannot run it"),
        ("kubectl -n shop get pods; a pod is looked up there", "a is no program of the table"),
        ("kubectl -n shop remove pod web", "kubectl has no verb 'remove pod' in the table"),
        ("kubectl -n shop get pod web --flush", "kubectl get has no flag --flush in the table"),
        ("kubectl delete secret web", "kubectl delete names no namespace for secret"),
        ("argocd app sync argocd/web --purge", "argocd app sync has no flag --purge in the table"),
        ("kubectl -n shop get secret x -o json | jqq .", "jqq is no program of the table"),
        ("argocd app get argocd/web || jqq", "jqq is no program of the table"),
        ("kubectl -n shop get secret $(jqq)", "jqq is no program of the table"),
        ("argocd proj add-source shop", "argocd proj add-source takes 2 words and gets 1 (shop)"),
        ("argocd app sync my web --resource", "argocd app sync has no flag --resource without a value in the table"),
        ("argocd app get my web", "argocd app get takes 1 words and gets 2 (my web)"),
        ("kubectl -n shop create secret generic a ... | kubeseal", "kubectl create secret generic takes 1 words"),
        ("kubectl -n shop annotate secret a", "kubectl annotate gets no KEY=VALUE or KEY- after its object"),
        (
            "kubectl -n shop annotate secret a b=c",
            "kubectl annotate refuses to change what is there without --overwrite",
        ),
    ],
)
def test_what_cannot_be_run_is_seen(command: str, fault: str) -> None:
    (found, *_) = faults([ReportedFix("t", "live", "w", ReportedEdit("command", command))])
    assert found.startswith(fault)


def test_commands_are_found_wherever_a_fix_holds_them() -> None:
    text = "# First:\n#    $ kubectl annotate node a b=c\n# prose about kubectl\nvalues: {}\n"
    fix = ReportedFix(
        "t",
        "helm-values",
        "w",
        ReportedEdit("yaml", text),
        caveat="then `argocd app sync argocd/a`",
        before=("kubectl version",),
    )
    assert list(commands(fix)) == ["kubectl version", "kubectl annotate node a b=c", "argocd app sync argocd/a"]

"""The HTML report in a real browser, and what of it is to be read without one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import yaml
from playwright.sync_api import Browser, Page

from argolint.reports import document as r
from argolint.reports import formats
from argolint.reports.document import Cause
from argolint.reports.formats import Style, html
from tests import waiting
from tests.browser import axe, chromium
from tests.firefox import firefox
from tests.here import run_here
from tests.test_prometheus import _finding, _report

HOSTILE = '</script><img src=x onerror="window.owned=1"><script>window.owned=1</script> \u202e {{ 7*7 }} \'"`'


@pytest.fixture(scope="module")
def demo(demo_files: Path) -> tuple[r.Report, Path]:
    """The demo's report, and its page."""
    return r.read(demo_files / "report.json"), demo_files / "page.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        opened.new_context(offline=True).new_page()
        yield opened


class Opened:
    """A page, and everything it asked for or complained of: in the browser's first tab, or in a context of its own.

    A process for each page costs more than the page. What another test opened before is closed, and what it set is forgotten.
    """

    def __init__(
        self,
        browser: Browser,
        file: Path,
        fragment: str = "",
        size: tuple[int, int] = (1280, 720),
        color_scheme: Literal["light", "dark"] = "light",
        **context: Any,
    ) -> None:
        tab, *others = browser.contexts
        for other in others:
            other.close()
        self.page: Page = browser.new_context(offline=True, **context).new_page() if context else tab.pages[0]
        if self.page.url.startswith("file:"):
            self.page.evaluate("localStorage.clear()")
            self.page.goto("about:blank")
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(media="screen", color_scheme=color_scheme)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri() + fragment)
        if context.get("java_script_enabled", True):
            self.page.wait_for_selector("html[data-ready=yes]")

    def ids(self) -> list[str]:
        """Fingerprints of the rows that are drawn."""
        links = self.page.locator("#rows a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        return [re.sub(r"^#/f/([^?]*).*", r"\1", link) for link in links]

    def search(self, query: str) -> None:
        self.page.fill("#query", query)
        until(
            self.page, "q => new URLSearchParams(location.hash.split('?')[1] || '').get('q') === (q || null)", arg=query
        )


def until(page: Page, expression: str, arg: str | None = None) -> None:
    """Waits for what the page's own policy lets no polling script ask."""
    waiting.until(lambda: page.evaluate(expression, arg), lambda: expression)


def _fits(f: r.ReportedFinding, term: str) -> bool:
    """The search language once more, over the JSON report."""
    resource = f.resource or r.ReportedResource("", "", "", "", "", "")
    key, colon, value = term.partition(":")
    key, app = key.lower(), f"{f.app.namespace}/{f.app.name}"
    known = {
        "rule": f.rule,
        "family": f.family,
        "sev": f.severity,
        "conf": f.confidence,
        "cause": f.cause or "",
        "project": f.app.project,
        "app": app if "/" in value else f.app.name,
        "kind": resource.kind,
        "ns": resource.namespace,
        "name": resource.name,
        "argocd": f.app.server.removeprefix("https://"),
    }
    if key == "is":
        return value == "suppressed" and f.suppressed is not None
    if colon and key in known:
        return fnmatchcase(known[key].lower(), value.lower())
    words = [
        f.rule,
        f.cause or "",
        f.app.project,
        app,
        resource.kind,
        f"{resource.namespace}/{resource.name}",
        f.message,
    ]
    return term.lower() in " ".join(words).lower()


def _found(report: r.Report, query: str) -> set[str]:
    terms = shlex.split(query)
    no = [t[1:] for t in terms if t.startswith("-")]
    groups: dict[str, list[str]] = {}
    for number, term in enumerate(t for t in terms if not t.startswith("-")):
        key, colon, _ = term.partition(":")
        groups.setdefault(key if colon else str(number), []).append(term)
    return {
        f.fingerprint
        for f in report.findings
        if ("is:suppressed" in query or f.suppressed is None)
        and not any(_fits(f, t) for t in no)
        and all(any(_fits(f, t) for t in group) for group in groups.values())
    }


QUERIES = [
    "sev:error",
    "-sev:error",
    "sev:error sev:warning",
    "family:secrets -rule:external-secret-sync-error",
    "rule:external-secret-*",
    "-rule:*secret*",
    "project:payments sev:warning",
    "app:argocd/*gateway*",
    "app:*gateway* kind:Deployment",
    "kind:externalsecret",
    "cause:store-not-ready",
    "conf:likely",
    "gateway",
    "-gateway -relay",
    '"no status"',
    'project:"payments"',
    "SEV:ERROR Family:Sync",
    "is:suppressed",
    "rule:no-such-rule",
    "ns:observability name:alert*",
    "argocd:argocd.example.com -sev:info",
]


def test_the_page_asks_for_nothing_and_shows_every_finding(demo: tuple[r.Report, Path], browser: Browser) -> None:
    report, file = demo
    opened = Opened(browser, file)
    assert (opened.requests, opened.complaints) == ([file.as_uri()], [])
    assert sorted(opened.ids()) == sorted(f.fingerprint for f in report.findings)
    facets = opened.page.locator("#facets button").evaluate_all(
        "all => all.map(b => [b.dataset.facet, b.dataset.value, Number(b.dataset.count)])"
    )
    counts = Counter(pair for f in report.findings for pair in (("severity", str(f.severity)), ("family", f.family)))
    assert {(facet, value): n for facet, value, n in facets if facet in ("severity", "family")} == dict(counts)


def test_searches_find_what_the_json_report_holds(demo: tuple[r.Report, Path], browser: Browser) -> None:
    report, file = demo
    opened = Opened(browser, file)
    for query in QUERIES:
        opened.search(query)
        assert (query, set(opened.ids())) == (query, _found(report, query))
    assert opened.complaints == []


def test_findings_of_two_servers_have_links_of_their_own(
    demo: tuple[r.Report, Path], browser: Browser, tmp_path: Path
) -> None:
    one = next(f for f in demo[0].findings if f.resource and f.suppressed is None)
    names = ("eu", "us")
    urls = [f"https://{name}.example.com" for name in names]
    apps = [msgspec.structs.replace(one.app, server=url) for url in urls]
    made = msgspec.structs.replace(
        demo[0],
        servers=tuple(r.Server(url, "v3.5.1", 1, name) for url, name in zip(urls, names, strict=True)),
        findings=tuple(msgspec.structs.replace(one, app=app, message=f"seen on {app.server}") for app in apps),
        causes=(),
    )
    file = tmp_path / "two.html"
    file.write_text(formats.render(made, "html", Style()))
    opened = Opened(browser, file, f"#/f/{one.fingerprint}@us")
    opened.page.wait_for_selector("#title")
    assert opened.ids() == [f"{one.fingerprint}%40{name}" for name in names]
    detail = opened.page.locator("#detail").inner_text()
    assert "seen on https://us.example.com" in detail
    assert f"us/{one.app.namespace}/{one.app.name}" in detail
    first = Opened(browser, file, f"#/f/{one.fingerprint}").page
    first.wait_for_selector("#title")
    assert "seen on https://eu.example.com" in first.locator("#detail").inner_text()


def test_a_link_opens_its_finding_and_search_and_back_returns(demo: tuple[r.Report, Path], browser: Browser) -> None:
    report, file = demo
    finding = next(f for f in report.findings if f.fixes and f.evidence)
    opened = Opened(browser, file, f"#/f/{finding.fingerprint}?q=sev%3Aerror")
    page = opened.page
    page.wait_for_selector("#title")
    assert page.locator("#title").inner_text() == "/".join(filter(None, (finding.rule, finding.cause)))
    assert page.input_value("#query") == "sev:error"
    detail = page.locator("#detail").inner_text()
    assert [line for line in (finding.message, *finding.evidence) if line not in detail] == []
    page.locator(f'#rows a:not([href*="{finding.fingerprint}"])').first.click()
    until(page, "mark => !location.hash.includes(mark)", arg=finding.fingerprint)
    page.go_back()
    until(page, "mark => location.hash.includes(mark)", arg=finding.fingerprint)
    page.keyboard.press("Escape")
    until(page, "document.querySelector('#detail').children.length === 0")
    assert page.url.endswith("#?q=sev%3Aerror")
    gone = Opened(browser, file, "#/f/cut%2").page
    assert "This report has no finding cut%2. It may be fixed." in gone.locator("#detail").inner_text()


def test_the_deep_link_of_the_setup_opens_the_page_filtered_to_the_application(
    demo: tuple[r.Report, Path], tmp_path: Path, browser: Browser
) -> None:
    report, file = demo
    printed = run_here("explain", "--setup", "deep-link", cwd=tmp_path).out
    setting = yaml.safe_load(printed[printed.index("     data:") :].split("\n\n")[0])
    (link,) = yaml.safe_load(setting["data"]["application.links"])
    assert (link["title"], link["description"]) == ("argolint", "findings of this application")
    app = next(f.app for f in report.findings if sum(g.app == f.app for g in report.findings) > 1)
    url = link["url"]
    for field in ("namespace", "name"):  # a path is all that is used of Go's text/template
        url = url.replace("{{.app.metadata." + field + "}}", getattr(app, field))
    address, fragment = url.split("#")
    assert (address, "{" in fragment) == ("https://argolint.example.com/report.html", False)
    opened = Opened(browser, file, f"#{fragment}")
    expected = [f.fingerprint for f in report.findings if f.app == app]
    assert sorted(opened.ids()) == sorted(expected)
    assert len(expected) < len(report.findings)
    assert opened.page.input_value("#query") == f"app:{app.namespace}/{app.name}"


def test_the_keyboard_is_enough(demo: tuple[r.Report, Path], browser: Browser) -> None:
    page = Opened(browser, demo[1], color_scheme="light").page
    page.keyboard.press("/")
    page.keyboard.type("sev:error")
    page.keyboard.press("Escape")
    for key in ("j", "j", "k", "j"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.at") == "1"
    page.keyboard.press("Enter")
    page.wait_for_selector("#title")
    assert page.evaluate("document.activeElement.id") == "title"
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_nothing_is_wider_than_a_narrow_screen(demo: tuple[r.Report, Path], browser: Browser) -> None:
    page = Opened(browser, demo[1], size=(360, 700)).page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.locator("#rows a").first.click()
    page.wait_for_selector("#title")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_fix_is_copied_as_it_stands(demo: tuple[r.Report, Path], browser: Browser) -> None:
    report, file = demo
    finding = next(f for f in report.findings if f.fixes and f.fixes[0].edit.kind == "command")
    opened = Opened(browser, file, f"#/f/{finding.fingerprint}", permissions=["clipboard-read", "clipboard-write"])
    opened.page.locator("#detail .copy").first.click()
    opened.page.wait_for_selector("text=Copied")
    assert (
        opened.page.evaluate("navigator.clipboard.readText()") == opened.page.locator("#detail pre").first.inner_text()
    )


def test_without_scripts_everything_of_weight_is_read(demo: tuple[r.Report, Path], browser: Browser) -> None:
    report, file = demo
    page = Opened(browser, file, java_script_enabled=False).page
    text = page.locator("body").inner_text()
    assert page.locator("#app").is_hidden()
    assert [f.rule for f in report.findings if f.rule not in text] == []
    shown = page.locator("#static summary").all_inner_texts()
    assert len(shown) == len(report.findings)
    assert [f.message for f in report.findings if not any(f.message in line for line in shown)] == []


def test_hostile_texts_stay_texts(tmp_path: Path, browser: Browser) -> None:
    fix = r.ReportedFix(HOSTILE, "manifest", HOSTILE, r.ReportedEdit("yaml", f"a: |\n  {HOSTILE}\n"), caveat=HOSTILE)
    finding = _finding(
        HOSTILE,
        message=HOSTILE,
        fingerprint="abc",
        evidence=(HOSTILE,),
        fixes=(fix,),
        cause=HOSTILE,
        docs="javascript:window.owned=1",
    )
    evil = msgspec.structs.replace(
        _report(finding, complete=False),
        remarks=(HOSTILE,),
        servers=(r.Server("javascript:window.owned=1", HOSTILE, 1),),
    )
    file = tmp_path / "page.html"
    file.write_text(formats.render(evil, "html", Style()), encoding="utf-8")
    contexts: tuple[dict[str, Any], ...] = ({}, {"java_script_enabled": False})
    for context in contexts:
        opened = Opened(browser, file, f"#/f/{finding.fingerprint}?q=window", **context)
        if not context:
            opened.page.wait_for_selector("#title")
            for chip in ("severity", "rule", "cause"):
                opened.page.locator(f"#facets [data-facet={chip}]").click()
            assert opened.ids() == ["abc"]
            assert opened.page.evaluate("window.owned") is None
        assert opened.page.locator("img, a[href^=javascript]").count() == 0
        assert "\\u202e {{ 7*7 }}" in opened.page.locator("body").inner_text()
        assert (opened.requests, opened.complaints) == ([file.as_uri()], [])


def test_ten_thousand_findings_are_drawn_as_they_are_scrolled_to(tmp_path: Path, browser: Browser) -> None:
    findings = [
        _finding(
            f"service-{n}",
            fingerprint=hashlib.sha256(str(n).encode()).hexdigest()[:16],
            message=f"ConfigMap prod/settings-{n * 7919 % 10007} is claimed by service-{n} and by service-{n + 1}",
            evidence=(f"service-{n} wants revision {hashlib.sha256(str(n).encode()).hexdigest()}",),
            fixes=(
                r.ReportedFix(
                    f"Remove it from service-{n}",
                    "manifest",
                    f"apps/service-{n}/cm.yaml",
                    r.ReportedEdit("text", f"rm {n}"),
                ),
            ),
        )
        for n in range(10_000)
    ]
    file = tmp_path / "page.html"
    file.write_text(formats.render(_report(*findings), "html", Style()), encoding="utf-8")
    assert file.stat().st_size < 6_000_000
    opened = Opened(browser, file)
    assert opened.page.locator("#count").inner_text() == "10,000 of 10,000 findings"
    assert 10 < len(opened.ids()) < 80
    opened.page.evaluate("document.getElementById('list').scrollTop = 44 * 5000")
    opened.page.wait_for_selector("[aria-posinset='5001']")
    assert opened.page.locator("[aria-posinset='5001']").get_attribute("aria-setsize") == "10000"
    opened.search("app:service-9999")
    assert opened.ids() == [findings[9999].fingerprint]
    opened.page.locator("#rows a").click()
    opened.page.wait_for_selector("text=Remove it from service-9999")


def test_what_is_printed_holds_every_selected_finding(demo: tuple[r.Report, Path], browser: Browser) -> None:
    report, file = demo
    opened = Opened(browser, file, "#?q=sev%3Aerror")
    opened.page.emulate_media(media="print")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    errors = [f for f in report.findings if f.severity == "error"]
    assert len(opened.ids()) == len(errors)
    assert opened.page.locator("#query").is_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_hinders_who_cannot_see_it(
    demo: tuple[r.Report, Path], tmp_path: Path, browser: Browser, theme: Any
) -> None:
    """The rules of axe-core: contrast, names, roles, order; for the list and for an open finding."""
    rules, wanted = axe(), {} if theme == "light" else {"runOnly": ["color-contrast"]}  # the rest knows no colour
    shared = [f for f in demo[0].findings if f.rule == "shared-resource"]
    few = msgspec.structs.replace(demo[0], findings=(*demo[0].findings[:5], *shared[:1]), complete=False)
    (tmp_path / "page.html").write_text(formats.render(few, "html", Style()), encoding="utf-8")
    opened = Opened(browser, tmp_path / "page.html", color_scheme=theme, bypass_csp=True)
    for step in ("list", "finding"):
        if step == "finding":
            opened.page.locator("#rows a").first.click()
            opened.page.wait_for_selector("#detail h3")
        opened.page.evaluate(rules)
        found = opened.page.evaluate("only => axe.run(only)", wanted)
        assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found["violations"]] == [], step
        assert len(found["passes"]) >= (20 if theme == "light" else 1)


def test_paper_is_white_in_the_dark_as_well(demo: tuple[r.Report, Path], browser: Browser) -> None:
    opened = Opened(browser, demo[1], color_scheme="dark")
    for theme in ("", "dark"):
        opened.page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        opened.page.emulate_media(media="print")
        colours = opened.page.evaluate(
            "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))"
        )
        assert colours == ["rgb(27, 31, 36)", "rgb(255, 255, 255)"]


def test_firefox_reads_it_too(demo: tuple[r.Report, Path], tmp_path: Path) -> None:
    report, page = demo
    with firefox(tmp_path) as browser:
        browser.open(page.as_uri())
        browser.until("document.documentElement.dataset.ready === 'yes'")
        active = [f for f in report.findings if f.suppressed is None]
        assert (
            browser.run("return document.getElementById('count').innerText")
            == f"{len(active)} of {len(active)} findings"
        )
        browser.run("location.hash = '#?q=sev%3Aerror'")
        errors = sum(f.severity == "error" for f in active)
        browser.until(f"document.getElementById('count').innerText === '{errors} of {len(active)} findings'")
        browser.run("document.querySelector('#rows a').click()")
        browser.until("document.querySelector('#detail h3')")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")


def test_the_same_report_gives_the_same_page_whose_policy_fits_its_content(demo: tuple[r.Report, Path]) -> None:
    report, file = demo
    page = file.read_text(encoding="utf-8")
    assert formats.render(report, "html", Style(verbose=True)) == page
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]

    def of(tag: str) -> str:
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]  # type: ignore[index]
        return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"

    assert policy == (
        f"default-src 'none'; script-src {of('script')}; style-src {of('style')}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_an_incomplete_report_says_so_before_anything_else() -> None:
    page = formats.render(_report(complete=False), "html", Style())
    assert "argolint: nothing found so far" in page
    assert page.index("Incomplete: 1 check could not be completed.") < page.index("Nothing was found.")
    assert "argocd/web manifests: no" in page


def test_causes_come_first_and_lead_to_their_finding() -> None:
    plain = _report(_finding("web"), _finding("api"), _finding("shop", caused_by="no-finding"))
    causes = (
        Cause("f-api", "alone", "error", 1, 1, 1),
        Cause("no-finding", "the operator <is> missing", "warning", 1, 1, 1),
        Cause("f-web", "two owners", "error", 2, 1, 2),
    )
    report = msgspec.structs.replace(plain, causes=causes)
    page = formats.render(report, "html", Style())
    found = re.findall(r"<li><span class=\"level (\w+)\">. \w+</span> (.*?)</li>", page, re.DOTALL)
    assert [(level, re.sub(r"\s+", " ", text)) for level, text in found] == [
        ("error", '<a href="#/f/f-web">two owners</a> <span class="dim">2 findings, 2 applications</span>'),
        ("warning", 'the operator &lt;is&gt; missing <span class="dim">1 finding, 1 application</span>'),
    ]
    assert page.index(">two owners<") < page.index("By rule")


def test_what_a_change_brings_stands_above_its_findings() -> None:
    plain = _report(_finding("web"))
    touched = r.GateApp(_finding("web").app, "changed", (), ("its chart <cannot> be rendered",))
    gate = r.Gate(
        "main", "feature", 1, 1, 4, (touched,), gone=(_finding("old"),), unlisted=("argocd/far is not rendered here",)
    )
    page = formats.render(msgspec.structs.replace(plain, gate=gate), "html", Style())
    assert "main → feature: 1 new, 1 fixed, 4 unchanged; 1 application touched." in page
    assert "<b>shared-resource/two-owners</b> argocd/old ConfigMap prod/settings /data/key" in page
    assert "argocd/web: changed, 0 objects; its chart &lt;cannot&gt; be rendered" in page
    assert "argocd/far is not rendered here" in page


def test_more_findings_than_a_page_may_hold_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_FINDINGS", 3)
    page = formats.render(_report(*(_finding(f"a{n}") for n in range(5))), "html", Style())
    assert "2 findings are left out</b>, the least severe: this page holds 3." in page


def test_saved_reports_make_a_trend(tmp_path: Path) -> None:
    days = {
        "monday": _report(_finding("old"), _finding("both"), started_at="2026-01-05T00:00:00Z"),
        "tuesday": _report(complete=False, started_at="2026-01-06T00:00:00Z"),
        "today": _report(_finding("both"), _finding("web"), _finding("new"), started_at="2026-01-07T00:00:00Z"),
    }
    apart = {"tuesday": (r.ReportedFailure("list", "no answer"),)}
    for name, report in days.items():
        failures = apart.get(name, report.failures)
        (tmp_path / name).write_bytes(r.to_json(msgspec.structs.replace(report, failures=failures)))
    ran = run_here("report", "today", "monday", "tuesday", "-o", "json", "-o", "html=page.html", cwd=tmp_path)
    made = json.loads(ran.out)
    assert {f["app"]["name"]: f["since"][:10] for f in made["findings"]} == {
        "both": "2026-01-05",
        "web": "2026-01-07",
        "new": "2026-01-07",
    }
    assert [(p["at"][:10], p["complete"], p["findings"]["error"], p["new"], p["gone"]) for p in made["trend"]] == [
        ("2026-01-05", True, 2, 0, 0),
        ("2026-01-06", False, 0, 0, 0),
        ("2026-01-07", True, 3, 2, 1),
    ]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Findings of 3 reports, 2026-01-05T00:00:00Z to 2026-01-07T00:00:00Z" in page


def test_a_trend_is_of_one_server(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(r.to_json(_report()))
    other = msgspec.structs.replace(_report(started_at="2026-02-01T00:00:00Z"), servers=(r.Server("https://b", "", 1),))
    (tmp_path / "b.json").write_bytes(r.to_json(other))
    ran = run_here("report", "a.json", "b.json", cwd=tmp_path)
    assert ran.code == 2
    assert "a.json is of https://argocd.example.com, b.json of https://b" in ran.err


def test_a_saved_report_gives_what_the_check_gave_in_every_format(demo: tuple[r.Report, Path], tmp_path: Path) -> None:
    outputs = [option for name in formats.FORMATS for option in ("-o", f"{name}={tmp_path / name}")]
    ran = run_here("report", demo[1].with_name("report.json"), *outputs, cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    for name in formats.FORMATS:
        formats.write(demo[0], (formats.Output(name, tmp_path / "direct"),), Style())
        assert (tmp_path / name).read_bytes() == (tmp_path / "direct").read_bytes(), name
        (tmp_path / "direct").unlink()
    assert (tmp_path / "json").read_bytes() == demo[1].with_name("report.json").read_bytes()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (800, 900), (360, 740)])
def test_a_link_to_a_finding_shows_it_at_every_size(
    demo: tuple[r.Report, Path], browser: Browser, width: int, height: int
) -> None:
    report, file = demo
    last = [f for f in report.findings if f.suppressed is None][-1]
    opened = Opened(browser, file, f"#/f/{last.fingerprint}", size=(width, height))
    until(opened.page, "() => document.querySelector('#detail h2') !== null")
    until(
        opened.page, "() => Math.abs(document.querySelector('#detail').getBoundingClientRect().top) < innerHeight / 2"
    )
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
        "nothing is wider than the screen"
    )
    assert not opened.page.locator("#roots details").get_attribute("open"), "the causes fold"
    box = opened.page.locator("#detail h2").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < height
    assert opened.complaints == []


def test_findings_come_before_causes_where_something_is_searched(demo: tuple[r.Report, Path], browser: Browser) -> None:
    _, file = demo
    opened = Opened(browser, file, size=(1280, 800))

    def top(selector: str) -> float:
        return float(opened.page.evaluate("s => document.querySelector(s).getBoundingClientRect().top", selector))

    assert top("#roots") < top("#app")
    opened.search("sev:error")
    assert top("#app") < top("#roots")
    opened.search("")
    assert top("#roots") < top("#app")


def test_every_application_has_a_row_or_is_named_as_fine(demo: tuple[r.Report, Path]) -> None:
    report, file = demo
    text = unescape(file.read_text())
    fine = int(re.findall(r"<b>(\d+) of 63 applications fine</b>", text)[0])
    rows = re.findall(r'<td><a href="#\?q=app%3A', text)
    named = re.findall(r"<summary>\d+ applications are fine</summary><p>(.*?)</p>", text)[0].split(", ")
    assert len(rows) + len(named) == len(report.applications) == 63
    assert 0 < fine <= 63
    assert text.count("https://argocd.example.com/applications/argocd/") >= len(rows)


def test_the_trend_has_numbers_at_its_axes(tmp_path: Path) -> None:
    points = [r.Point(f"2026-11-{day:02}T08:00:00Z", True, r.Counts(day, 2, 0)) for day in (3, 9, 17)]
    page = formats.render(msgspec.structs.replace(_report(_finding()), trend=tuple(points)), "html", Style())
    axes = re.findall(r'<text class="axis"[^>]*>([^<]+)</text>', page)
    assert axes == ["0", "10", "20", "2026-11-03", "2026-11-17"]
    assert re.findall(r'<text class="named"[^>]*>([^<]+)</text>', page) == ["17 error", "2 warning", "0 info"]

"""The extension of Argo CD's UI in a real browser, under both Reacts of Argo CD, through a proxy that does what argocd-server's does."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page

from argolint.reports import document as r
from argolint.serve import ui
from tests.browser import chromium
from tests.test_extension import BESIDE, CROSSED, OWN, TOKEN, answering
from tests.test_html import HOSTILE
from tests.test_prometheus import _finding
from tests.waiting import PATIENCE_S

HOST = Path(__file__).with_name("argocd_ui") / "host.js"
REACTS = {"16": "", "19": "/argo-cd"}
"""Each with a root path that Argo CD may have."""
COOKIE = "argocd.token=of-a-person"


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("ARGOLINT_TEST_REACT") or cache / "argolint-ci" / "react")
    if not (folder / "complete").exists():
        if os.environ.get("ARGOLINT_REQUIRE_REACT"):
            pytest.fail("React must be here and is not: scripts/react.sh")
        pytest.skip("there is no React here: scripts/react.sh gets it")
    return folder


def _react(folder: Path, version: str) -> str:
    """A script that sets React and ReactDOM. React 19 comes as modules of CommonJS only, so each gets what it asks for by name."""
    if version == "16":
        files = ("react-16.14.0/umd/react.development.js", "react-dom-16.14.0/umd/react-dom.development.js")
        return "\n".join((folder / name).read_text(encoding="utf-8") for name in files)
    modules = {
        "react": "react-19.2.6/cjs/react.development.js",
        "scheduler": "scheduler-0.27.0/cjs/scheduler.development.js",
        "react-dom": "react-dom-19.2.6/cjs/react-dom.development.js",
        "react-dom/client": "react-dom-19.2.6/cjs/react-dom-client.development.js",
    }
    made = "".join(
        f"define({json.dumps(name)}, (module, exports, require, process) => {{{(folder / file).read_text(encoding='utf-8')}\n}});"
        for name, file in modules.items()
    )
    return (
        "(() => { const modules = {}; const define = (name, make) => { const module = { exports: {} };"
        " make(module, module.exports, (wanted) => modules[wanted], { env: { NODE_ENV: 'development' } }); modules[name] = module.exports; };"
        f"{made} window.React = modules.react; window.ReactDOM = modules['react-dom/client']; }})();"
    )


class ArgoCD:
    """Serves the page, /extensions.js as argocd-server puts it together, and /extensions/argolint/ of a backend."""

    def __init__(self, react: str, root: str, backend: tuple[str, int] | None) -> None:
        self.root, self.backend = root, backend
        self.app = f"{OWN.name} {OWN.project} {BESIDE.name}"
        self.token = TOKEN
        self.refuses: tuple[int, str] | None = None
        self.asked: list[tuple[str, str, str]] = []
        script = ui.source().decode()
        self.files = {
            "/react.js": react,
            "/host.js": HOST.read_text(encoding="utf-8"),
            "/extensions.js": f"// source: extension \ntry {{\n{script}\n}} catch(e) {{ console.error('Extension failed to load:', e); }}\n",
        }

    def page(self) -> str:
        return (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>Argo CD</title><base href="{self.root}/"></head>'
            f'<body data-app="{escape(self.app)}"><div id="app"></div><script src="react.js"></script><script src="host.js"></script>'
            '<script defer src="extensions.js"></script></body></html>'
        )

    def answer(self, path: str, headers: Any) -> tuple[int, str, bytes]:
        """Status, type and body. Source of the checks: server/extension/extension.go."""
        if path in self.files:
            return 200, "application/javascript; charset=utf-8", self.files[path].encode()
        if not path.startswith("/extensions/"):
            return 200, "text/html; charset=utf-8", self.page().encode()
        app, project = headers["Argocd-Application-Name"], headers["Argocd-Project-Name"]
        self.asked.append((path, app, project))
        if headers["Cookie"] != COOKIE:
            return 401, "text/plain", b"no session information"
        if self.refuses:
            return self.refuses[0], "text/plain", self.refuses[1].encode()
        sent = {k: v for k, v in headers.items() if k.lower() not in ("cookie", "authorization", "host", "connection")}
        connection = HTTPConnection(*(self.backend or ("127.0.0.1", 1)), timeout=PATIENCE_S)
        try:
            sent["Authorization"] = f"Bearer {self.token}"
            connection.request("GET", path.removeprefix("/extensions/argolint"), headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read()
        except OSError:
            return 502, "text/plain", b""
        finally:
            connection.close()


@contextmanager
def serving(argocd: ArgoCD) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = argocd.answer(self.path.removeprefix(argocd.root), self.headers)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if self.headers["Accept-Encoding"] and body[:2] == b"\x1f\x8b":
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}{argocd.root}/applications/argocd/web"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    _folder()
    with chromium() as opened:
        yield opened


@pytest.fixture(params=REACTS)
def react(request: pytest.FixtureRequest) -> tuple[str, str]:
    """React as a script, and Argo CD's root path."""
    return _react(_folder(), request.param), REACTS[request.param]


@pytest.fixture
def newest() -> tuple[str, str]:
    """The same for the newer React alone, where the page's own React has no part in what is tried."""
    return _react(_folder(), "19"), ""


@contextmanager
def opened(browser: Browser, argocd: ArgoCD) -> Iterator[tuple[Page, list[str]]]:
    """The page of the application, and what the browser complains of."""
    with serving(argocd) as address:
        context = browser.new_context()
        name, value = COOKIE.split("=")
        context.add_cookies([{"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}])
        page, complaints = context.new_page(), list[str]()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        page.wait_for_selector("#panel button")
        yield page, complaints
        context.close()


MESSAGES = [
    _finding(severity="info", fingerprint="calm", message="calm"),
    msgspec.structs.replace(CROSSED, since="2026-01-01T00:00:00Z"),
    _finding("cart", message="of the other one"),
]


def test_findings_stand_in_panel_flyout_and_tab(browser: Browser, react: tuple[str, str]) -> None:
    with answering(*MESSAGES) as backend:
        argocd = ArgoCD(*react, backend)
        with opened(browser, argocd) as (page, complaints):
            page.wait_for_selector("#panel >> text=2 findings")
            panel = page.locator("#panel").inner_text()
            assert "1 error, 1 info; checked " in panel
            assert "\u25b2" in panel
            page.locator("#panel button").click()
            page.wait_for_selector("#flyout details")
            page.click("#show-own")
            page.wait_for_selector("#tab details")
            for place in ("#flyout", "#tab"):
                assert page.locator(f"{place} h2").inner_text() == "argolint: 2 findings: 1 error, 1 info"
                assert page.locator(f"{place} details").count() == 2
            page.locator("#flyout summary").first.click()
            shown = page.locator("#flyout details").first.inner_text()
            for line in (
                "error shared-resource/two-owners",
                "an application of project safe wants 3",
                "Fix: Keep it in web",
                "delete it here",
                "2 fixes left out: the names of applications of other projects stand there",
                "claimant: an application of project safe",
                "claimant: argocd/cart ConfigMap prod/settings",
            ):
                assert line in shown
            assert page.locator("#flyout a").first.get_attribute("href") == CROSSED.docs
            assert argocd.asked == [("/extensions/argolint/api/v1/application", "argocd:web", "shop")], (
                "one request for all three"
            )
            page.click("#show-child")
            page.wait_for_selector("#tab >> text=of the other one")
            assert argocd.asked[1:] == [("/extensions/argolint/api/v1/application", "argocd:cart", "shop")]
            assert page.evaluate("registered.tabs.map(({ component, ...others }) => others)") == [
                {"group": "argoproj.io", "kind": "Application", "title": "argolint", "icon": "fa-check-double"}
            ]
            assert complaints == []
            page.add_script_tag(content=(_folder() / "axe-core-4.14.1" / "axe.min.js").read_text(encoding="utf-8"))
            found = page.evaluate(
                "axe.run('#app').then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)]))"
            )
            assert found == []


def test_hostile_texts_stay_texts(browser: Browser, react: tuple[str, str]) -> None:
    fix = r.ReportedFix(
        HOSTILE,
        "manifest",
        HOSTILE,
        r.ReportedEdit("yaml", HOSTILE),
        caveat=HOSTILE,
        unverified=HOSTILE,
        before=(HOSTILE,),
    )
    related = r.ReportedRelated(BESIDE, "other", r.ReportedResource("", "v1", HOSTILE, HOSTILE, HOSTILE, ""), HOSTILE)
    evil = _finding(
        rule=HOSTILE, cause=HOSTILE, message=HOSTILE, evidence=(HOSTILE,), fixes=(fix,), related=(related,), since=HOSTILE,
        pointer=HOSTILE, fingerprint=HOSTILE, docs="javascript:window.owned=1", resource=related.resource,
    )  # fmt: skip
    failure = r.ReportedFailure(HOSTILE, HOSTILE, app=OWN)
    with (
        answering(evil, failures=(failure,), complete=False, started_at=HOSTILE) as backend,
        opened(browser, ArgoCD(*react, backend)) as (page, complaints),
    ):
        page.wait_for_selector("#panel >> text=1 finding")
        assert "check incomplete" in page.locator("#panel").inner_text()
        page.locator("#panel button").click()
        page.locator("#flyout summary").click()
        shown = page.locator("#flyout").inner_text()
        assert shown.count("<img src=x onerror=") >= 15
        assert "The last check is incomplete: findings may be missing." in shown
        assert page.locator("#flyout img, #flyout script, #flyout a").count() == 0
        assert page.evaluate("window.owned") is None
        assert complaints == []


def test_what_does_not_work_is_said_in_the_panel(browser: Browser, newest: tuple[str, str]) -> None:
    with answering() as backend:
        argocd = ArgoCD(*newest, backend)
        cases = {
            (
                401,
                "Unauthorized extension request",
            ): 'Argo CD refuses: this needs the right "extensions, invoke, argolint"',
            (404, "Extension not found"): 'Argo CD knows no proxy extension "argolint"',
            (200, "<html>Argo CD's own page</html>"): 'Argo CD knows no proxy extension "argolint"',
            (502, ""): "argolint does not answer (502)",
        }
        argocd.refuses = next(iter(cases))
        with opened(browser, argocd) as (page, _):
            page.locator("#panel button").click()
            for answer, said in cases.items():
                argocd.refuses = answer
                page.locator("#flyout button").click()
                page.wait_for_selector("#flyout [role=alert]")
                page.wait_for_function(
                    "said => document.querySelector('#flyout [role=alert]')?.innerText === 'argolint: ' + said + '.'",
                    arg=said,
                )
            assert "not available" in page.locator("#panel").inner_text()
            argocd.refuses, argocd.token = None, "another"
            page.locator("#flyout button").click()
            page.wait_for_selector("#flyout >> text=Argo CD sent no valid token to argolint")
            argocd.token = TOKEN
            page.locator("#flyout button").click()
            page.wait_for_selector("#flyout >> text=argolint: no findings")


def test_what_is_left_out_is_counted_and_the_keyboard_is_enough(browser: Browser, newest: tuple[str, str]) -> None:
    many = [_finding(fingerprint=f"f{n}", message=f"message {n}") for n in range(150)]
    with answering(*many) as backend, opened(browser, ArgoCD(*newest, backend)) as (page, complaints):
        page.wait_for_selector("#panel >> text=150 findings")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#flyout >> text=50 more findings not shown here, the least severe")
        assert page.locator("#flyout details").count() == 100
        page.locator("#flyout summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("#flyout details[open]").count() == 1
        assert complaints == []


def test_a_page_without_the_newer_parts_of_the_interface_loads_it_too(
    browser: Browser, newest: tuple[str, str]
) -> None:
    """registerStatusPanelExtension came with Argo CD 2.8."""
    argocd = ArgoCD(*newest, None)
    argocd.files["/host.js"] += "\ndelete window.extensionsAPI.registerStatusPanelExtension;"
    with serving(argocd) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function("window.registered")
        assert page.evaluate("[registered.status.length, registered.tabs.length]") == [0, 1]
        page.close()

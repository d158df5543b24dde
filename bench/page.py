"""The cost of the HTML report: `python bench/page.py [FINDINGS]`.

    size    of the file
    paint   from opening it to the first paint, by Chromium: the median of five
    ready   until the search answers
    filter  from a key in the search to the rendered rows: the median of ten queries
    heap    of scripts, after the filters

Findings have messages, evidence and fixes of the usual length. The goals for 10,000 are next to the figures; the script does not fail above
them. Of 50,000 findings the page has the worst 20,000, and says so.
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from argolint.reports import assemble, document, formats
from argolint.reports.formats import Style

QUERIES = (
    "sev:error",
    "-sev:error",
    "app:service-99*",
    "claimed",
    "project:team-7 sev:warning",
    "rule:live*",
    "-claimed",
    "ns:prod",
    "service-4242",
    "",
)
_DRAWN = """query => new Promise((done) => {
  const start = performance.now(), box = document.getElementById('query');
  box.value = query; box.dispatchEvent(new Event('input', { bubbles: true }));
  const count = document.getElementById('rows');
  new MutationObserver((_, seen) => { seen.disconnect(); requestAnimationFrame(() => done(performance.now() - start)); })
    .observe(count, { childList: true });
})"""


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [10_000, 50_000]
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        raise SystemExit("this needs chromium on PATH (Debian: chromium)")
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=binary, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        for count in sizes:
            file = Path(work) / f"page-{count}.html"
            start = time.perf_counter()
            file.write_text(formats.render(made(count), "html", Style()), encoding="utf-8")
            print(f"{count} findings, rendered in {time.perf_counter() - start:.1f} s")
            measure(browser, file)


def measure(browser: Browser, file: Path) -> None:
    print(f"size    {file.stat().st_size / 1e6:.2f} MB  (goal 6)")
    paints, readies = [], []
    for _ in range(5):
        context = browser.new_context(offline=True)
        page = context.new_page()
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        readies.append(time.perf_counter() - start)
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000)
        if len(paints) < 5:
            context.close()
    print(f"paint   {statistics.median(paints):.2f} s  (goal 1.5)")
    print(f"ready   {statistics.median(readies):.2f} s")
    filters = [page.evaluate(_DRAWN, query) for query in QUERIES]
    print(f"filter  {statistics.median(filters):.0f} ms, {max(filters):.0f} ms at most  (goal 50)")
    print(f"heap    {page.evaluate('performance.memory.usedJSHeapSize') / 1e6:.0f} MB  (goal 150)")
    context.close()


def made(count: int) -> document.Report:
    findings = tuple(finding(n) for n in range(count))
    counts = assemble.summarise(findings, 0, apps=count, resources=50 * count)
    server = document.Server("https://argocd.example.com", "v3.5.1", count)
    return document.Report(
        "1.0", document.Tool("argolint", "0"), "2026-01-01T12:00:00Z", True, (server,), counts, findings
    )


def finding(n: int) -> document.ReportedFinding:
    digest = hashlib.sha256(str(n).encode()).hexdigest()
    severity: Any = ("error", "warning", "info")[n % 3]
    app = document.ReportedApp("https://argocd.example.com", "argocd", f"service-{n}", f"team-{n % 40}")
    fix = document.ReportedFix(
        f"Remove it from service-{n}", "manifest", f"apps/service-{n}/cm.yaml", document.ReportedEdit("text", f"rm {n}")
    )
    return document.ReportedFinding(
        *("live-edit", "drift", severity, "proven", app),
        f"ConfigMap prod/settings-{n * 7919 % 10007} is claimed by service-{n} and by service-{n + 1}",
        "",
        digest[:16],
        evidence=(f"service-{n} wants revision {digest}",),
        resource=document.ReportedResource(
            "", "v1", "ConfigMap", "prod", f"settings-{n}", "https://kubernetes.default.svc"
        ),
        pointer="/data/KEY",
        fixes=(fix,),
    )


if __name__ == "__main__":
    main()

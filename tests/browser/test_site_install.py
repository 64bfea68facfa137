"""The browser site where Python's server is silent, slow or away: a plain word within 5 s of opening the page."""

from __future__ import annotations

import json
import os
import re

import pytest
from fronts import ROOT

FOLDER = ROOT / "kitlib" / "lab" / "jupyter" / "share" / "labextensions" / "kitlib" / "static"
SETTINGS = {"@jupyterlite/pyodide-kernel-extension:kernel": {"pyodideUrl": "http://python.test/pyodide.mjs"}}
PAGE = f"""<!doctype html><p id="place" role="status"></p><script type="module">
import {{ install, askForPython }} from "./install.js";
const options = {{ kitlibSite: "yes", litePluginSettings: {json.dumps(json.dumps(SETTINGS))} }};
const PageConfig = {{ getOption: (name) => options[name] ?? "", getBaseUrl: () => "http://site.test/" }};
const kit = {{ modules: {{ coreutils: {{ PageConfig }} }} }};
const ready = new Promise(() => {{}});
askForPython(kit);
const place = document.querySelector("#place");
setTimeout(() => install(kit, {{ sessionContext: {{ ready }} }}, place), 2500); // a notebook opens late
new MutationObserver(() => {{ if (/cannot/.test(document.body.innerText)) window.told ??= performance.now(); }})
  .observe(document.body, {{ subtree: true, childList: true, characterData: true }});
</script>"""


@pytest.fixture
def site(browser):
    """Return a function: what Python's server does -> the page."""
    pages = []

    def site(python):
        page = browser.new_page()
        pages.append(page)
        page.route(re.compile("^http://site.test/$"), lambda route: route.fulfill(body=PAGE, content_type="text/html"))
        script = (FOLDER / "install.js").read_text(encoding="utf-8")
        page.route(re.compile("install.js$"), lambda route: route.fulfill(body=script, content_type="text/javascript"))
        page.route(re.compile("^http://python.test/"), python)
        page.goto("http://site.test/")
        return page

    yield site
    for page in pages:
        page.close()


@pytest.mark.parametrize("silent", [True, False], ids=["silent", "away"])
def test_a_plain_word_stands_there_within_five_seconds(site, silent):
    page = site((lambda route: None) if silent else (lambda route: route.abort()))
    page.wait_for_function("() => window.told", timeout=90_000)
    place = page.locator("#place")
    assert place.get_attribute("role") == "alert"
    assert "Python cannot be loaded" in place.inner_text()
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    assert page.evaluate("() => window.told") < 5_000 * max(1.0, load)


def test_a_server_that_is_only_slow_still_brings_python(site):
    waiting = []
    page = site(lambda route: waiting.append(route))
    page.wait_for_function("() => window.told", timeout=90_000)
    waiting[0].fulfill(status=200, headers={"access-control-allow-origin": "*"})
    page.wait_for_selector("#place[role=status] progress")
    assert "cannot" not in page.locator("#place").inner_text()

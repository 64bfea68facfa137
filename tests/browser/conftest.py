"""A real JupyterLab and a real Chromium: `open_cells(code, ...)` shows code cells, runs them and returns the page.

The browser is the operating system's own (`chromium`, or what KITLIB_CHROMIUM names). Screenshots go to
KITLIB_ARTIFACTS (default `artifacts/browser/` in the checkout, which git ignores). Every test has a kernel of its own,
which ends with the test; what the page's console calls an error fails the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
]


def _browser_path() -> str | None:
    return os.environ.get("KITLIB_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def artifacts() -> Path:
    folder = Path(os.environ.get("KITLIB_ARTIFACTS", Path(__file__).parents[2] / "artifacts" / "browser"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser():
    required = "browser" in os.environ.get("KITLIB_REQUIRE", "").split(",")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if required:
            raise
        pytest.skip("the package playwright is not installed")
    path = _browser_path()
    if path is None:
        assert not required, "KITLIB_REQUIRE names browser, but no chromium is installed"
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory):
    """A JupyterLab server on a free port of this machine; yields (address, its folder)."""
    folder = tmp_path_factory.mktemp("lab")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / ".config"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings"),
        "KITLIB_NODES": "simulated",
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")])
    log = (folder / "server.log").open("wb")
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            f"--port={port}",
            "--ServerApp.ip=127.0.0.1",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
            f"--ServerApp.root_dir={folder}",
            "--LabApp.news_url=",
            "--ServerApp.disable_check_xsrf=True",
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/api", timeout=2).read()
                break
            except OSError:
                assert server.poll() is None, (folder / "server.log").read_text()
                time.sleep(0.2)
        else:
            raise AssertionError("JupyterLab did not answer: " + (folder / "server.log").read_text())
        yield address, folder
    finally:
        server.terminate()
        server.wait(timeout=20)
        log.close()


@pytest.fixture
def open_cells(browser, jupyter, artifacts, request):
    """Return a function: code cells -> the page of a notebook in which they have all run without an error."""
    address, folder = jupyter
    pages = []

    def open_cells(*cells: str, dark: bool = False, wait: float = 90, width: int = 1400, height: int = 1300):
        name = f"{_file_name(request)}-{len(pages)}.ipynb"
        (folder / name).write_text(json.dumps(_notebook(cells)))
        page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
        pages.append(page)
        page.set_default_timeout(20_000)
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        if dark:
            _use_theme(folder, "JupyterLab Dark")
        page.goto(f"{address}/lab/tree/{name}?reset", wait_until="domcontentloaded")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=wait * 1000)
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=wait * 1000)
        for _ in range(5):  # a kernel that is only just there may miss the first wish
            offered = page.locator(".jp-Dialog .jp-mod-accept")
            if offered.count():  # "Select Kernel": the wish came before the session was there
                offered.first.click()
            page.locator(".jp-Cell .jp-InputPrompt").first.click()
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            began = page.locator(".jp-CodeCell .jp-InputPrompt", has_text=re.compile(r"\[(\*|\d+)\]")).first
            with contextlib.suppress(_too_late()):
                began.wait_for(timeout=4000)
                break
        for index in range(len(cells)):
            page.wait_for_function(
                "i => { const p = document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')[i];"
                " return p && /\\[\\d+\\]/.test(p.textContent) }",
                arg=index,
                timeout=wait * 1000,
            )
        errors = page.locator(
            ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr'], .jp-RenderedText pre"
        )
        texts = [text for text in errors.all_inner_texts() if "Error" in text or "Traceback" in text]
        assert not texts, texts
        return page

    yield open_cells
    for index, page in enumerate(pages):
        page.screenshot(path=str(artifacts / f"{_file_name(request)}-{index}.png"), full_page=False)
        page.close()
    _use_theme(folder, "JupyterLab Light")
    for session in json.loads(_ask(f"{address}/api/sessions")):
        _ask(f"{address}/api/sessions/{session['id']}", "DELETE")
    problems = [problem for page in pages for problem in page.problems]
    assert not problems, problems


def _too_late() -> type[Exception]:
    from playwright.sync_api import TimeoutError as TooLate

    return TooLate


def _file_name(request) -> str:
    """Where a test and what it shows are kept: its file, class and name."""
    return re.sub(r"[^\w.-]+", "_", request.node.nodeid.rpartition("/")[2].replace(".py", "")).strip("_")[:120]


def _ask(address: str, method: str = "GET") -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address, method=method), timeout=20) as answer:
        return answer.read()


def _use_theme(folder: Path, theme: str) -> None:
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))


def _notebook(cells) -> dict:
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell{i}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": code,
            }
            for i, code in enumerate(cells)
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }

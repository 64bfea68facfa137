"""A real Jupyter and a real Chromium: `open_cells(code, ...)` shows code cells, runs them and returns the page.

The browser is the operating system's own (`chromium`, or what KITLIB_CHROMIUM names). Screenshots go to
KITLIB_ARTIFACTS (default `artifacts/browser/` in the checkout, which git ignores). Every test has a notebook and a
kernel of its own, which end with the test; what the page's console calls an error fails the test. JupyterLab itself is
loaded once: its five megabytes of script take longer than most tests. A test's second page, and one that asks for
`own_page`, has a profile of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fronts
import vscode_front

from tests.sizes import NIGHTLY

collect_ignore = [] if NIGHTLY else ["test_screens_long.py", "test_widget_speed_long.py"]

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
def servers(tmp_path_factory):
    """Return a function: a front end's name -> (address of its server, its folder); started when first asked for."""
    with contextlib.ExitStack() as running:
        started: dict[str, tuple[str, Path]] = {}

        def servers(front: str) -> tuple[str, Path]:
            if front not in started:
                folder = tmp_path_factory.mktemp(front)
                serving = vscode_front.serving(folder) if front == "vscode" else fronts.serving(front, folder)
                started[front] = running.enter_context(serving), folder
            return started[front]

        yield servers


@pytest.fixture
def front() -> str:
    """Which front end shows the cells: KITLIB_FRONT, JupyterLab unless told; a test may name its own."""
    return os.environ.get("KITLIB_FRONT") or "lab"


@pytest.fixture(scope="session")
def shared_page(browser):
    """Return a function: the address of a JupyterLab -> the page of it in which tests open their notebooks."""
    kept = {}

    def shared_page(address: str):
        if address not in kept or kept[address].is_closed():
            kept[address] = browser.new_page(reduced_motion="reduce")
            fronts.open_lab(kept[address], address)
        return kept[address]

    yield shared_page
    for page in kept.values():
        page.close()


@pytest.fixture
def open_cells(browser, servers, shared_page, front, artifacts, request):
    """Return a function: code cells -> the page of a notebook in which they have all run without an error."""
    address, folder = servers(front)
    pages, shared = [], []

    def noted(error):
        pages[0].problems.extend(fronts.problem(front, error))

    def open_page(width, height, dark, own_page):
        if front == "lab" and not pages and not own_page:
            page = shared_page(address)
            shared.append(page)
            page.set_viewport_size({"width": width, "height": height})
            fronts.change_theme(page, "JupyterLab Dark" if dark else "JupyterLab Light")
        else:
            page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
            if front != "vscode":  # it has themes of its own
                fronts.use_theme(folder, "JupyterLab Dark" if dark else "JupyterLab Light")
        pages.append(page)
        page.set_default_timeout(60_000)
        page.problems = []
        page.on("pageerror", noted)
        return page

    def open_cells(
        *cells: str,
        dark: bool = False,
        wait: float = 90,
        width: int = 1400,
        height: int = 1300,
        own_page: bool = False,
    ):
        name = f"{_file_name(request)}-{len(pages)}.ipynb"
        (folder / name).write_text(json.dumps(_notebook(cells)))
        page = open_page(width, height, dark, own_page)
        if front == "vscode":
            vscode_front.open_notebook(page, address, folder, name)
            return vscode_front.run_all(page, len(cells), wait)
        if page in shared:
            fronts.open_in_lab(page, name)
        else:
            page.goto(
                f"{address}{fronts.FRONTS[front].page.format(name)}", wait_until="domcontentloaded", timeout=wait * 1000
            )
        if front == "voila":  # it has run the cells before it answers
            page.wait_for_selector(".jp-OutputArea-output", timeout=wait * 1000)
        else:
            fronts.run_all(page, len(cells), wait)
        errors = page.locator(
            ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr'], .jp-RenderedText pre"
        )
        texts = [text for text in errors.all_inner_texts() if "Error" in text or "Traceback" in text]
        assert not texts, texts
        return page

    yield open_cells
    shown = "" if front == "lab" else f"-{front}"
    for index, page in enumerate(pages):
        page.screenshot(path=str(artifacts / f"{_file_name(request)}-{index}{shown}.png"), full_page=False)
        page.remove_listener("pageerror", noted)
        if page not in shared:
            page.close()
        elif not fronts.close_all(page):
            page.close()  # the next test opens another
    if front != "vscode":  # there they end with their page
        fronts.end_kernels(front, address)
    problems = [problem for page in pages for problem in page.problems]
    assert not problems, problems


def _file_name(request) -> str:
    """Where a test and what it shows are kept: its file, class and name."""
    return re.sub(r"[^\w.-]+", "_", request.node.nodeid.rpartition("/")[2].replace(".py", "")).strip("_")[:120]


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

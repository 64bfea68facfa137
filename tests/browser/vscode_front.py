"""VS Code itself: its server from npm, opened in Chromium, with an extension of these tests' own that runs the cells.

VS Code's Jupyter extension is on no package registry. What stands in for it (the folder vscode/) starts a real kernel
in the notebook's folder, without a Jupyter server, and draws widgets with the very manager of that extension
(@vscode/jupyter-ipywidgets8). Workbench, notebook editor, themes and the closed frame around outputs are VS Code's.
`.ci/vscode` fetches it into the folder that KITLIB_VSCODE names.

Source: microsoft/vscode-jupyter src/webviews/webview-side/ipywidgets, src/notebooks/controllers/ipywidgets.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fronts
import pytest

EXTENSION = Path(__file__).parent / "vscode" / "extension"
THEMES = ("Default Light Modern", "Default Dark Modern", "Default High Contrast", "Default High Contrast Light")
SETTINGS = {
    "workbench.startupEditor": "none",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.ignoreRecommendations": True,
}


def home() -> Path:
    """Where VS Code was put; without it the test is skipped, or fails where browser tests are required."""
    place = Path(os.environ.get("KITLIB_VSCODE") or fronts.ROOT / "artifacts" / "vscode")
    if not (place / "ready").exists():
        required = "browser" in os.environ.get("KITLIB_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"no VS Code in {place}: .ci/vscode {place} puts it there")
    return place


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """VS Code's server with the tests' extension; gives its address."""
    place = home()
    own = folder / ".vscode-server"
    build(place, own / "extensions" / "kitlib.kitlib-kernel-0.0.1")
    choose(folder, THEMES[0])
    (own / "data" / "data" / "Machine").mkdir(parents=True)
    (own / "data" / "data" / "Machine" / "settings.json").write_text(json.dumps(SETTINGS))
    node = subprocess.check_output(["node", "-p", "process.execPath"], text=True).strip()  # PyPI's `node` is a wrapper
    command = [node, str(place / "server" / "out" / "server-main.js"), "--host=127.0.0.1"]
    command += ["--without-connection-token", "--accept-server-license-terms", "--disable-workspace-trust"]
    command += [f"--extensions-dir={own / 'extensions'}", f"--server-data-dir={own / 'data'}"]
    environment = {"KITLIB_PYTHON": sys.executable, "KITLIB_PROGRESS": str(own), "HOME": str(own)}
    with fronts.running(command, own / "server.log", environment) as address:
        yield address


def build(place: Path, into: Path) -> None:
    """The extension, bundled; beside it what an environment has for widgets (share/jupyter/nbextensions)."""
    shutil.copytree(EXTENSION, into)
    scripts = Path(sys.prefix) / "share" / "jupyter" / "nbextensions"
    shutil.copytree(scripts, into / "nbextensions")
    shutil.copy(place / "bundle" / "node_modules" / "requirejs" / "require.js", into)
    modules = place / "bundle" / "node_modules"
    manager = place / "widgets" / "dist" / "ipywidgets.js"
    command = [str(modules / ".bin" / "esbuild"), str(into / "renderer.in.js"), f"--outfile={into / 'renderer.js'}"]
    command += ["--bundle", "--format=esm", "--log-level=error", "--loader:.css=text", "--define:global=globalThis"]
    command += [f"--alias:@vscode/jupyter-ipywidgets8={manager}"]
    subprocess.run(command, check=True, env={**os.environ, "NODE_PATH": str(modules)})


def choose(folder: Path, theme: str) -> None:
    """The theme of the windows that are open on this folder, and of later ones."""
    (folder / ".vscode").mkdir(exist_ok=True)
    (folder / ".vscode" / "settings.json").write_text(json.dumps({"workbench.colorTheme": theme}))


def open_notebook(page, address: str, folder: Path, *path: str) -> None:
    """Open a folder, and a notebook of it, as a reader would: by its rooms in the explorer."""
    page.goto(f"{address}/?folder={folder}", wait_until="domcontentloaded")
    page.locator(".statusbar-item", has_text="0 cells have run").wait_for(timeout=90_000)
    *rooms, name = (page.locator(".explorer-folders-view .monaco-list-row", has_text=one) for one in path)
    for room in rooms:
        room.click()
    name.dblclick()
    page.wait_for_selector(".notebook-editor .cell-list-container")


def run_all(page, cells: int, wait: float):
    """Run all cells, wait for the last; gives the frame that the outputs are in."""
    page.get_by_role("button", name="Run All").first.click()
    ended = re.compile(rf"\b{cells} cells have run|[1-9]\d* failed")  # as the extension counts: those out of sight too
    sign = page.locator(".statusbar-item", has_text=ended)
    sign.wait_for(timeout=wait * 1000)
    said = sign.inner_text()
    assert "0 failed, 0 lines of standard error" in said, f"{said}\n{outputs(page).locator('body').inner_text()}"
    return outputs(page)


def outputs(page):
    """The frame in which VS Code shows what cells display."""
    return next(frame for frame in page.frames if frame.name == "active-frame" or "fake.html" in frame.url)

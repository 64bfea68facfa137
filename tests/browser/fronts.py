"""The front ends in which a notebook of the kit may be open, each with a server of its own.

JupyterLab and Notebook 7 share their page's parts. Voilà runs the cells itself and shows what they display in a page
without Jupyter around it, the kernel live behind it.
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
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Front:
    """A front end.

    Attributes:
        arguments: of its server, behind `python -m`.
        page: where a notebook of its folder is opened.
    """

    arguments: tuple[str, ...]
    page: str


_SERVER = ("--no-browser", "--allow-root", "--IdentityProvider.token=", "--ServerApp.password=")
_OPEN = ("--ServerApp.ip=127.0.0.1", "--ServerApp.disable_check_xsrf=True", "--ServerApp.root_dir={folder}")
FRONTS = {
    "lab": Front(
        ("jupyterlab", *_SERVER, *_OPEN, "--LabApp.news_url=", "--LabApp.expose_app_in_browser=True"),
        "/lab/tree/{}?reset",
    ),
    "notebook": Front(("notebook", *_SERVER, *_OPEN), "/notebooks/{}"),
    "voila": Front(("voila", "{folder}", "--no-browser", "--Voila.ip=127.0.0.1"), "/voila/render/{}"),
}


@contextlib.contextmanager
def serving(front: str, folder: Path) -> Iterator[str]:
    """The server of a front end on a free port of this machine; gives its address."""
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    loaded = folder / ".config" / "jupyter_server_config.d"
    loaded.mkdir(parents=True)
    shutil.copy(ROOT / "kitlib/lab/jupyter/config/jupyter_server_config.d/kitlib.json", loaded)  # as `kitlib lab` does
    environment = {"JUPYTER_CONFIG_DIR": str(folder / ".config"), "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings")}
    arguments = [one.format(folder=folder) for one in FRONTS[front].arguments]
    with running([sys.executable, "-m", *arguments], folder / "server.log", environment) as address:
        yield address


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A server that takes `--port`, until it answers; gives its address, and ends it afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    whole = {**os.environ, "KITLIB_NODES": "simulated", "PYTHONPATH": path, **environment}
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*command, f"--port={port}"], env=whole, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, server, log)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=20)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).read()
            return
        except urllib.error.HTTPError:  # it answers, and wants a token
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)
    raise AssertionError(f"{server.args} did not answer: {log.read_text()}")


def run_all(page, cells: int, wait: float = 90) -> None:
    """Run all cells of the notebook that is open and wait until the last has its number."""
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=wait * 1000)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=wait * 1000)
    if page.evaluate("() => Boolean(window.jupyterapp)"):
        page.evaluate(
            """async () => {
              const { commands, shell } = window.jupyterapp;
              await shell.currentWidget.sessionContext.ready;
              commands.execute("notebook:run-all-cells");
            }"""
        )
    else:
        _run_all_by_menu(page)
    for index in range(cells):
        page.wait_for_function(
            "i => { const p = document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')[i];"
            " return p && /\\[\\d+\\]/.test(p.textContent) }",
            arg=index,
            timeout=wait * 1000,
        )


def _run_all_by_menu(page) -> None:
    from playwright.sync_api import TimeoutError as TooLate

    for _ in range(5):  # a kernel that is only just there may miss the first wish
        offered = page.locator(".jp-Dialog .jp-mod-accept")
        if offered.count():  # "Select Kernel": the wish came before the session was there
            offered.first.click()
        page.locator(".jp-Cell .jp-InputPrompt").first.click()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        began = page.locator(".jp-CodeCell .jp-InputPrompt", has_text=re.compile(r"\[(\*|\d+)\]")).first
        with contextlib.suppress(TooLate):
            began.wait_for(timeout=4000)
            break


def open_lab(page, address: str) -> None:
    """Load JupyterLab with nothing open in it."""
    page.goto(f"{address}/lab?reset", wait_until="domcontentloaded", timeout=90_000)
    page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)", timeout=90_000)


def open_in_lab(page, name: str) -> None:
    """Open a notebook of the server's folder in a JupyterLab that is loaded."""
    page.evaluate("path => void window.jupyterapp.commands.execute('docmanager:open', { path })", name)


def change_theme(page, theme: str) -> None:
    """Give a loaded JupyterLab a theme, and wait for its colours."""
    page.evaluate("theme => void window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme, timeout=90_000)


def close_all(page) -> bool:
    """Close the documents of a JupyterLab and undo what a test did to its page; False where that did not succeed."""
    from playwright.sync_api import Error

    try:
        page.emulate_media(reduced_motion="reduce")
        page.evaluate(
            """() => {
              document.body.style.zoom = "";
              for (const shown of [...window.jupyterapp.shell.widgets("main")]) {
                if (shown.context) shown.context.model.dirty = false; // else it asks whether to save
                shown.close();
              }
            }"""
        )
        page.wait_for_function("() => !document.querySelector('.jp-NotebookPanel, .jp-Dialog')")
    except Error:
        return False
    return True


def problem(front: str, error) -> list[str]:
    """What a page's error says; nothing where a program of its own made it.

    Notebook 7.6 makes one in every notebook. A plain Jupyter server loads JupyterLite's extension, if it is installed,
    for which it has no modules; `kitlib lab` leaves it out. An accordion of ipywidgets asks for its layout once more
    after its view has been removed.
    """
    if "get collapseWidgets" in (error.stack or ""):
        return []
    if str(error).startswith("Shared module @jupyterlite/"):
        return []
    places = [line for line in (error.stack or "").splitlines() if line.strip().startswith("at ") and "http" in line]
    own = front == "notebook" and places and all("/static/notebook/" in place for place in places)
    return [] if own else [f"{error} {places[0].strip()[:200] if places else error.stack}"]


def use_theme(folder: Path, theme: str) -> None:
    """The theme of the pages that are opened from now on."""
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))


def end_kernels(front: str, address: str) -> None:
    """End the kernels that a server has started; Voilà's end with their page."""
    if front != "voila":
        for session in json.loads(_ask(f"{address}/api/sessions")):
            _ask(f"{address}/api/sessions/{session['id']}", "DELETE")


def _ask(address: str, method: str = "GET") -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address, method=method), timeout=20) as answer:
        return answer.read()

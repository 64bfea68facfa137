"""`kitlib lab` in a page: a server of the command itself, and a page that remembers what it asked for."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import fronts


class Visit:
    """A page of a running `kitlib lab`, with what it asked for, what went wrong, and the clicks made."""

    def __init__(self, browser, address, **settings):
        self.address, self.requests, self.errors, self.clicks = address, [], [], 0
        self.page = browser.new_page(viewport={"width": 1440, "height": 1000}, **settings)
        self.page.set_default_timeout(60_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", self._failed)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _failed(self, request):
        """What the page's policy refuses has not left the machine."""
        if request.failure == "csp":
            self.requests.remove(request.url)

    def enter(self) -> None:
        """Open the address with its token; the start page shows itself and has run to its end."""
        self.page.goto(f"{self.address}?token=learner", wait_until="domcontentloaded", timeout=90_000)
        self.page.wait_for_selector(".kitlib-start h1", timeout=90_000)
        self.page.wait_for_selector(".kitlib-wait", state="detached", timeout=90_000)

    def click(self, name):
        self.clicks += 1
        self.page.get_by_role("button", name=re.compile(name)).first.click()

    def read(self) -> str:
        """The page's text down to the verdict, without the sections below it."""
        return self.page.locator(".kitlib-start section").first.inner_text()

    def outside(self) -> list[str]:
        kept = (self.address, self.address.replace("http", "ws", 1), "data:", "blob:")
        return [url for url in self.requests if not url.startswith(kept)]


STATE = """index => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[index];
  const outputs = cell.model.type === "code" ? cell.model.outputs.toJSON() : [];
  return { type: cell.model.type, source: cell.model.sharedModel.getSource(), count: cell.model.executionCount ?? null,
           running: cell.model.executionState === "running", outputs };
}"""


class OpenNotebook:
    """A notebook that is open in JupyterLab.

    Args:
        page: of a running JupyterLab.
        path: of the notebook, as the server names it.
    """

    def __init__(self, page, path: str) -> None:
        self.page, self.path = page, path
        page.evaluate("path => void window.jupyterapp.commands.execute('docmanager:open', { path })", path)
        page.wait_for_function(
            "path => window.jupyterapp.shell.currentWidget?.context?.path.endsWith(path)", arg=path, timeout=60_000
        )
        page.evaluate(
            """async () => {
              const { context, sessionContext } = window.jupyterapp.shell.currentWidget;
              await context.ready;
              await sessionContext.ready;
            }"""
        )
        self.select(0)

    def state(self, index: int) -> dict:
        return self.page.evaluate(STATE, index)

    def length(self) -> int:
        return self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")

    def cell(self, index: int):
        """The cell in the page, scrolled into view."""
        self.page.evaluate(
            "async index => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start'); }",
            index,
        )
        return self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell[data-windowed-list-index='{index}']")

    def select(self, index: int) -> None:
        """Make a cell the one that keys act on."""
        self.page.evaluate(
            """index => {
              const { content } = window.jupyterapp.shell.currentWidget;
              content.activeCellIndex = index;
              content.mode = "command";
              content.activate();
            }""",
            index,
        )

    def run(self, index: int) -> dict:
        """Shift+Enter in a cell, and what it has when it has run."""
        before = self.state(index)["count"]
        self.select(index)
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            f"([index, before]) => {{ const now = ({STATE})(index);"
            " return now.type !== 'code' || !now.running && now.count !== null && now.count !== before; }",
            arg=[index, before],
            timeout=120_000,
        )
        now = self.state(index)
        wrong = [one for one in now["outputs"] if one["output_type"] == "error" or one.get("name") == "stderr"]
        assert not wrong, (self.path, index, wrong)
        return now

    def write(self, index: int, code: str) -> None:
        """Put code in a cell's place, as one pastes it."""
        self.cell(index).locator(".cm-content").first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(code)
        assert self.state(index)["source"] == code

    def close(self) -> None:
        """Close it without saving, and end its kernel."""
        self.page.evaluate(
            """async () => {
              const shown = window.jupyterapp.shell.currentWidget;
              await shown.sessionContext.shutdown();
              shown.context.model.dirty = false;
              shown.close();
            }"""
        )


@contextlib.contextmanager
def restored(browser, folder: Path, **environment: str) -> Iterator[Visit]:
    """A page of `kitlib lab` that has entered and stands still, for a walk; its `progress` is the learner's folder."""
    with kitlib_lab(folder, **environment) as address:
        made = Visit(browser, address, reduced_motion="reduce")
        made.progress = folder / "progress"
        made.enter()
        made.page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)", timeout=90_000)
        yield made
        made.page.close()


@contextlib.contextmanager
def kitlib_lab(folder: Path, app: str = "lab", **environment: str) -> Iterator[str]:
    """The command with everything it keeps below `folder` (`progress`, `server.log`); gives its address."""
    kept = {
        **environment,
        "JUPYTER_TOKEN": "learner",
        "KITLIB_PROGRESS": str(folder / "progress"),
        **{f"JUPYTER_{what}_DIR": str(folder / what.lower()) for what in ("CONFIG", "DATA", "RUNTIME")},
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }
    (folder / "config").mkdir(exist_ok=True)  # tests ask JupyterLab's own objects which cell has run
    (folder / "config" / "jupyter_lab_config.json").write_text('{"LabApp": {"expose_app_in_browser": true}}')
    command = [sys.executable, "-m", "kitlib.cli", "lab", str(folder / "course"), "--app", app]
    command += ["--no-browser", "--nodes", "simulated"]
    with fronts.running(command, folder / "server.log", kept) as address:
        yield address

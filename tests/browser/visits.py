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


@contextlib.contextmanager
def kitlib_lab(folder: Path, app: str = "lab") -> Iterator[str]:
    """The command with everything it keeps below `folder` (`progress`, `server.log`); gives its address."""
    kept = {
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

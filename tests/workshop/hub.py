"""A JupyterHub from the recipe: where it is installed, how it is started, and a learner who comes in over HTTP.

JupyterHub comes from PyPI, its proxy from npm. KITLIB_HUB_ENVIRONMENT names a virtual environment with JupyterHub and
the spawners that is there already.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kitlib import workshop
from kitlib.lab import room
from kitlib.workshop import Limits, roster
from tests import venvs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HUB = "jupyterhub==6.1.1"
PROXY = "configurable-http-proxy@5.3.0"
SPAWNERS = ("jupyterhub-firstuseauthenticator==1.1.1", "dockerspawner==14.0.0", "jupyterhub-systemdspawner==1.0.2")
PASSWORD = "the word on the whiteboard"
ADMIN = "the trainer's word of more than 32 characters"
LEARNERS = ("ada", "bob", "cy")


def done(command: list[str], folder: Path, **more: Any) -> str:
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, **more)
    assert found.returncode == 0, f"{command}\n{found.stdout[-3000:]}{found.stderr[-3000:]}"
    return found.stdout


@dataclass
class Place:
    """Where the hub is installed: `bin` first on PATH."""

    folder: Path
    python: str
    environment: dict[str, str]


def install(folder: Path) -> Place:
    """Install the recipe with a roster, and a hub with every spawner that it knows; the room has one lab open."""
    if shutil.which("npm") is None:
        assert "workshop" not in os.environ.get("KITLIB_REQUIRE", "").split(","), "node.js and npm are needed"
        pytest.skip("no node.js on this machine")
    people = [roster.Person(account, account.title()) for account in LEARNERS]
    written = workshop.write(folder / "recipe", Limits(learners=1, memory_mb=900), people=people)
    wheel = next(name for name in written.files if name.endswith(".whl"))
    venv = Path(os.environ.get("KITLIB_HUB_ENVIRONMENT") or folder / "venv")
    python = venvs.make(venv)
    kit = f"{folder / 'recipe' / wheel}[notebook]"
    venvs.install(python, HUB, *SPAWNERS, kit)
    venvs.install(python, kit, again=True)
    (folder / "package.json").write_text('{"private": true}')
    done(["npm", "install", "--no-audit", "--no-fund", "--silent", PROXY], folder)
    path = os.pathsep.join([str(venv / "bin"), str(folder / "node_modules/.bin"), os.environ["PATH"]])
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "KITLIB", "JUPYTER"))}
    variables |= {"PATH": path, "KITLIB_HUB_PASSWORD": PASSWORD, "KITLIB_HUB_FOLDER": str(folder / "learners")}
    variables["KITLIB_HUB_ADMIN_PASSWORD"] = ADMIN
    room.write(
        folder / "room" / room.FILE, room.RoomDecisions(open=("01-make-it-guaranteed",))
    )  # the trainer's decisions
    return Place(folder, python, variables)


def free_ports() -> tuple[int, int]:
    """One for learners, and one for the hub whose next two are free too (the proxy's, the room's)."""
    for _ in range(50):
        with ExitStack() as opened:
            a, b, *others = (opened.enter_context(socket.socket()) for _ in range(4))
            a.bind(("127.0.0.1", 0))
            b.bind(("127.0.0.1", 0))
            try:
                for further, one in enumerate(others, start=1):
                    one.bind(("127.0.0.1", b.getsockname()[1] + further))
            except (OSError, OverflowError):
                continue
            return a.getsockname()[1], b.getsockname()[1]
    raise AssertionError("no three free ports in a row")


@contextmanager
def running(place: Place, spawner: str, **settings: str) -> Iterator[str]:
    """A hub with that spawner; its address. `settings` go into its environment."""
    port, api = free_ports()
    more = {"KITLIB_HUB_SPAWNER": spawner, "KITLIB_HUB_PORT": str(port), "KITLIB_HUB_API_PORT": str(api), **settings}
    folder = place.folder / f"hub-{spawner}"
    folder.mkdir()
    written = folder / "log"
    log = written.open("w")
    command = [place.python, "-m", "jupyterhub", "-f", str(place.folder / "recipe/jupyterhub_config.py")]
    process = subprocess.Popen(command, cwd=folder, env=place.environment | more, stdout=log, stderr=subprocess.STDOUT)
    try:
        address, end = f"http://127.0.0.1:{port}", time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{address}/hub/health", timeout=5):
                    break
            except OSError:
                text = written.read_text()[-3000:]
                assert process.poll() is None and time.monotonic() < end, text
                time.sleep(0.3)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def learner(
    place: Place, hub: str, name: str, password: str, other: str, cells: list[str], *more: str
) -> dict[str, Any]:
    """What one learner comes to, with the room's `password` and a word of their own; `more` = further words."""
    command = [place.python, str(HERE / "learner.py"), hub, name, f"{name}'s own word", password, other, *more]
    out = done(command, place.folder, input=json.dumps(cells), env=place.environment)
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def first_notebook() -> list[str]:
    """The code of its cells."""
    notebook = json.loads((ROOT / "notebooks/01-a-pod-becomes-cgroup-files.ipynb").read_text())
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]

"""A real JupyterHub from the recipe, and learners who log in over HTTP, start servers and run a notebook's cells.

JupyterHub comes from PyPI, its proxy from npm, both installed into a temporary folder. The spawner is the one that
starts plain processes; the settings of the two others are checked against the classes that read them.
KITLIB_HUB_ENVIRONMENT names a virtual environment with JupyterHub and the spawners that is there already.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kitlib import workshop
from kitlib.workshop import Limits

pytestmark = pytest.mark.workshop

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HUB = "jupyterhub==6.1.1"
PROXY = "configurable-http-proxy@5.3.0"
SPAWNERS = ("dockerspawner==14.0.0", "jupyterhub-systemdspawner==1.0.2")
PASSWORD = "the word on the whiteboard"
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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    if shutil.which("npm") is None:
        assert "workshop" not in os.environ.get("KITLIB_REQUIRE", "").split(","), "node.js and npm are needed"
        pytest.skip("no node.js on this machine")
    folder = tmp_path_factory.mktemp("hub")
    written = workshop.write(folder / "recipe", Limits(learners=1, memory_mb=900))
    wheel = next(name for name in written.files if name.endswith(".whl"))
    venv = Path(os.environ.get("KITLIB_HUB_ENVIRONMENT") or folder / "venv")
    if not (venv / "bin").is_dir():
        done([sys.executable, "-m", "venv", str(venv)], folder)
    kit = f"{folder / 'recipe' / wheel}[notebook]"
    done([str(venv / "bin/python"), "-m", "pip", "install", "-q", HUB, *SPAWNERS, kit], folder)
    done([str(venv / "bin/python"), "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", kit], folder)
    (folder / "package.json").write_text('{"private": true}')
    done(["npm", "install", "--no-audit", "--no-fund", "--silent", PROXY], folder)
    path = os.pathsep.join([str(venv / "bin"), str(folder / "node_modules/.bin"), os.environ["PATH"]])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "KITLIB", "JUPYTER"))}
    environment |= {"PATH": path, "KITLIB_HUB_PASSWORD": PASSWORD, "KITLIB_HUB_FOLDER": str(folder / "learners")}
    return Place(folder, str(venv / "bin/python"), environment)


def free_ports() -> tuple[int, int]:
    """One for learners, and one for the hub whose next is free too (the proxy's)."""
    with socket.socket() as a, socket.socket() as b, socket.socket() as c:
        a.bind(("127.0.0.1", 0))
        for _ in range(50):
            b.bind(("127.0.0.1", 0))
            try:
                c.bind(("127.0.0.1", b.getsockname()[1] + 1))
            except OSError:
                b.close()
                b = socket.socket()
                continue
            return a.getsockname()[1], b.getsockname()[1]
    raise AssertionError("no two free ports in a row")


@pytest.fixture(scope="module")
def hub(place: Place) -> Iterator[str]:
    port, api = free_ports()
    more = {"KITLIB_HUB_SPAWNER": "process", "KITLIB_HUB_PORT": str(port), "KITLIB_HUB_API_PORT": str(api)}
    log = (place.folder / "hub.log").open("w")
    command = [place.python, "-m", "jupyterhub", "-f", str(place.folder / "recipe/jupyterhub_config.py")]
    process = subprocess.Popen(
        command, cwd=place.folder, env=place.environment | more, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        address, end = f"http://127.0.0.1:{port}", time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{address}/hub/health", timeout=5):
                    break
            except OSError:
                text = (place.folder / "hub.log").read_text()[-3000:]
                assert process.poll() is None and time.monotonic() < end, text
                time.sleep(0.3)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def learner(place: Place, hub: str, name: str, password: str, other: str, cells: list[str]) -> dict[str, Any]:
    command = [place.python, str(HERE / "learner.py"), hub, name, password, other]
    out = done(command, place.folder, input=json.dumps(cells), env=place.environment)
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def found(place: Place, hub: str) -> list[dict[str, Any]]:
    """Three learners at once."""
    notebook = json.loads((ROOT / "notebooks/01-a-pod-becomes-cgroup-files.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    others = [*LEARNERS[1:], LEARNERS[0]]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda who: learner(place, hub, who[0], PASSWORD, who[1], cells), zip(LEARNERS, others)))  # noqa: B905


def test_learners_log_in_and_get_servers_with_the_course(found: list[dict[str, Any]]) -> None:
    there = len(list((ROOT / "notebooks").glob("*.ipynb")))
    assert [(one["login"], one["server"], one["notebooks"]) for one in found] == [(302, 200, there)] * 3


def test_every_cell_of_the_first_notebook_runs_and_a_lab_is_checked(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert set(one["cells"]) == {"ok"}, one["cells"]
        assert one["check"][0] == "ok" and "Reached: 0" in one["check"][1], one["check"]


def test_nobody_gets_into_a_neighbours_server(found: list[dict[str, Any]]) -> None:
    assert [one["neighbour"] for one in found] == [403] * 3


def test_a_learner_who_needs_too_much_memory_is_refused_it_and_goes_on(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["limit"] == ["ok", "900000000\n"]
        assert one["hog"][0].startswith("MemoryError")
        assert one["after"] == ["ok", "still here\n"]


def test_the_instructors_table_is_made_from_the_learners_folder(place: Place, found: list[dict[str, Any]]) -> None:
    kitlib = str(Path(place.python).with_name("kitlib"))
    table = done([kitlib, "lab-report", str(place.folder / "learners")], place.folder, env=place.environment)
    assert [line.split(",")[0] for line in table.splitlines()] == ["learner", *LEARNERS]
    assert "01-make-it-guaranteed points" in table


def test_what_a_learner_takes_with_server_and_kernel(
    found: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    def pss(pid: str) -> float:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024 / 1e6

    pairs = [one["pid"][1].split() for one in found]
    kernels, servers = [pss(kernel) for kernel, _ in pairs], [pss(server) for _, server in pairs]
    each = (sum(kernels) + sum(servers)) / len(found)
    with capsys.disabled():
        print(
            f"\n3 learners at a hub: server {max(servers):.0f} MB, kernel {max(kernels):.0f} MB (PSS); 30 learners: "
            f"{30 * each:.0f} MB; server ready after {max(one['server seconds'] for one in found)} s, first notebook "
            f"run in {max(one['notebook seconds'] for one in found)} s"
        )
    assert each < 300


def test_when_all_places_are_taken_the_next_is_told_so(
    place: Place, hub: str, found: list[dict[str, Any]]
) -> None:  # one learner, and two places in reserve
    assert learner(place, hub, "dee", PASSWORD, "ada", [])["server"] == 429


def test_a_wrong_password_does_not_open(place: Place, hub: str) -> None:
    refused = learner(place, hub, "eve", "wrong password", "ada", [])
    assert refused["login"] == 403 and refused["server"] == 0


TRAITS = """
import os, sys
from importlib import import_module
from types import SimpleNamespace
from traitlets.config.loader import PyFileConfigLoader
from jupyterhub.app import JupyterHub
from jupyterhub.authenticators.shared import SharedPasswordAuthenticator
from jupyterhub.proxy import ConfigurableHTTPProxy
from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner
config = PyFileConfigLoader(sys.argv[1]).load_config()
chosen = {"docker": ("dockerspawner", "DockerSpawner"), "systemd": ("systemdspawner", "SystemdSpawner")}
module, name = chosen.get(os.environ["KITLIB_HUB_SPAWNER"], ("jupyterhub.spawner", "SimpleLocalProcessSpawner"))
spawner = getattr(import_module(module), name)
classes = [JupyterHub, SharedPasswordAuthenticator, ConfigurableHTTPProxy, spawner, LocalProcessSpawner]
known = {base.__name__: base for one in classes for base in one.__mro__ if hasattr(base, "class_trait_names")}
for section, values in config.items():
    for trait in values:
        assert trait in known[section].class_trait_names(config=True), f"{section}.{trait}"
made = spawner(config=config, user=SimpleNamespace(name="ada", id=1, settings={}, url="/user/ada/"))
assert made.mem_limit == 900_000_000 and made.cpu_limit == 1.0, (made.mem_limit, made.cpu_limit)
print("traits", sum(len(values) for values in config.values()))
"""


@pytest.mark.parametrize("spawner", ["docker", "systemd", "process"])
def test_every_setting_is_one_that_the_spawner_reads(place: Place, spawner: str) -> None:
    command = [place.python, "-c", TRAITS, str(place.folder / "recipe/jupyterhub_config.py")]
    out = done(command, place.folder, env=place.environment | {"KITLIB_HUB_SPAWNER": spawner})
    assert int(out.split()[-1]) > 15

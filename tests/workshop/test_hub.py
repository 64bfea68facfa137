"""A real JupyterHub from the recipe, and learners who log in over HTTP, start servers and run a notebook's cells.

The spawner is the one that starts plain processes; the settings of the two others are checked against the classes that
read them. Learners in containers: test_hub_containers.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.workshop.hub import PASSWORD, ROOT, Place, done, first_notebook, learner, running

pytestmark = pytest.mark.workshop

LEARNERS = ("ada", "bob", "cy")


@pytest.fixture(scope="module")
def hub(place: Place) -> Iterator[str]:
    with running(place, "process") as address:
        yield address


@pytest.fixture(scope="module")
def found(place: Place, hub: str) -> list[dict[str, Any]]:
    """Three learners at once."""
    cells = first_notebook()
    others = [*LEARNERS[1:], LEARNERS[0]]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda who: learner(place, hub, who[0], PASSWORD, who[1], cells), zip(LEARNERS, others)))  # noqa: B905


def test_learners_log_in_and_get_servers_with_the_course(found: list[dict[str, Any]]) -> None:
    there = len(list((ROOT / "notebooks").glob("*.ipynb")))
    assert [(one["login"], one["server"], one["notebooks"]) for one in found] == [(302, 200, there)] * 3


def test_every_cell_of_the_first_notebook_runs_and_a_lab_is_checked(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert set(one["cells"]) == {"ok"}, one["cells"]
        assert one["check"][0] == "ok" and "This time 0 of 3 points" in one["check"][1], one["check"]


def test_a_lab_that_the_trainer_closed_does_not_open(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["closed"][0].startswith("KitError: lab 02-throttled-on-an-idle-node is closed"), one["closed"]


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

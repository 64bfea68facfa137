"""Learners in containers: their image is built from a root file system and wheels, the hub starts it, limits hold.

The engine needs neither a bridge nor a registry: the image's base is the one that nodes are built from, its packages
are the recipe's wheels, and servers share the host's network, a port each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kitlib import workshop
from kitlib.cluster import engine_answers
from kitlib.node.real import engine, image
from kitlib.workshop import Limits
from tests.workshop.hub import PASSWORD, Place, first_notebook, learner, running

pytestmark = pytest.mark.workshop

LEARNERS = ("fay", "gus")
LIMIT = 900_000_000 // 4096 * 4096
"""Bytes: whole pages of what the recipe was told."""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    answers, why = engine_answers()
    if not answers:
        if "docker" in os.environ.get("KITLIB_REQUIRE", "").split(","):
            pytest.fail(f"KITLIB_REQUIRE names docker: {why}")
        pytest.skip(why)
    made = engine.connect()
    made.api.timeout = 600  # to write or remove an image may take long
    yield made
    made.close()


@pytest.fixture(scope="module")
def learners_image(client: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Built as the guide says, from the root file system of the nodes' image; the build has no network."""
    folder, name = tmp_path_factory.mktemp("image"), f"kitlib-learner:test-{os.getpid()}"
    workshop.write(folder, Limits(learners=1, memory_mb=900), wheels=True)
    base = image.BASE if image.have(client, image.BASE) else image.ensure(client)
    client.images.build(
        path=str(folder), tag=name, buildargs={"BASE": base}, network_mode="none", rm=True, forcerm=True
    )
    yield name
    client.images.remove(name, force=True)


@pytest.fixture(scope="module")
def hub(place: Place, learners_image: str) -> Iterator[str]:
    folder = str(place.folder / "in-containers")
    settings = {"KITLIB_HUB_NETWORK": "host", "KITLIB_HUB_IMAGE": learners_image, "KITLIB_HUB_FOLDER": folder}
    settings["KITLIB_HUB_ROSTER"] = ""  # any name may come in
    with running(place, "docker", **settings) as address:
        yield address


@pytest.fixture(scope="module")
def found(place: Place, hub: str) -> list[dict[str, Any]]:
    """Two learners at once."""
    cells = first_notebook()
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(learner, place, hub, name, PASSWORD, LEARNERS[1 - number], cells, "container")
            for number, name in enumerate(LEARNERS)
        ]
        return [job.result() for job in jobs]


def containers(client: Any) -> dict[str, Any]:
    """Learner -> what the engine says of the container."""
    every = {name: client.containers.list(all=True, filters={"name": f"jupyter-{name}"}) for name in LEARNERS}
    return {name: some[0].attrs for name, some in every.items() if some}


def test_a_learner_works_in_a_container_of_their_own(found: list[dict[str, Any]], client: Any) -> None:
    assert [(one["login"], one["server"]) for one in found] == [(302, 200)] * 2
    for one in found:
        assert set(one["cells"]) == {"ok"}, one["cells"]
        assert one["check"][0] == "ok" and "This time 0 of 3 points" in one["check"][1], one["check"]
        assert one["neighbour"] == 403
        assert one["closed"][0].startswith("KitError: lab 02-throttled-on-an-idle-node is closed"), one["closed"]
    there = containers(client)
    assert set(there) == set(LEARNERS)
    assert all(one["Config"]["User"] == "learner" for one in there.values())


def test_its_memory_is_limited_by_its_cgroup(found: list[dict[str, Any]], client: Any) -> None:
    for one in found:
        assert one["limit"] == ["ok", f"{LIMIT} 1000\n"]
    for attributes in containers(client).values():
        lines = Path(f"/proc/{attributes['State']['Pid']}/cgroup").read_text().splitlines()
        paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
        top = Path("/sys/fs/cgroup")
        file = top / f"memory{paths['memory']}/memory.limit_in_bytes" if "memory" in paths else None
        assert int((file or top / f"{paths['']}/memory.max".lstrip("/")).read_text()) == LIMIT
        limits = attributes["HostConfig"]
        assert (limits["PidsLimit"], limits["CpuQuota"], limits["CapDrop"]) == (200, 100_000, ["ALL"])


def test_a_kernel_that_takes_more_is_killed_and_the_server_stays(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["hog"] == ["killed", ""]
        assert one["after"] == ["ok", "still here\n"]


def test_what_was_done_is_kept_in_the_learners_folder(found: list[dict[str, Any]], place: Place) -> None:
    for name in LEARNERS:
        assert '"make-it-guaranteed"' in (place.folder / "in-containers" / name / "progress.jsonl").read_text()


def test_at_logout_the_container_vanishes(found: list[dict[str, Any]], place: Place, hub: str, client: Any) -> None:
    for name in LEARNERS:
        assert learner(place, hub, name, PASSWORD, "", [], "leave")["login"] == 302
    end = time.monotonic() + 30
    while containers(client) and time.monotonic() < end:
        time.sleep(0.5)
    assert containers(client) == {}

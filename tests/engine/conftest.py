"""Real nodes on this machine's container engine: everything here is marked `docker`.

Without an engine the tests are skipped with the reason; with KITLIB_REQUIRE=docker that is a failure. Nodes get the
least privilege unless KITLIB_PRIVILEGE=full asks for all of it, for those tests that do not choose themselves.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.control_plane.polling import PollingCluster
from tests.engine.helpers import ROOT, SLOW, needed, outside
from tests.engine.traces import Traces

HERE = Path(__file__).parent
PRIVILEGE: Any = os.environ.get("KITLIB_PRIVILEGE", "least")


IDLE_PLANES = ("container", "process")
IDLE_SECONDS = float(os.environ.get("KITLIB_IDLE_SECONDS", "100"))
IDLE = """
import json, sys, time
from kitlib.cluster import Cluster
from tests.engine.helpers import pod
with Cluster.docker([{"name": "n1", "memory": "256Mi"}], control_plane=sys.argv[1]) as cluster:
    cluster.apply(pod(name="a"))
    cluster.wait(lambda c: c.pod("a").status.phase == "Running", 120)
    time.sleep(float(sys.argv[2]))
    events = [event.reason for event in cluster.events()]
    ready = next(c.status for c in cluster.get("Node", "n1").status.conditions if c.type == "Ready")
    began = time.monotonic()
    cluster.apply(pod(name="b"))
    cluster.wait(lambda c: c.pod("b").status.phase == "Running", 60)
    seconds = round(time.monotonic() - began, 2)
    pods = {one.name: one.status.phase for one in cluster.pods()}
    print(json.dumps([ready, "NodeNotReady" in events, pods, seconds]))
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.docker)
    items.sort(key=lambda item: item.path.name == "test_idle.py")  # last: what they wait for began with the first test


@pytest.fixture(scope="session", autouse=True)
def idle_clusters(request: pytest.FixtureRequest) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Yield processes with clusters that idle from the session's beginning, if a test needs them at its end."""
    begun: dict[str, subprocess.Popen[str]] = {}
    if any(item.path.name == "test_idle.py" for item in request.session.items):
        needed()
        for plane in IDLE_PLANES:
            command = [sys.executable, "-c", IDLE, plane, str(IDLE_SECONDS)]
            begun[plane] = subprocess.Popen(command, cwd=ROOT, env=outside(), stdout=subprocess.PIPE, text=True)
    yield begun
    for process in begun.values():
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def engine() -> str:
    return needed()


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """What a test waits for comes later on a machine that does much else: three times what suffices on an idle one.

    No limit of a wait is a bound on the kit; where a time is promised, the test reads the clock.
    """
    wait = PollingCluster.wait

    def longer(self: PollingCluster, condition: Any, timeout: float = 60.0) -> Any:
        return wait(self, condition, timeout * max(SLOW, 3))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PollingCluster, "wait", longer)
        yield


@pytest.fixture
def traces(engine: str, monkeypatch: pytest.MonkeyPatch) -> Traces:
    run = uuid.uuid4().hex
    monkeypatch.setenv("KITLIB_RUN", run)
    return Traces(run)


@pytest.fixture
def start(engine: str) -> Iterator[Callable[..., DockerCluster]]:
    """Make clusters that end with the test."""
    made: list[DockerCluster] = []

    def begin(nodes: Any = 1, **settings: Any) -> DockerCluster:
        settings = {"cpus": 2, "memory": "1Gi", "privilege": PRIVILEGE, **settings}
        made.append(Cluster.docker(nodes, **settings))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def shared(engine: str) -> Iterator[DockerCluster]:
    """One cluster for the tests of a module that only add pods of their own."""
    with Cluster.docker(1, cpus=2, memory="2Gi", privilege=PRIVILEGE) as cluster:
        yield cluster

"""Real nodes on this machine's container engine: everything here is marked `docker`.

Without an engine the tests are skipped with the reason; with KITLIB_REQUIRE=docker that is a failure. Nodes get the
least privilege unless KITLIB_PRIVILEGE=full asks for all of it, for those tests that do not choose themselves.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.control_plane.polling import PollingCluster
from tests.engine.helpers import SLOW, needed
from tests.engine.traces import Traces

HERE = Path(__file__).parent
PRIVILEGE: Any = os.environ.get("KITLIB_PRIVILEGE", "least")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.docker)


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

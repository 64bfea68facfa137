"""A sweep on Dask's LocalCluster: the same rows as here, also when one of its workers is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps import SweepProgress, sweep
from kitlib.study.sweeps.dask_cluster import ChunkResult, compute, connected
from kitlib.study.sweeps.task import Task

DATA = {
    "nodes": [{"count": 4, "name": "n${i}", "cpu": "${choice(1, 2)}"}],
    "pods": [{"count": 5, "name": "p${i}", "cpu": 1}],
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made


def reaches(client: Any, folder: str) -> None:
    """The cluster's workers can import what stands in the folder."""

    def add(path: str) -> None:
        import sys

        sys.path.insert(0, path)
        sys.modules.pop("sweep_scenarios", None)

    client.run(add, folder)


@pytest.mark.dask
def test_rows_are_those_of_this_process(client: Any) -> None:
    here = sweep(DATA, {"a": [1, 2]}, ["pending", "nodes_used"], seeds=30, workers=0)
    there = sweep(DATA, {"a": [1, 2]}, ["pending", "nodes_used"], seeds=30, client=client)
    assert [(row.point, row.values) for row in there.rows] == [(row.point, row.values) for row in here.rows]
    by_address = sweep(DATA, {"a": [1]}, client=client.scheduler.address)
    assert by_address.complete and client.status == "running"


@pytest.mark.dask
def test_a_function_of_a_notebook_is_carried_along(client: Any) -> None:
    found = sweep(lambda x: {"square": x * x}, {"x": [1, 2, 3]}, client=client)
    assert [row.values for row in found.rows] == [{"square": 1}, {"square": 4}, {"square": 9}] and not found.note


@pytest.mark.dask
def test_errors_are_rows_and_a_killed_worker_loses_nothing(client: Any, scenarios: ModuleType, tmp_path: Path) -> None:
    reaches(client, str(Path(scenarios.__file__ or "").parent))
    found = sweep(scenarios.fails, {"x": [1, 2]}, client=client)
    assert [row.error for row in found.rows] == ["KeyError: 'no 1'", ""]
    killed: list[int] = []

    def kill_one(progress: SweepProgress) -> None:
        if progress.done >= 20 and not killed:
            killed.append(int(scenarios.lines("computed")[0].split()[0]))
            os.kill(killed[0], signal.SIGKILL)

    path = tmp_path / "rows.jsonl"
    found = sweep(scenarios.noted, {"x": range(200)}, client=client, file=path, progress=kill_one)
    assert [row.values["value"] for row in found.rows] == list(range(200)) and not found.errors
    assert killed and len(path.read_text().splitlines()) == 201


@pytest.mark.dask
def test_an_interrupt_leaves_no_task_on_the_cluster(client: Any) -> None:
    def slow(x: int) -> int:
        import time

        time.sleep(0.05)
        return x

    def interrupt(progress: SweepProgress) -> None:
        if progress.done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(slow, {"x": range(1000)}, client=client, progress=interrupt)
    assert sweep(slow, {"x": [1]}, client=client).complete


def test_a_task_takes_data_and_returns_data() -> None:
    import msgspec

    task = Task(DATA)
    answer = msgspec.json.decode(compute(msgspec.json.encode(task.work), b'[{"seed":1}]'), type=ChunkResult)
    assert answer.rows[0].values == task.evaluate({"seed": 1}).values


@pytest.mark.dask
def test_what_is_no_client_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kitlib.study.sweeps.dask_cluster.CONNECT_S", 1)
    with pytest.raises(KitError, match=r"client=: must be a distributed.Client or an address, got int"):
        connected(5)
    with pytest.raises(KitError, match=r"client='tcp://127.0.0.1:1': no Dask scheduler answers there"):
        connected("tcp://127.0.0.1:1")
    with pytest.raises(KitError, match=r"client='nonsense://x': no Dask scheduler answers there"):
        connected("nonsense://x")


def test_dask_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(KitError, match=r"client=: requires Dask: pip install 'kitlib\[dask\]'"):
        sweep(DATA, {"a": [1]}, client="tcp://127.0.0.1:1")

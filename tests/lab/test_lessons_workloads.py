"""Exercises that are judged by what a workload does, or by a sweep of the learner's."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.examples.sweeps import example
from kitlib.lab import burst_times, pod
from kitlib.lab.exercise import judged
from kitlib.lab.lessons import content
from kitlib.study.sweeps import sweep

WORK = "cpu=10 burst=100ms every=1s"
NODE: list[dict[str, Any]] = [{"name": "node-1", "cpus": 10, "memory": "2Gi"}]


@pytest.mark.parametrize(
    ("made", "seconds", "answer", "words"),
    [
        (pod("api", cpu="100m", cpu_limit="2", uses=WORK), 15, None, ""),
        (pod("api", cpu="2", cpu_limit="2", memory="64Mi", memory_limit="64Mi", uses=WORK), 15, None, ""),
        (pod("api", cpu="100m", cpu_limit="10", uses="every=1s cpu=10 burst=0.1s"), 15, None, ""),
        (pod("api", cpu="100m", cpu_limit="1500m", uses=WORK), 40, None, ""),
        (pod("other", cpu_limit="2", uses=WORK), 15, [0.01], "no pod api"),
        (pod("api", cpu="100m", cpu_limit="500m", uses=WORK), 15, None, "want more quota"),
        (pod("api", cpu="100m", cpu_limit="1", uses=WORK), 15, None, "want more quota"),
        (pod("api", cpu="100m", uses=WORK), 15, None, "how large must it be"),
        (pod("api", cpu_limit="2", uses="cpu=2 burst=100ms every=1s"), 15, None, "work stays"),
        (pod("api", cpu_limit="2", uses="cpu=10 burst=20ms every=1s"), 15, None, "work stays"),
        (pod("api", cpu_limit="2"), 15, [], "work stays"),
        (pod("api", cpu="100m", cpu_limit="2", uses=WORK), 2, None, "some seconds pass"),
        (pod("api", cpu="100m", cpu_limit="2", uses=WORK), 15, [], "burst_times"),
        (pod("api", cpu="100m", cpu_limit="2", uses=WORK), 15, True, "burst_times"),
        (pod("api", cpu="100m", cpu_limit="2", uses=WORK), 15, "0.01", "burst_times"),
    ],
)
def test_a_limit_above_the_bursts_is_judged(made: Any, seconds: float, answer: Any, words: str) -> None:
    with Cluster.simulated(NODE) as cluster:
        cluster.apply(made)
        cluster.advance(seconds)
        given = burst_times(cluster, made["metadata"]["name"]) if answer is None else answer
        found = judged(content("18").exercises["mend"], given, cluster)
    assert found.right is (not words) and words in found.text, found.text


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (pod("scratch", memory_limit="200Mi", uses="memory=50Mi shm=120Mi"), ""),
        (pod("scratch", memory="1Gi", memory_limit="1Gi", uses="memory=50Mi shm=120Mi"), ""),
        (pod("scratch", memory_limit="180Mi", uses="shm=120Mi memory=50Mi"), ""),
        (pod("scratch", memory_limit="400Mi", uses="memory=60Mi shm=150Mi cache=100Mi"), ""),
        (pod("scratch", memory_limit="150Mi", uses="memory=50Mi shm=120Mi"), "counted together"),
        (pod("scratch", memory_limit="120Mi", uses="memory=50Mi shm=120Mi"), "counted together"),
        (pod("scratch", uses="memory=50Mi shm=120Mi"), "memory limit"),
        (pod("scratch", memory_limit="200Mi", uses="memory=50Mi cache=120Mi"), "120 MiB of files"),
        (pod("scratch", memory_limit="200Mi", uses="shm=120Mi"), "50 MiB beside"),
        (pod("other", memory_limit="200Mi", uses="memory=50Mi shm=120Mi"), "no pod scratch"),
        (pod("scratch", memory="4Gi", memory_limit="4Gi", uses="memory=50Mi shm=120Mi"), "does not run"),
    ],
)
def test_a_limit_that_holds_files_in_memory_is_judged(version: int, made: Any, words: str) -> None:
    with Cluster.simulated([{"name": "node-1", "cpus": 2, "memory": "2Gi"}], cgroup_version=version) as answer:
        answer.apply(made)
        answer.advance(10)
        found = judged(content("19").exercises["mend"], answer, None)
    assert found.right is (not words) and words in found.text, found.text


def test_what_is_no_cluster_is_no_answer() -> None:
    for answer in (True, "scratch", [1, 2], pod("scratch", memory_limit="200Mi")):
        assert judged(content("19").exercises["mend"], answer, None).right is False


GRID: dict[str, Any] = {"maxSkew": [1], "zones": [2], "nodeTaintsPolicy": ["Honor"], "release": ["1.24", "1.30"]}
BOTH = {"nodeTaintsPolicy": ["Honor", "Ignore"]}
POINTS = [{"maxSkew": 1, "zones": 2, "nodeTaintsPolicy": "Honor", "release": one} for one in ("1.30", "1.24")]


@pytest.mark.parametrize(
    ("grid", "metric", "words"),
    [
        (GRID, None, ""),
        (GRID | BOTH, None, ""),
        (POINTS, ["pending", "zone_skew"], ""),
        (GRID, "pending", ""),
        ({name: values for name, values in GRID.items() if name != "release"}, None, "no parameter release"),
        (GRID | {"release": ["1.24"]}, None, "other values of release"),
        (GRID | {"release": ["1.24", "1.26", "1.30"]}, None, "other values of release"),
        (GRID | {"maxSkew": [1, 2]}, None, "other values of maxSkew"),
        (GRID | {"zones": [3]}, None, "other values of zones"),
        (GRID | {"nodeTaintsPolicy": ["Ignore"]}, None, "policy Honor"),
        (GRID, "zone_skew", "Measure pending"),
    ],
)
def test_a_sweep_over_releases_is_judged(grid: Any, metric: Any, words: str) -> None:
    answer = sweep(example("max-skew").scenario, grid, metric, seeds=2, workers=0)
    found = judged(content("24").exercises["release"], answer, None)
    assert found.right is (not words) and words in found.text, found.text


def test_a_sweep_of_another_scenario_is_no_answer() -> None:
    empty = {**example("max-skew").scenario, "pods": [{"name": "p-${maxSkew}-${zones}-${nodeTaintsPolicy}"}]}
    found = judged(content("24").exercises["release"], sweep(empty, GRID, seeds=1, workers=0), None)
    assert found.right is False and "skew.scenario" in found.text
    for answer in ("1.30", 4.2, GRID):
        assert "study.sweep returns" in judged(content("24").exercises["release"], answer, None).text

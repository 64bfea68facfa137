"""Exercises that are judged by a decision or by a cluster of their own; and every exercise is in a table."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.examples.stories import story
from kitlib.lab import pod
from kitlib.lab.exercise import judged
from kitlib.lab.lessons import content
from kitlib.lab.readings import cpu_used
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.profile import Profile
from kitlib.study.compare import compare
from kitlib.study.scenario import Scenario
from tests.lab.test_lessons_clusters import CASES
from tests.lab.test_lessons_swap import CLUSTERS
from tests.lab.test_lessons_values import NUMBERS, PAIRS, WORDS
from tests.notebooks.course import NAMES

SSD = {"disk": "ssd"}
NODES: list[dict[str, Any]] = [
    {"name": "old", "labels": {"disk": "hdd"}},
    {"name": "gpu", "labels": SSD, "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
    {"name": "full", "labels": SSD},
    {"name": "closed", "labels": SSD, "unschedulable": True},
    {"name": "half", "labels": SSD},
    {"name": "lopsided", "labels": SSD, "cpu": 8, "memory": "4Gi"},
]
PODS: list[dict[str, Any]] = [
    {"name": "a", "node": "full", "cpu": "3800m"},
    {"name": "b", "node": "half", "cpu": 2, "memory": "8Gi"},
    {"name": "c", "node": "lopsided", "cpu": 1, "memory": "1Gi"},
    {"name": "web", "cpu": 1, "memory": "2Gi", "spec": {"nodeSelector": SSD}},
]
SCENE = Scenario.of({"nodes": NODES, "pods": PODS})
BOTH = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def packing(strategy: str, resources: list[dict[str, Any]] = BOTH, **more: Any) -> Any:
    fit = {"scoringStrategy": {"type": strategy, "resources": resources, **more}}
    return SCENE.decide(profile=Profile.default(NodeResourcesFit=fit))


def own(limit: int, name: str = "NotOnBigNodes", *, extra: str = "") -> Any:
    """web's decision with a plugin that refuses nodes of more CPUs than `limit`, and one by its name."""

    def filter_node(self: Any, asked: Any, node: Any, pods: Any) -> str | None:
        return "too good" if node.status.allocatable["cpu"].value() > limit or node.name == extra else None

    plugin = type(name, (NodePlugin,), {"name": name, "filter_node": filter_node})
    profiles = {"profiles": [{"plugins": {"filter": {"enabled": [{"name": name}]}}}]}
    return SCENE.decide(profile=Profile.load(profiles, own=[plugin])["default-scheduler"])


RAMP = {"requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}}
FIRST, ZONE = story("affinity-and-skew"), story("tainted-zone")
GATE = {"KitSpreadHonoursNodeAffinity": False}
DECIDED: dict[str, list[tuple[Any, str]]] = {
    "12 pack": [
        (lambda: packing("MostAllocated"), ""),
        (lambda: packing("RequestedToCapacityRatio", **RAMP), ""),
        (lambda: packing("MostAllocated", [{"name": "cpu", "weight": 1}]), ""),
        (lambda: SCENE.decide(), "must give it a higher score"),
        (lambda: packing("LeastAllocated"), "must give it a higher score"),
        (lambda: packing("LeastAllocated", [{"name": "cpu", "weight": 1}]), "must give it a higher score"),
        (lambda: "MostAllocated", "cannot be read"),
        (lambda: packing("MostAllocated").suggested_host, "cannot be read"),
    ],
    "12 own-plugin": [
        (lambda: own(4), ""),
        (lambda: own(7), ""),
        (lambda: own(5, extra="full"), ""),
        (lambda: SCENE.decide(), "must reject it"),
        (lambda: own(8), "must reject it"),
        (lambda: own(4, "Other"), "must reject it"),
        (lambda: own(4, extra="half"), "no node"),
        (lambda: own(1), "no node"),
        (lambda: "half", "cannot be read"),
    ],
    "16 sentence": [
        (lambda: compare(ZONE, "1.24", "1.26").sentence(), ""),
        (lambda: compare(story("12-tainted-zone"), "1.24", "1.26").sentence(), ""),
        (lambda: str(compare(ZONE, "1.24", "1.26").sentence()), ""),
        (lambda: compare(ZONE, "1.26", "1.24").sentence(), "earlier release first"),
        (lambda: compare(ZONE, "1.23", "1.26").sentence(), "earlier release first"),
        (lambda: compare(FIRST, "1.24", "1.26").sentence(), "earlier release first"),
        (lambda: "a gate", "earlier release first"),
        (lambda: 2, "earlier release first"),
    ],
    "16 by-gate": [
        (lambda: FIRST.decide("1.24", gates=GATE), ""),
        (lambda: story("01-affinity-and-skew").decide("1.24", gates=GATE), ""),
        (lambda: FIRST.decide(FIRST.release("1.24", GATE)), ""),
        (lambda: FIRST.decide("1.23"), "a decision of 1.23"),
        (lambda: FIRST.decide("1.36", gates=GATE), "a decision of 1.36"),
        (lambda: FIRST.decide("1.24"), "which gate"),
        (lambda: FIRST.decide("1.24", gates={"MinDomainsInPodTopologySpread": True}), "which gate"),
        (lambda: "worker4", "cannot be read"),
    ],
}


@pytest.mark.parametrize(
    ("exercise", "answer", "words"), [(key, *row) for key, rows in DECIDED.items() for row in rows]
)
def test_a_decision_is_judged(exercise: str, answer: Any, words: str) -> None:
    notebook, key = exercise.split()
    made = judged(content(notebook).exercises[key], answer(), None)
    assert made.right is (not words), made.text
    assert words in made.text


FREE = ["--cpu-cfs-quota=false"]


@pytest.mark.parametrize(
    ("flags", "made", "answer", "words"),
    [
        (FREE, pod("free-wheel", cpu_limit="200m", busy=1), None, ""),
        (FREE, pod("free-wheel", cpu="50m", cpu_limit="200m", busy=2), None, ""),
        (FREE, pod("free-wheel", cpu_limit="0.2", busy=1), "1.0", ""),
        ([], pod("free-wheel", cpu_limit="200m", busy=1), None, "writes quotas"),
        (FREE, pod("other", cpu_limit="200m", busy=1), 1, "no pod free-wheel"),
        (FREE, pod("free-wheel", busy=1), None, "needs a CPU limit"),
        (FREE, pod("free-wheel", cpu_limit="200m"), None, "measure"),
        (FREE, pod("free-wheel", cpu_limit="200m", busy=1), 0.2, "measure"),
    ],
)
def test_a_node_without_quotas_is_judged(flags: list[str], made: Any, answer: Any, words: str) -> None:
    with Cluster.simulated([{"name": "node-1", "cpus": 2, "memory": "1Gi", "kubelet": flags}]) as cluster:
        cluster.apply(made)
        cluster.advance(4)
        given = cpu_used(cluster)["free-wheel"] if answer is None else answer
        found = judged(content("03b").exercises["no-quota"], given, cluster)
    assert found.right is (not words) and words in found.text, found.text


@pytest.mark.parametrize(
    ("limit", "answer", "words"),
    [
        ("1", None, ""),
        ("600m", None, ""),
        ("1", "Pod QOS Class may not change", ""),
        ("1", "it is refused", "Catch the KitError"),
        ("1", "qos", "Catch the KitError"),
        ("1", True, "Catch the KitError"),
        ("", "no", "Catch the KitError"),
        ("1", 500, "Catch the KitError"),
        ("1", ["Guaranteed"], "Catch the KitError"),
    ],
)
def test_a_refused_resize_is_judged(limit: str, answer: Any, words: str) -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod("equal", cpu="500m", memory="64Mi", guaranteed=True))
        cluster.advance(3)
        said = ""
        try:
            cluster.resize("equal", {"main": {"limits": {"cpu": limit or "500m"}}})
        except KitError as error:
            said = str(error)
        found = judged(content("02").exercises["refusal"], said if answer is None else answer, cluster)
    assert found.right is (not words) and words in found.text, found.text


@pytest.mark.parametrize(
    ("gone", "answer", "words"),
    [
        (("a", "b"), "n1", ""),
        (("b", "a"), " n1", "name of d's node"),
        (("a", "b", "c"), "n1", ""),
        ((), "n1", "still waits"),
        (("c",), "n1", "which must end"),
        (("a", "b"), "n2", "name of d's node"),
        (("a", "b"), "d", "name of d's node"),
        (("a", "b", "d"), "n1", "no pod d"),
    ],
)
def test_a_queue_that_lets_one_more_go_is_judged(gone: tuple[str, ...], answer: str, words: str) -> None:
    settings: dict[str, Any] = {"gate_manager": {"hard": {"cpu": "2"}}}
    with Cluster.simulated([{"name": "n1", "cpus": 8, "memory": "1Gi"}], **settings) as cluster:
        cluster.apply([pod(name, cpu="1") for name in "abcd"])
        cluster.advance(10)
        for name in gone:
            cluster.delete("Pod", name, grace=0)
        cluster.advance(20)
        found = judged(content("15b").exercises["free"], answer, cluster)
    assert found.right is (not words) and words in found.text, found.text


@pytest.mark.parametrize(
    ("seconds", "answer", "words"),
    [
        (5, True, ""),
        (60, True, ""),
        (3, True, ""),
        (0, True, "still exists"),
        (0, False, "still exists"),
        (5, False, "Answer True"),
        (5, "yes", "Answer True"),
        (5, 1, "Answer True"),
    ],
)
def test_an_orphan_that_has_gone_is_judged(seconds: float, answer: Any, words: str) -> None:
    with Cluster.simulated(1) as cluster:
        cluster.advance(2)
        orphan = "/kubepods/besteffort/pod11111111-1111-1111-1111-111111111111"
        cluster.node().cgroupfs.makedirs(f"{orphan}/child")
        cluster.advance(seconds)
        found = judged(content("10").exercises["nested"], answer, cluster)
    assert found.right is (not words) and words in found.text, found.text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (["web-0", "web-1"], ""),
        (("web-1", "web-0"), ""),
        ({"web-0": 999, "web-1": 999}, ""),
        (["web-0"], "each running pod"),
        (["db-0"], "about 500"),
        (["web-0", "web-1", "db-0"], "about 500"),
        ([], "each running pod"),
        ("web-0", "each running pod"),
    ],
)
def test_the_most_fragile_pods_are_judged(answer: Any, words: str) -> None:
    with Cluster.simulated([{"name": "n", "cpus": 8, "memory": "8Gi"}]) as cluster:
        cluster.apply([pod("web-0", cpu="100m"), pod("web-1", cpu="100m"), pod("db-0", cpu="1", memory="4Gi")])
        cluster.advance(5)
        found = judged(content("17").exercises["fragile"], answer, cluster)
    assert found.right is (not words) and words in found.text, found.text


HERE = {"03b no-quota", "02 refusal", "15b free", "10 nested", "17 fragile", "18 mend", "19 mend", "24 release"}
"""Judged by the tests above, and by those of test_lessons_workloads.py."""
TABLED = {name.partition("-")[0] for name in NAMES}


def test_every_exercise_is_in_a_table_with_right_and_wrong_answers() -> None:
    there = {f"{number} {key}" for number in TABLED for key in content(number).exercises}
    tabled = {*NUMBERS, *WORDS, *PAIRS, *CASES, *DECIDED, *CLUSTERS, *HERE}
    assert there - tabled == set(), "an exercise without a table of answers"
    assert {one for one in tabled if one.split()[0] in TABLED} - there == set(), "answers to an exercise that has gone"
    for exercise, rows in (CASES | DECIDED | CLUSTERS).items():
        right = sum(not words for _, words in rows)
        assert right >= 3 and len(rows) - right >= 5, exercise

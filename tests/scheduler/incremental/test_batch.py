"""Like pods in a batch get the decisions that a whole cycle for each of them makes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Node, Pod, Service
from kitlib.api.serialize import from_dict
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.framework.plugin import Affected, Plugin
from kitlib.scheduler.framework.status import Code, Verdicts
from kitlib.scheduler.incremental.batch import LaterAnswers, no_batches
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
AMOUNTS = ("100m", "150m", "900m", "30m")
EXAMPLES = int(os.environ.get("KITLIB_SEQUENCES", "60"))


def node(number: int, zone: int | None, cpu: int, tainted: str, disk: bool, pods: int) -> Node:
    name = f"n{number}"
    labels = {HOSTNAME: name} | ({ZONE: f"z{zone}"} if zone is not None else {}) | ({"disk": "ssd"} if disk else {})
    made: Node = from_dict(
        {
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": "k", "value": "v", "effect": tainted}] if tainted else []},
            "status": {
                "allocatable": {"cpu": f"{cpu}", "memory": "4Gi", "pods": str(pods)},
                "images": [{"names": ["app:1"], "sizeBytes": 500_000_000}] if disk else [],
            },
        },
        Node,
    )
    return made


nodes = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 2, None]),
        st.integers(1, 4),
        st.sampled_from(["", "", "", "NoSchedule", "PreferNoSchedule"]),
        st.booleans(),
        st.sampled_from([3, 110]),
    ),
    min_size=1,
    max_size=7,
).map(lambda rows: [node(i, *row) for i, row in enumerate(rows)])
_selector = {"matchLabels": {"app": "a"}}
kinds = st.fixed_dictionaries(
    {
        "app": st.sampled_from(["a", "b"]),
        "cpu": st.sampled_from(["", "100m", "700m"]),
        "priority": st.sampled_from([0, 0, 10]),
        "spread": st.lists(
            st.tuples(
                st.sampled_from([HOSTNAME, ZONE]),
                st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
                st.integers(1, 2),
            ),
            max_size=2,
            unique_by=lambda one: one[:2],
        ),
        "anti": st.sampled_from(["", "", HOSTNAME, ZONE]),
        "near": st.sampled_from(["", "", "", ZONE]),
        "likes": st.sampled_from(["", "", HOSTNAME, ZONE]),
        "prefers_ssd": st.booleans(),
        "tolerates": st.booleans(),
        "port": st.sampled_from([0, 0, 0, 80]),
    }
)


def pod(number: int, kind: dict[str, Any]) -> Pod:
    term = {"labelSelector": _selector}
    affinity: dict[str, Any] = {}
    if kind["anti"]:
        affinity["podAntiAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": [{**term, "topologyKey": kind["anti"]}]
        }
    near: dict[str, Any] = {}
    if kind["near"]:
        near["requiredDuringSchedulingIgnoredDuringExecution"] = [{**term, "topologyKey": kind["near"]}]
    if kind["likes"]:
        wish = {"weight": 7, "podAffinityTerm": {**term, "topologyKey": kind["likes"]}}
        near["preferredDuringSchedulingIgnoredDuringExecution"] = [wish]
    if near:
        affinity["podAffinity"] = near
    if kind["prefers_ssd"]:
        wanted = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
        affinity["nodeAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": wanted}]
        }
    container: dict[str, Any] = {"name": "c", "image": "app:1"}
    if kind["cpu"]:
        container["resources"] = {"requests": {"cpu": kind["cpu"], "memory": "300Mi"}}
    if kind["port"]:
        container["ports"] = [{"containerPort": 80, "hostPort": kind["port"]}]
    return from_dict(
        {
            "metadata": {"name": f"p{number}", "namespace": "d", "uid": f"u{number}", "labels": {"app": kind["app"]}},
            "spec": {
                "containers": [container],
                "priority": kind["priority"],
                "affinity": affinity,
                "tolerations": [{"operator": "Exists"}] if kind["tolerates"] else [],
                "topologySpreadConstraints": [
                    {"topologyKey": key, "whenUnsatisfiable": what, "maxSkew": skew, "labelSelector": _selector}
                    for key, what, skew in kind["spread"]
                ],
            },
        },
        Pod,
    )


def same(one: Decision, other: Decision) -> None:
    """Every answer of every plugin, the choice and the words are equal."""
    assert one.suggested_host == other.suggested_host
    assert one.message == other.message
    assert one.evaluated_nodes == other.evaluated_nodes
    assert one.feasible == other.feasible
    assert one.filter_rows() == other.filter_rows()
    assert [one.statuses(name) for name in one.nodes] == [other.statuses(name) for name in other.nodes]
    assert one.unschedulable_plugins == other.unschedulable_plugins
    assert one.to_json() == other.to_json()
    assert (one.scores is None) == (other.scores is None)
    if one.scores is not None and other.scores is not None:
        assert list(one.scores.raw) == list(other.scores.raw)
        assert np.array_equal(one.scores.total, other.scores.total)
    assert one.nominated == other.nominated
    assert (one.post_filter is None) == (other.post_filter is None)
    if one.post_filter is not None and other.post_filter is not None:
        assert list(one.post_filter.candidates) == list(other.post_filter.candidates)
        assert one.post_filter.best == other.post_filter.best
    assert [victim.key for victim in one.victims] == [victim.key for victim in other.victims]
    assert one.binding is None or one.binding.asked == other.binding.asked  # type: ignore[union-attr]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("pods"), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.just("amounts"), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.just("remove"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("taint"), st.integers(0, 6), st.just(0)),
        st.tuples(st.just("nominate"), st.integers(0, 6), st.just(0)),
    ),
    min_size=2,
    max_size=8,
)


@settings(max_examples=EXAMPLES)
@given(
    nodes,
    st.lists(kinds, min_size=3, max_size=3),
    steps,
    st.sampled_from(["1.23", "1.26", "1.29", "1.36"]),
    st.sampled_from([None, 3]),
)
def test_random_clusters_decide_the_same_with_and_without_batches(
    cluster: list[Node], made: list[dict[str, Any]], todo: list[Any], release: str, seed: int | None
) -> None:
    both = [
        Scheduler(cluster, release=release, seed=seed, batching=batching, namespaces={"d": {}})
        for batching in (True, False)
    ]
    decisions: list[tuple[Decision, Decision]] = []
    number = 0
    for what, which, many in todo:
        if what in ("pods", "amounts"):
            for _ in range(many):
                number += 1
                kind = made[which] if what == "pods" else made[which] | {"cpu": AMOUNTS[number % len(AMOUNTS)]}
                one, other = (scheduler.schedule(pod(number, kind)) for scheduler in both)
                decisions.append((one, other))
        elif what == "remove" and which in range(1, number + 1):
            for scheduler in both:
                scheduler.remove_pod(pod(which, made[0]))
        elif what == "taint":
            for scheduler in both:
                old = cluster[which % len(cluster)]
                changed: Node = from_dict({"metadata": {"name": old.name, "labels": old.metadata.labels}}, Node)
                changed.status = old.status
                scheduler.update_node(changed)
        elif what == "nominate":
            waiting = pod(1000, made[0])
            for scheduler in both:
                scheduler.nominate(waiting, cluster[which % len(cluster)].name)
                if many == 0 and which % 2:
                    scheduler.forget_nomination(waiting)
    for one, other in decisions:
        same(one, other)


def like(number: int, **changes: Any) -> Pod:
    base = {
        "app": "a",
        "cpu": "100m",
        "priority": 0,
        "spread": [],
        "anti": "",
        "near": "",
        "likes": "",
        "prefers_ssd": False,
        "tolerates": False,
        "port": 0,
    }
    return pod(number, base | changes)


def three() -> list[Node]:
    return [node(i, i, 4, "", False, 110) for i in range(3)]


def batched(decision: Decision) -> bool:
    return isinstance(decision.answers, LaterAnswers)


def test_from_the_second_like_pod_on_a_batch_is_used() -> None:
    scheduler = Scheduler(three())
    assert [batched(scheduler.schedule(like(i))) for i in range(4)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("sentence", "changes"),
    [
        ("another label", {"app": "b"}),
        ("another resource", {"cpu": ""}),
        ("a spread constraint more", {"spread": [(ZONE, "DoNotSchedule", 1)]}),
        ("a toleration", {"tolerates": True}),
        ("another priority", {"priority": 5}),
    ],
)
def test_a_pod_that_differs_is_placed_by_a_whole_cycle(sentence: str, changes: dict[str, Any]) -> None:
    scheduler = Scheduler(three())
    for i in range(3):
        scheduler.schedule(like(i))
    assert not batched(scheduler.schedule(like(9, **changes)))


def test_pods_that_differ_in_amounts_alone_share_what_does_not_follow_from_amounts() -> None:
    scheduler = Scheduler(three())
    assert [batched(scheduler.schedule(like(i, cpu=f"{100 + i}m"))) for i in range(4)] == [False, True, True, True]
    assert {info.requests["cpu"] for info in scheduler.pods.values()} == {100, 101, 102, 103}


class OddNodesOnly(NodePlugin):
    """Says nothing of which answers a placement changes."""

    name = "OddNodesOnly"

    def filter_node(self, info: Any, node: Node, pods: Any) -> Any:
        return None if int(node.name[1:]) % 2 else (Code.Unschedulable, "even")


class Quiet(Plugin):
    """Passes all and says that nothing changes its answers."""

    name = "Quiet"

    def affected_by_placement(self, info: Any, context: Any) -> Affected:
        return Affected.NOTHING

    def filter(self, state: Any, info: Any, context: Any, rows: Any) -> Verdicts:
        return Verdicts.passing(len(rows))


def profile_with(plugin: Plugin) -> Profile:
    made = Profile.default()
    made.plugins.append(plugin)
    return made


def test_a_plugin_of_ones_own_switches_batches_off_unless_it_says_what_a_placement_changes() -> None:
    for plugin, expected in ((OddNodesOnly(), False), (Quiet(), True)):
        scheduler = Scheduler(three(), profile=profile_with(plugin))
        assert [batched(scheduler.schedule(like(i))) for i in range(3)][-1] is expected


def test_batches_can_be_switched_off_for_all_schedulers_that_are_made() -> None:
    with no_batches():
        off = Scheduler(three())
    on = Scheduler(three())
    assert [batched(scheduler.schedule(like(i))) for scheduler in (off, on) for i in range(3)] == [False] * 4 + [
        True
    ] * 2


def test_host_ports_and_extenders_switch_batches_off() -> None:
    scheduler = Scheduler(three())
    assert not any(batched(scheduler.schedule(like(i, port=80))) for i in range(3))


def test_what_a_caller_does_to_its_pod_afterwards_changes_nothing() -> None:
    scheduler = Scheduler(three())
    pods = [like(i) for i in range(3)]
    for one in pods:
        scheduler.schedule(one)
        one.metadata.labels["app"] = "changed"
        one.spec.containers[0].resources.requests.clear()
    assert {info.pod.metadata.labels["app"] for info in scheduler.pods.values()} == {"a"}
    assert {info.requests["cpu"] for info in scheduler.pods.values()} == {100}
    assert not batched(scheduler.schedule(pods[0]))


def test_a_service_that_comes_makes_default_spreading_count() -> None:
    both = [Scheduler(three(), batching=batching) for batching in (True, False)]
    service = from_dict({"metadata": {"name": "s", "namespace": "d"}, "spec": {"selector": {"app": "a"}}}, Service)
    for i in range(8):
        if i == 4:
            for scheduler in both:
                scheduler.set_objects(services=[service])
        same(*(scheduler.schedule(like(i)) for scheduler in both))


def test_answers_are_those_of_their_time_however_late_one_looks() -> None:
    both = [Scheduler(three(), batching=batching) for batching in (True, False)]
    decisions = [tuple(scheduler.schedule(like(i)) for scheduler in both) for i in range(600 // 10)]
    for scheduler in both:
        scheduler.remove_pod(like(3))
    for one, other in reversed(decisions):
        same(one, other)


@pytest.mark.parametrize("seed", range(5))
def test_a_pod_that_requests_what_no_node_offers_does_not_mix_up_what_is_known_of_others(seed: int) -> None:
    """Its resource is a new column, so the amounts of all rows are numbered anew."""
    cpus = [(seed * 7 + number * 5) % 11 + 2 for number in range(6)]
    chosen = []
    for batching in (True, False):
        scheduler = Scheduler([node(i, None, cpu, "", False, 110) for i, cpu in enumerate(cpus)], batching=batching)
        found = []
        for number in range(24):
            if number == 10:
                other = {"cpu": "3", "example.com/other": "1"}
                scheduler.add_pod(_plain("other", other, node=f"n{seed}"))
            found.append(scheduler.schedule(_plain(f"p{number}", {"cpu": "1"})).suggested_host)
        chosen.append(found)
    assert chosen[0] == chosen[1] and set(chosen[0]) != {chosen[0][0]}


def _plain(name: str, requests: dict[str, str], node: str = "") -> Pod:
    extended = {key: amount for key, amount in requests.items() if "/" in key}
    containers = [{"name": "c", "image": "app:1", "resources": {"requests": requests, "limits": extended}}]
    spec = {"containers": containers} | ({"nodeName": node} if node else {})
    made: Pod = from_dict({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}, Pod)
    return made

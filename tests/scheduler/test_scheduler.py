"""The scheduler as a user meets it: decisions, own plugins, profiles, and rules that always hold."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict, load
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.stepper import Stepper

ZONE = "topology.kubernetes.io/zone"


def node(name, cpu="4", memory="8Gi", *, zone="", taints=(), **labels):
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **({ZONE: zone} if zone else {}), **labels}}
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    return from_dict({"metadata": meta, "spec": {"taints": list(taints)}, "status": {"allocatable": allocatable}}, Node)


def pod(name, cpu="100m", *, on="", priority=None, labels=None, **spec):
    requests = {"cpu": cpu, "memory": "64Mi"}
    data = {
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels or {"app": "a"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
    }
    made = from_dict(data, Pod)
    made.spec.node_name, made.spec.priority = on, priority
    return made


def spread(skew=1, action="DoNotSchedule", key=ZONE, **more):
    selector = {"matchLabels": {"app": "a"}}
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector, **more}]


@pytest.fixture
def three():
    return [
        node("a", zone="z1", disk="ssd"),
        node("b", zone="z1", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
        node("c", "500m", zone="z2"),
    ]


def test_a_decision_says_why_for_every_node_and_plugin(three):
    decision = Scheduler(three).explain(pod("p", "1"))
    assert decision.feasible == ["a"] and decision.suggested_host == "a"
    frame = decision.filter_frame()
    assert frame.loc["b", "TaintToleration"] == "node(s) had untolerated taint(s)"
    assert frame.loc["c", "NodeResourcesFit"] == "Insufficient cpu"
    assert frame.loc["a", "NodeResourcesFit"] == "passed"
    assert decision.reasons_of("c") == ["Insufficient cpu"]
    assert "1 of 3 nodes pass every filter" in decision.explain()


def test_scores_stand_in_a_frame_and_add_up(three):
    decision = Scheduler([node("a"), node("b", "8")]).explain(pod("p"))
    frame = decision.score_frame()
    weighted = frame.xs("weighted", axis=1, level=1).sum(axis=1)
    assert list(weighted) == list(frame["total", ""])
    assert decision.best == list(frame.index[frame["total", ""] == frame["total", ""].max()])


def test_a_failure_reads_as_the_event_does(three):
    decision = Scheduler(three).explain(pod("p", "9", nodeSelector={"disk": "ssd"}))
    assert (
        decision.message.startswith(
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector."
        )
        or "untolerated" in decision.message
    )


def test_preemption_names_victims_and_leaves_the_cluster_as_it_was(three):
    low = [pod(f"low{i}", "2", on="a", priority=0) for i in range(2)]
    scheduler = Scheduler(three[:1], low)
    decision = scheduler.explain(pod("high", "3", priority=100))
    assert decision.nominated == "a"
    assert sorted(v.name for v in decision.victims) == ["low0", "low1"]
    assert "makes room on a" in decision.explain()
    assert scheduler.explain(pod("high", "3", priority=100)).nominated == "a"


def test_the_simulators_annotations_carry_the_same(three):
    data = json.loads(Scheduler(three).explain(pod("p", "1")).to_json())
    prefix = "kube-scheduler-simulator.sigs.k8s.io/"
    assert data[prefix + "selected-node"] == "a"
    assert json.loads(data[prefix + "filter-result"])["c"]["NodeResourcesFit"] == "Insufficient cpu"


class OnlySSD(NodePlugin):
    name = "OnlySSD"

    def filter_node(self, pod, node, pods):
        return None if node.metadata.labels.get("disk") == "ssd" else "node(s) without ssd"


class FewestPods(NodePlugin):
    name = "FewestPods"

    def score_node(self, pod, node, pods):
        return 100 - 10 * len(pods)


def profile(*plugins, **weights):
    enabled = [{"name": p.name, "weight": weights.get(p.name)} for p in plugins]
    return Profile.from_configuration({"plugins": {"multiPoint": {"enabled": enabled}}}, own=plugins)


def test_a_plugin_of_five_lines_filters(three):
    decision = Scheduler(three, profile=profile(OnlySSD)).explain(pod("p"))
    assert decision.feasible == ["a"]
    assert decision.reasons_of("c") == ["node(s) without ssd"]


def test_a_plugin_of_five_lines_scores():
    nodes = [node("a", "64", "64Gi"), node("b", "4")]
    standing = [pod(f"p{i}", "1m", on="a") for i in range(5)]
    scheduler = Scheduler(nodes, standing, profile=profile(FewestPods, FewestPods=50))
    assert scheduler.explain(pod("p")).suggested_host == "b"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"plugins": {"multiPoint": {"enabled": [{"name": "Nope"}]}}}, '"Nope": unknown plugin'),
        ({"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": -1}]}}}, "weight: Invalid value: -1"),
        ({"pluginConfig": [{"name": "Nope"}]}, "unknown plugin"),
        ({"percentageOfNodesToScore": 101}, "not in valid range"),
        (
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}]},
            'Unsupported value: "Best"',
        ),
        (
            {"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]},
            "not in valid range [0, 100]",
        ),
    ],
)
def test_a_wrong_profile_is_refused(data, problem):
    with pytest.raises(KitError) as caught:
        Profile.from_configuration(data)
    assert problem in str(caught.value)


def test_disabled_plugins_do_not_run(three):
    data = {"plugins": {"multiPoint": {"disabled": [{"name": "TaintToleration"}]}}}
    decision = Scheduler(three, profile=Profile.from_configuration(data)).explain(pod("p"))
    assert "b" in decision.feasible


def test_most_allocated_packs_pods_together():
    args = {"scoringStrategy": {"type": "MostAllocated"}}
    nodes, standing = [node("a"), node("b")], [pod("x", "2", on="b")]
    assert Scheduler(nodes, standing).explain(pod("p")).suggested_host == "a"
    packing = Profile.default(NodeResourcesFit=args)
    packing.weights["NodeResourcesFit"] = 10
    assert Scheduler(nodes, standing, profile=packing).explain(pod("p")).suggested_host == "b"


def test_a_seed_makes_the_choice_between_equals_repeatable():
    nodes = [node(f"n{i}") for i in range(10)]
    chosen = [[Scheduler(nodes, seed=s).explain(pod("p")).suggested_host for _ in range(2)] for s in range(8)]
    assert all(first == second for first, second in chosen)
    assert len({first for first, _ in chosen}) > 1


def test_explain_tells_the_next_choice_and_does_not_change_it():
    nodes = [node(f"n{i}") for i in range(10)]
    for seed in range(8):
        asked = Scheduler(nodes, seed=seed)
        told = {asked.explain(pod("p")).suggested_host for _ in range(3)}
        assert told == {asked.schedule(pod("p")).suggested_host}
        assert told == {Scheduler(nodes, seed=seed).schedule(pod("p")).suggested_host}


def test_two_nodes_of_one_name_are_refused():
    with pytest.raises(KitError, match="more than once"):
        Scheduler([node("a"), node("a")])


PODS = st.lists(st.integers(1, 30), min_size=1, max_size=40)


@settings(max_examples=30)
@given(PODS)
def test_no_node_is_ever_given_more_than_it_has(sizes):
    scheduler = Scheduler([node(f"n{i}", "2") for i in range(3)])
    for i, size in enumerate(sizes):
        scheduler.schedule(pod(f"p{i}", f"{size * 100}m"))
    assert (scheduler.snapshot.requested["cpu"] <= scheduler.snapshot.allocatable["cpu"]).all()


@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(1, 25), st.integers(2, 4))
def test_a_hard_constraint_keeps_the_skew(skew, count, zones):
    scheduler = Scheduler([node(f"n{i}", "64", zone=f"z{i % zones}") for i in range(zones * 2)])
    placed: Counter[str] = Counter({f"z{i}": 0 for i in range(zones)})
    for i in range(count):
        decision = scheduler.schedule(pod(f"p{i}", "1m", topologySpreadConstraints=spread(skew)))
        placed[f"z{int(decision.suggested_host[1:]) % zones}"] += 1
        assert max(placed.values()) - min(placed.values()) <= skew


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6), st.integers(0, 4))
def test_victims_are_less_important_and_make_room(standing, priority):
    pods = [pod(f"s{i}", str(cpu), on=f"n{i % 2}", priority=p) for i, (p, cpu) in enumerate(standing)]
    nodes = [node("n0", "8"), node("n1", "8")]
    scheduler = Scheduler(nodes, pods)
    wanted = pod("new", "6", priority=priority)
    decision = scheduler.explain(wanted)
    if decision.nominated:
        assert all((v.spec.priority or 0) < priority for v in decision.victims)
        for victim in decision.victims:
            scheduler.remove_pod(victim)
        assert decision.nominated in scheduler.explain(wanted).feasible


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_what_is_kept_between_cycles_is_what_would_be_computed_anew(actions):
    nodes = [node(f"n{i}", zone=f"z{i % 2}") for i in range(4)]
    kept, standing = Scheduler(nodes), []
    for i, add in enumerate(actions):
        if add or not standing:
            new = pod(f"p{i}", "200m", topologySpreadConstraints=spread(2))
            decision = kept.schedule(new)
            fresh = Scheduler(nodes, standing).explain(new)
            assert (decision.suggested_host, decision.message) == (fresh.suggested_host, fresh.message)
            if decision.suggested_host:
                new.spec.node_name = decision.suggested_host
                standing.append(new)
        else:
            kept.remove_pod(standing.pop(0))


def test_a_manifest_from_kubectl_is_enough(tmp_path):
    objects = load("kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{name: c}]}")
    assert Scheduler([node("a")]).explain(objects[0]).suggested_host == "a"


def test_a_cycle_can_be_walked_forwards_and_back(three):
    stepper = Stepper(Scheduler(three).explain(pod("p", "1")))
    points = [step.point for step in stepper.steps]
    assert points == sorted(points, key=["PreFilter", "Filter", "Score", "Bind"].index)
    first = stepper.current
    assert stepper.forward() is not first and stepper.back() is first and stepper.back() is first
    taint = next(step for step in stepper.steps if (step.point, step.plugin) == ("Filter", "TaintToleration"))
    assert taint.text == "rejects b: node(s) had untolerated taint(s)" and taint.left == ("a", "c")
    assert stepper.steps[-1].text == "the pod goes to a"


def test_a_failed_cycle_ends_with_preemption():
    low = pod("low", "4", on="a", priority=0)
    stepper = Stepper(Scheduler([node("a")], [low]).explain(pod("high", "2", priority=9)))
    assert stepper.steps[-1].text == "nominates a; default/low must go"

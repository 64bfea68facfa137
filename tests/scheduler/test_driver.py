"""The scheduler at work on a clock: queues, events that wake pods, preemption over two cycles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import PodSchedulingGate
from kitlib.api.errors import AlreadyExists, NotFound
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.driver import Driver
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import Code, Status
from kitlib.scheduler.profile import Profile
from kitlib.study.scenario import node_of, pod_of

WAIT = {"activeQ": [], "backoffQ": [], "unschedulable": [], "gated": []}


def driver(nodes=({"name": "n", "cpu": 1},), pods=(), **settings):
    return Driver([node_of(one) for one in nodes], [pod_of(one) for one in pods], **settings)


def said(driver, reason):
    return [entry.pod for entry in driver.log if entry.reason == reason]


def test_the_most_important_pod_goes_first_and_equals_in_their_order():
    pods = [{"name": "a"}, {"name": "b"}, {"name": "vip", "priority": 9}]
    work = driver(pods=pods)
    assert work.waiting()["activeQ"] == ["vip", "a", "b"]
    assert [decision.pod.name for decision in work.run()] == ["vip", "a", "b"]
    assert work.waiting() == WAIT


def test_a_step_is_a_cycle_or_time_passing_and_ends():
    work = driver(pods=[{"name": "a", "cpu": 1}])
    assert work.step() == "default/a: goes to n"
    assert work.step() == ""
    assert work.clock.now_ms() == 0


def test_a_refused_pod_waits_until_room_is_made():
    work = driver(pods=[{"name": "first", "node": "n", "cpu": 1}, {"name": "second", "cpu": 1}])
    work.run(10)
    assert work.waiting()["unschedulable"] == ["second"]
    work.delete_pod("first")
    assert said(work, "AssignedPodDelete") == ["default/first"]
    work.run(10)
    assert work.pod("second").spec.node_name == "n"


@pytest.mark.parametrize(
    ("release", "queue"),
    [("1.36", "unschedulable"), ("1.31", "backoffQ")],
    ids=["a hint dismisses the event", "without hints every registered event counts"],
)
def test_queueing_hints_decide_whether_an_event_wakes_a_pod(release, queue):
    work = driver(pods=[{"name": "big", "cpu": 3}], release=release)
    work.run(0)
    work.add_node(node_of({"name": "small", "cpu": 2}))
    assert work.waiting()[queue] == ["big"]


def test_a_larger_node_wakes_a_pod_that_was_too_large():
    work = driver(pods=[{"name": "big", "cpu": 3}])
    work.run(0)
    work.update_node(node_of({"name": "n", "cpu": 4}))
    work.run(5)
    assert work.pod("big").spec.node_name == "n"


def test_a_taint_that_goes_wakes_a_pod():
    taint = {"key": "k", "effect": "NoSchedule"}
    work = driver([{"name": "n", "taints": [taint]}], [{"name": "p"}])
    work.run(0)
    work.update_node(node_of({"name": "n", "labels": {"other": "label"}, "taints": [taint]}))
    assert work.waiting()["unschedulable"] == ["p"]
    work.update_node(node_of({"name": "n"}))
    work.run(5)
    assert work.pod("p").spec.node_name == "n"


def test_a_pod_that_tolerates_now_is_tried_again():
    work = driver([{"name": "n", "taints": [{"key": "k", "effect": "NoSchedule"}]}], [{"name": "p"}])
    work.run(0)
    changed = pod_of({"name": "p", "spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}})
    work.update_pod(changed)
    work.run(5)
    assert work.pod("p").spec.node_name == "n"


def test_the_neighbour_that_an_affinity_asks_for_wakes_a_pod():
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
            ]
        }
    }
    work = driver(pods=[{"name": "web", "spec": {"affinity": affinity}}])
    work.run(0)
    work.add_pod(pod_of({"name": "other", "node": "n", "labels": {"app": "cache"}}))
    assert work.waiting()["unschedulable"] == ["web"]
    work.add_pod(pod_of({"name": "db", "node": "n", "labels": {"app": "db"}}))
    work.run(5)
    assert work.pod("web").spec.node_name == "n"


def test_after_five_minutes_a_pod_is_tried_although_nothing_has_happened():
    work = driver(pods=[{"name": "big", "cpu": 3}])
    assert len(work.run(329)) == 1
    assert len(work.run(2)) == 1
    assert said(work, "UnschedulableTimeout") == ["default/big"]


def test_in_1_23_it_is_tried_again_after_one_minute():
    work = driver(pods=[{"name": "big", "cpu": 3}], release="1.23")
    assert len(work.run(89)) == 1
    assert len(work.run(2)) == 1
    assert work.log[-2].message == "default/big has waited for a minute"


def test_backoff_ends_by_the_clock_where_nothing_is_taken_early():
    work = driver(pods=[{"name": "big", "cpu": 3}], release="1.30")
    work.run(0)
    work.add_node(node_of({"name": "other", "cpu": 1}))
    assert work.waiting()["backoffQ"] == ["big"]
    work.pass_time(0.9)
    assert work.waiting()["backoffQ"] == ["big"]
    work.pass_time(0.1)
    assert (work.waiting()["activeQ"], said(work, "BackoffComplete")) == (["big"], ["default/big"])


def test_preemption_takes_two_cycles_and_holds_the_room_in_between():
    pods = [{"name": "low", "node": "n", "cpu": 1}, {"name": "vip", "cpu": 1, "priority": 9}]
    work = driver(pods=pods, exit_after_s=5)
    first = work.cycle()
    assert (first.nominated, [pod.name for pod in first.victims]) == ("n", ["low"])
    assert work.pod("vip").status.nominated_node_name == "n"
    victim = work.pod("low")
    assert victim.metadata.deletion_timestamp is not None
    assert [c.reason for c in victim.status.conditions if c.type == "DisruptionTarget"] == ["PreemptionByScheduler"]
    work.add_pod(pod_of({"name": "sneaky", "cpu": 1}))
    work.run(4.9)
    assert "default/low" in work.pods
    work.run(10)
    assert (work.pod("vip").spec.node_name, work.pod("vip").status.nominated_node_name) == ("n", "")
    assert work.waiting()["unschedulable"] == ["sneaky"]


def test_a_victim_without_grace_is_gone_at_once():
    low = {"name": "low", "node": "n", "cpu": 1, "spec": None}
    low["spec"] = {"terminationGracePeriodSeconds": 0}
    work = driver(pods=[low, {"name": "vip", "cpu": 1, "priority": 9}], exit_after_s=5)
    work.cycle()
    assert "default/low" not in work.pods


def test_a_gated_pod_enters_when_its_last_gate_goes():
    gated = {"name": "p", "spec": {"schedulingGates": [{"name": "a.io/x"}, {"name": "a.io/y"}]}}
    work = driver(pods=[gated], release="1.30")
    assert (work.run(60), work.waiting()["gated"]) == ([], ["p"])
    for left in ([PodSchedulingGate(name="a.io/y")], []):
        changed = deepcopy(work.pod("p"))
        changed.spec.scheduling_gates = left
        work.update_pod(changed)
        assert work.waiting()["activeQ"] == ([] if left else ["p"])
    work.run()
    assert said(work, "FailedScheduling") == []
    assert work.pod("p").spec.node_name == "n"


def test_a_removed_node_takes_its_pods_along():
    work = driver([{"name": "n"}, {"name": "m"}], [{"name": "p", "node": "n"}])
    work.remove_node("n")
    assert work.pods == {}
    work.add_pod(pod_of({"name": "q"}))
    work.run()
    assert work.pod("q").spec.node_name == "m"


class Hold(Plugin):
    name = "Hold"

    def permit(self, info, node):
        return Status(Code.Wait, ("wait for the others",))


@pytest.mark.parametrize("bound", [True, False], ids=["allowed", "refused"])
def test_a_permit_plugin_holds_a_pod_until_it_is_allowed_or_refused(bound):
    own = Profile.from_configuration({"plugins": {"multiPoint": {"enabled": [{"name": "Hold"}]}}}, own=[Hold])
    work = driver(pods=[{"name": "p"}], profile=own)
    work.cycle()
    assert said(work, "WaitingOnPermit") == ["default/p"]
    if bound:
        work.allow("p")
        assert work.pod("p").spec.node_name == "n"
    else:
        work.reject("p", "changed my mind")
        assert work.waiting()["backoffQ"] == ["p"], "its own nomination ends, an event that helps it too"
        assert "changed my mind" in [entry.message for entry in work.log[-3:]]


def test_mistakes_are_named():
    work = driver(pods=[{"name": "p"}])
    with pytest.raises(AlreadyExists):
        work.add_pod(pod_of({"name": "p"}))
    for call in (lambda: work.pod("q"), lambda: work.delete_pod("q"), lambda: work.remove_node("q")):
        with pytest.raises(NotFound):
            call()


def test_the_callers_objects_are_left_alone():
    pod = pod_of({"name": "p", "cpu": 9})
    work = Driver([node_of({"name": "n"})], [pod])
    work.run(5)
    assert (pod.spec.node_name, pod.status.conditions) == ("", [])
    assert [c.message for c in work.pod("p").status.conditions] == [work.decisions["default/p"].message]


def test_the_same_events_give_the_same_log():
    def play():
        work = driver(pods=[{"name": f"p{i}", "cpu": "300m", "priority": i % 3} for i in range(6)], seed=3)
        work.run(20)
        return [str(entry) for entry in work.log]

    assert play() == play()


PODS = st.lists(
    st.tuples(st.sampled_from(["200m", "500m", "1", "3"]), st.integers(0, 3), st.booleans()), min_size=1, max_size=14
)


def _milli(pods):
    return sum(pod.spec.containers[0].resources.requests["cpu"].milli_value() for pod in pods)


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3), entries=PODS, release=st.sampled_from(["1.23", "1.36"])
)
def test_whatever_happens_nodes_are_not_overfull_and_importance_counts(sizes, entries, release):
    nodes = [{"name": f"n{i}", "cpu": size} for i, size in enumerate(sizes)]
    work = driver(nodes, release=release)
    for i, (cpu, priority, pause) in enumerate(entries):
        never = {"preemptionPolicy": "Never"} if i % 5 == 4 else {}
        work.add_pod(pod_of({"name": f"p{i}", "cpu": cpu, "priority": priority, "spec": never}))
        if pause:
            work.run(2)
        for node, size in zip(nodes, sizes, strict=True):
            standing = [pod for pod in work.pods.values() if pod.spec.node_name == node["name"]]
            assert _milli(standing) <= size * 1000
    work.run(900)
    waiting = [pod for pod in work.pods.values() if not pod.spec.node_name]
    for pod in waiting:  # nobody stands in the way who is less important, unless the pod never preempts
        assert work.scheduler.explain(deepcopy(pod)).suggested_host == ""
        for node, size in zip(nodes, sizes, strict=True):
            more = [
                p
                for p in work.pods.values()
                if p.spec.node_name == node["name"] and p.spec.priority >= pod.spec.priority
            ]
            if pod.spec.preemption_policy != "Never":
                assert _milli(more) + _milli([pod]) > size * 1000


@pytest.mark.parametrize("release", ["1.35", "1.36"])
def test_a_node_that_only_a_nominated_pod_fills_is_no_candidate(release):
    work = driver([{"name": "n0", "cpu": 2}], release=release)
    work.add_pod(pod_of({"name": "low", "cpu": "600m", "priority": 0}))
    work.add_pod(pod_of({"name": "high", "cpu": "700m", "priority": 5}))
    work.run(2)
    work.add_pod(pod_of({"name": "first", "cpu": "800m", "priority": 3}))
    work.add_pod(pod_of({"name": "second", "cpu": "600m", "priority": 2}))
    work.step()
    work.step()
    assert work.pod("first").status.nominated_node_name == "n0"
    said = "preemption: 0/1 nodes are available: 1 Insufficient cpu."
    assert work.decisions["default/second"].message.endswith(said)
    work.run(10)
    assert [work.pod(name).spec.node_name for name in ("first", "second")] == ["n0", ""]


@settings(max_examples=25)
@given(entries=PODS, seed=st.integers(0, 3))
def test_every_pod_is_somewhere_exactly_once(entries, seed):
    work = driver([{"name": "n0", "cpu": 2}, {"name": "n1", "cpu": 1}], release="1.34", seed=seed)
    for i, (cpu, priority, gated) in enumerate(entries):
        spec = {"schedulingGates": [{"name": "a.io/x"}]} if gated else {}
        work.add_pod(pod_of({"name": f"p{i}", "cpu": cpu, "priority": priority, "spec": spec}))
        work.step()
        queued = [name for names in work.waiting().values() for name in names]
        placed = [pod.name for pod in work.pods.values() if pod.spec.node_name]
        assert sorted(queued + placed) == sorted(pod.name for pod in work.pods.values())

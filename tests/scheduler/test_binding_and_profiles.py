"""What follows the choice of a node, and profiles: several of them, plugins by extension point, their arguments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.stepper import Stepper


def node(name, cpu="4", **labels):
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return from_dict({"metadata": meta, "status": {"allocatable": allocatable}}, Node)


def pod(name, cpu="100m", *, on="", priority=None, scheduler=""):
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    meta = {"name": name, "namespace": "default", "uid": name}
    made = from_dict({"metadata": meta, "spec": {"containers": [container]}}, Pod)
    made.spec.node_name, made.spec.priority, made.spec.scheduler_name = on, priority, scheduler
    return made


def profile(*own, **data):
    enabled = [{"name": plugin.name} for plugin in own]
    return Profile.from_configuration({"plugins": {"multiPoint": {"enabled": enabled}}, **data}, own=own)


class Recorder(Plugin):
    name = "Recorder"

    def _say(self, point):
        if self.arguments.get("refuse") == point:
            return Status(Code.Unschedulable, (f"no at {point}",))
        return SUCCESS

    def reserve(self, info, node):
        return self._say("Reserve")

    def unreserve(self, info, node):
        """It is written down by the binding cycle."""

    def permit(self, info, node):
        if self.arguments.get("refuse") == "wait":
            return Status(Code.Wait, ("wait for the others",))
        return self._say("Permit")

    def pre_bind(self, info, node):
        return self._say("PreBind")

    def bind(self, info, node):
        return self._say("Bind")

    def post_bind(self, info, node):
        """It is written down by the binding cycle."""


def recording(refuse=""):
    return profile(Recorder, pluginConfig=[{"name": "Recorder", "args": {"refuse": refuse}}])


def points(decision, plugin="Recorder"):
    return [point for point, name, _ in decision.binding.asked if name == plugin]


def test_a_placed_pod_passes_every_point_of_the_binding_cycle():
    decision = Scheduler([node("a")], profile=recording()).schedule(pod("p"))
    assert decision.suggested_host == "a" and decision.binding.status.ok
    # DefaultBinder stands before the own plugin and binds; the second Bind plugin is not asked
    assert points(decision) == ["Reserve", "Permit", "PreBind", "PostBind"]
    assert points(decision, "DefaultBinder") == ["Bind"]


@pytest.mark.parametrize("point", ["Reserve", "Permit", "PreBind"])
def test_a_pod_that_is_refused_on_the_way_loses_its_place(point):
    scheduler = Scheduler([node("a")], profile=recording(point))
    decision = scheduler.schedule(pod("p"))
    assert decision.suggested_host == "" and decision.message == f"no at {point}"
    assert points(decision)[-1] == "Unreserve"
    assert scheduler.snapshot.requested["cpu"].sum() == 0


def test_an_own_bind_plugin_comes_first_where_it_is_enabled_at_bind():
    bind = {"disabled": [{"name": "DefaultBinder"}], "enabled": [{"name": "Recorder"}]}
    own = Profile.from_configuration({"plugins": {"bind": bind}}, own=[Recorder])
    decision = Scheduler([node("a")], profile=own).schedule(pod("p"))
    assert points(decision) == ["Bind"], "enabled at bind, it takes part nowhere else"


def test_without_a_bind_plugin_nothing_is_bound():
    own = Profile.from_configuration({"plugins": {"bind": {"disabled": [{"name": "*"}]}}})
    decision = Scheduler([node("a")], profile=own).schedule(pod("p"))
    assert decision.suggested_host == "" and decision.message == "no plugin binds the pod"


def test_a_pod_that_permit_holds_keeps_its_place_until_it_is_allowed_or_rejected():
    scheduler = Scheduler([node("a", "1")], profile=recording("wait"))
    first, second = pod("first", "800m"), pod("second", "800m")
    assert scheduler.schedule(first).binding.waits
    assert [p.name for p in scheduler.waiting] == ["first"]
    assert not scheduler.schedule(second).suggested_host
    assert scheduler.reject(first).suggested_host == ""
    assert scheduler.schedule(second).binding.waits
    assert scheduler.allow(second).binding.status.ok
    assert scheduler.waiting == []
    with pytest.raises(KitError, match="does not wait"):
        scheduler.allow(second)


class OnlyB(NodePlugin):
    name = "OnlyB"

    def filter_node(self, pod, node, pods):
        return None if node.name == "b" else "not b"


def test_every_pod_is_decided_by_the_profile_that_it_names():
    both = Profile.load(
        {
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {"schedulerName": "default-scheduler"},
                {"schedulerName": "to-b", "plugins": {"filter": {"enabled": [{"name": "OnlyB"}]}}},
            ],
        },
        own=[OnlyB],
    )
    scheduler = Scheduler([node("a"), node("b")], profile=both)
    assert scheduler.explain(pod("p")).feasible == ["a", "b"]
    assert scheduler.explain(pod("p", scheduler="to-b")).feasible == ["b"]
    with pytest.raises(KitError, match="profile not found for scheduler name 'other'"):
        scheduler.explain(pod("p", scheduler="other"))


def test_two_profiles_of_one_name_are_refused():
    with pytest.raises(KitError, match=r"profiles\[1\].schedulerName: Duplicate value"):
        Profile.load({"profiles": [{}, {}]})


def test_a_plugin_can_be_disabled_at_one_point_only():
    data = {"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}
    decision = Scheduler([node("a", "1")], profile=Profile.from_configuration(data)).explain(pod("p", "2"))
    assert decision.feasible == ["a"]
    assert "NodeResourcesFit" in decision.scores.raw


def test_an_unknown_extension_point_is_refused():
    with pytest.raises(KitError, match="unknown field"):
        Profile.from_configuration({"plugins": {"filters": {}}})


def test_without_default_preemption_nobody_has_to_go():
    off = Profile.from_configuration({"plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}})
    standing = [pod("low", "4", on="a", priority=0)]
    decision = Scheduler([node("a")], standing, profile=off).explain(pod("high", "2", priority=9))
    assert not decision.nominated and "preemption" not in decision.message


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"minCandidateNodesPercentage": 101}, "not in valid range"),
        ({"minCandidateNodesAbsolute": -1}, "not in valid range"),
        ({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}, "cannot both be zero"),
    ],
)
def test_wrong_arguments_of_preemption_are_refused(args, problem):
    with pytest.raises(KitError, match=problem):
        Profile.default(DefaultPreemption=args)


def test_preemption_looks_at_no_more_candidates_than_it_is_told():
    few = Profile.default(DefaultPreemption={"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 2})
    nodes = [node(f"n{i}") for i in range(5)]
    standing = [pod(f"low{i}", "4", on=f"n{i}", priority=0) for i in range(5)]
    assert (
        len(Scheduler(nodes, standing, profile=few).explain(pod("high", "2", priority=9)).post_filter.candidates) == 2
    )


def test_a_percentage_of_nodes_is_enough_and_the_next_pod_begins_after_them():
    some = Profile.from_configuration({"percentageOfNodesToScore": 50})
    nodes = [node(f"n{i:03d}") for i in range(300)]
    scheduler = Scheduler(nodes, profile=some)
    first = scheduler.schedule(pod("p0"))
    assert first.feasible == [f"n{i:03d}" for i in range(150)]
    assert scheduler.schedule(pod("p1")).feasible == [f"n{i:03d}" for i in range(150, 300)]


def test_below_a_hundred_nodes_the_percentage_has_no_effect():
    some = Profile.from_configuration({"percentageOfNodesToScore": 5})
    assert len(Scheduler([node(f"n{i}") for i in range(99)], profile=some).explain(pod("p")).feasible) == 99


def test_nodes_come_change_and_go():
    scheduler = Scheduler([node("a", "1")], [pod("x", "1", on="a")])
    assert not scheduler.explain(pod("p", "1")).suggested_host
    scheduler.update_node(node("a", "2"))
    assert scheduler.explain(pod("p", "1")).suggested_host == "a"
    scheduler.add_node(node("b"))
    scheduler.remove_node("a")
    assert scheduler.explain(pod("p", "1")).feasible == ["b"]
    with pytest.raises(KitError, match="more than once"):
        scheduler.add_node(node("b"))


def test_a_promise_follows_its_node_and_ends_when_the_pod_is_placed():
    scheduler = Scheduler([node("a"), node("b", "1")])
    promised = pod("promised", "1", priority=5)
    scheduler.nominate(promised, "b")
    assert scheduler.explain(pod("p", "1")).feasible == ["a"]
    scheduler.remove_node("a")
    assert scheduler.explain(pod("p", "1")).feasible == []
    assert scheduler.schedule(promised).suggested_host == "b"
    scheduler.remove_pod(promised)
    assert scheduler.explain(pod("p", "1")).feasible == ["b"]


def test_the_steps_of_a_placed_pod_go_on_to_the_end_of_the_binding_cycle():
    steps = Stepper(Scheduler([node("a")], profile=recording()).schedule(pod("p")))
    said = [(step.point, step.plugin) for step in steps.steps if step.point in ("Permit", "Bind", "PostBind")]
    assert said == [("Permit", "Recorder"), ("Bind", "DefaultBinder"), ("PostBind", "Recorder")]


def test_a_decision_stays_as_it_was_when_the_cluster_goes_on():
    scheduler = Scheduler([node("a"), node("b")])
    first = scheduler.schedule(pod("p0", "1"))
    before = first.score_frame().copy(), first.filter_frame().copy()
    for i in range(1, 8):
        scheduler.schedule(pod(f"p{i}", "1"))
    assert first.score_frame().equals(before[0]) and first.filter_frame().equals(before[1])


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 1)), max_size=6),
    st.integers(0, 4),
    st.integers(1, 10),
)
def test_less_important_pods_stay_only_where_their_going_would_not_help(standing, priority, cpu):
    pods = [pod(f"s{i}", str(c), on=f"n{n}", priority=p) for i, (p, c, n) in enumerate(standing)]
    nodes = [node("n0", "8"), node("n1", "8")]
    wanted = pod("new", str(cpu), priority=priority)
    decision = Scheduler(nodes, pods).explain(wanted)
    if not decision.suggested_host and not decision.nominated:
        important = [p for p in pods if p.spec.priority >= priority]
        assert not Scheduler(nodes, important).explain(wanted).feasible


def with_arguments(plugin, **arguments):
    return Profile.from_configuration({"pluginConfig": [{"name": plugin, "args": arguments}]})


@pytest.mark.parametrize(
    ("plugin", "arguments", "message"),
    [
        (
            "PodTopologySpread",
            {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
            'pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
        ),
        (
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [{"topologyKey": "", "whenUnsatisfiable": "Never"}]},
            "[pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), "
            "pluginConfig[0].args.defaultConstraints[0].topologyKey: Required value: can not be empty, "
            'pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported '
            'values: "DoNotSchedule", "ScheduleAnyway"]',
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            "pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Best"}},
            'pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Best": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 0}]}},
            "pluginConfig[0].args.scoringStrategy.resources[0].weight: Invalid value: 0: resource weight of cpu not in "
            "valid range (0, 100]",
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 50, "score": 0}, {"utilization": 50, "score": 9}]
                    },
                }
            },
            "pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: "
            "values must be sorted in increasing order",
        ),
        ("NodeAffinity", {"added": {}}, 'pluginConfig[0].args: strict decoding error: unknown field "added"'),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": "ten"},
            'pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: "ten": a whole number is expected',
        ),
    ],
)
def test_wrong_arguments_are_refused_with_the_schedulers_words(plugin, arguments, message):
    with pytest.raises(KitError) as caught:
        with_arguments(plugin, **arguments)
    assert str(caught.value) == message


def test_a_weight_that_is_no_number_is_refused():
    score = {"enabled": [{"name": "ImageLocality", "weight": "much"}]}
    with pytest.raises(KitError, match=r"plugins.score.enabled\[ImageLocality\].weight: Invalid value: 'much'"):
        Profile.from_configuration({"plugins": {"score": score}})


def test_an_added_affinity_holds_for_every_pod_of_the_profile():
    def term(value):
        return {"matchExpressions": [{"key": "disk", "operator": "In", "values": [value]}]}

    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term("ssd"), term("nvme")]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term("nvme")}],
    }
    nodes = [node("a", disk="hdd"), node("b", disk="ssd"), node("c", disk="nvme")]
    decision = Scheduler(nodes, profile=with_arguments("NodeAffinity", addedAffinity=added)).explain(pod("p"))
    assert decision.reasons_of("a") == ["node(s) didn't match scheduler-enforced node affinity"]
    assert (decision.feasible, decision.suggested_host) == (["b", "c"], "c")

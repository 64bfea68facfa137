"""Profiles: several of them, plugins by extension point, added arguments."""

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod


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


def with_arguments(plugin, **arguments):
    return Profile.from_configuration({"pluginConfig": [{"name": plugin, "args": arguments}]})


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

"""The framework: PostFilter by a user's plugin, plugins that are disabled at one point and used at another."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.scheduler.driver import Driver
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.framework.plugin import Context, FailedCycle, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP, PostFilterResult
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of


class OldestLeaves(NodePlugin):
    """Removes the oldest pod of a node, whatever its priority."""

    name = "OldestLeaves"

    def victims_on_node(self, pod: Pod, node: Node, pods: list[Pod]) -> list[Pod] | None:
        return pods[:1] if node.name == "b" else None


class Notes(Plugin):
    """Finds nothing, says so, and notes that it was carried out."""

    name = "Notes"
    carried_out: list[Any] = []

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        return PostFilterResult(Code.Unschedulable, "nothing to note", nominating_mode=NOOP, effect=info.pod.name)

    def commit_post_filter(self, effect: Any, info: PodInfo, context: Context) -> None:
        self.carried_out.append(effect)


class Hopeless(Plugin):
    name = "Hopeless"

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        return PostFilterResult(Code.UnschedulableAndUnresolvable, "no room anywhere")


def first_at_post_filter(*own: type[Plugin]) -> Profile:
    enabled = [{"name": plugin.name} for plugin in own]
    return Profile.from_configuration({"plugins": {"postFilter": {"enabled": enabled}}}, own=own)


FULL = [{"name": f"low-{node}", "node": node, "cpu": 4} for node in ("a", "b")]


def scheduler(profile: Profile) -> Scheduler:
    return Scheduler([node_of({"name": n}) for n in ("a", "b")], [pod_of(one) for one in FULL], profile=profile)


def test_a_users_plugin_written_for_one_node_makes_room() -> None:
    only = Profile.from_configuration(
        {"plugins": {"postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "OldestLeaves"}]}}},
        own=[OldestLeaves],
    )
    decision = scheduler(only).explain(pod_of({"name": "p", "cpu": 1}))
    assert (decision.nominated, [pod.name for pod in decision.victims]) == ("b", ["low-b"])
    driver = Driver([node_of({"name": n}) for n in ("a", "b")], [pod_of(one) for one in FULL], profile=only)
    driver.add_pod(pod_of({"name": "p", "cpu": 1}))
    driver.run(10)
    assert driver.pod("p").spec.node_name == "b" and "default/low-b" not in driver.pods


def test_reasons_of_all_post_filter_plugins_stand_in_the_message_and_effects_are_kept_for_real_cycles() -> None:
    Notes.carried_out.clear()
    made = scheduler(first_at_post_filter(Notes))
    decision = made.explain(pod_of({"name": "p", "cpu": 1}))
    assert "nothing to note" in decision.message and "preemption: " in decision.message
    assert Notes.carried_out == []
    made.schedule(pod_of({"name": "p", "cpu": 1}))
    assert Notes.carried_out == ["p"]


def test_an_answer_that_nothing_can_help_ends_post_filter() -> None:
    decision = scheduler(first_at_post_filter(Hopeless)).explain(pod_of({"name": "p", "cpu": 1}))
    assert decision.post_filter_message == "no room anywhere" and not decision.nominated


SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}


@pytest.mark.parametrize(
    ("disabled", "enabled", "spec", "message"),
    [
        (
            "TaintToleration",
            "score",
            {},
            'running Score plugins: plugin "TaintToleration" failed with: '
            'failed to read "PreScoreTaintToleration" from cycleState: not found',
        ),
        (
            "PodTopologySpread",
            "score",
            {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]},
            'running Score plugins: plugin "PodTopologySpread" failed with: '
            'error reading "PreScorePodTopologySpread" from cycleState: not found',
        ),
        (
            "NodeResourcesFit",
            "filter",
            {},
            'running "NodeResourcesFit" filter plugin: '
            'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
        ),
        ("NodeAffinity", "filter", {"nodeSelector": {"disk": "ssd"}}, "0/2 nodes are available: "),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_plugin_that_misses_its_state_fails_the_cycle_or_makes_it_itself(
    disabled: str, enabled: str, spec: dict[str, Any], message: str
) -> None:
    sets = {"multiPoint": {"disabled": [{"name": disabled}]}, enabled: {"enabled": [{"name": disabled}]}}
    made = Scheduler([node_of({"name": n}) for n in ("a", "b")], profile=Profile.from_configuration({"plugins": sets}))
    decision = made.explain(pod_of({"name": "p", "cpu": 1, "labels": {"a": "b"}, "spec": spec}))
    assert decision.message.startswith(message) and not decision.suggested_host
    assert decision.failed == message.startswith("running")


def test_a_disabled_pre_score_does_not_matter_for_a_single_node() -> None:
    sets = {
        "multiPoint": {"disabled": [{"name": "TaintToleration"}]},
        "score": {"enabled": [{"name": "TaintToleration"}]},
    }
    made = Scheduler([node_of({"name": "a"})], profile=Profile.from_configuration({"plugins": sets}))
    assert made.explain(pod_of({"name": "p"})).suggested_host == "a"

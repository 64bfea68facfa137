"""DefaultPreemption: sums of requests give the victims that the Filter plugins give."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Pod
from kitlib.api.meta import LabelSelector
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.scheduler.framework.filtering import find_nodes_that_pass_filters
from kitlib.scheduler.framework.plugin import FailedCycle
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import Candidate
from kitlib.scheduler.framework.preemption import PluginDryRun, select_victims_on_node
from kitlib.scheduler.framework.status import Code, Status
from kitlib.scheduler.plugins.default_preemption import RequestsDryRun, requests_that_matter
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of
from tests.sizes import examples

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
STANDING = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0, 100, 500, 1000, 1700]),
        st.sampled_from(["", "64Mi", "2Gi"]),
        st.integers(0, 4),
        st.booleans(),
        st.integers(0, 5),
    ),
    max_size=14,
)


def standing(number: int, entry: tuple[int, int, str, int, bool, int]) -> Pod:
    node, cpu, memory, priority, protected, age = entry
    requests = {"cpu": f"{cpu}m", **({"memory": memory} if memory else {})}
    made = pod_of(
        {
            "name": f"s{number:02d}",
            "node": f"n{node}",
            "requests": requests,
            "priority": priority,
            "labels": {"app": "protected"} if protected else {"app": "plain"},
        }
    )
    made.status.start_time = START + timedelta(seconds=age) if age else None
    return made


def budget(allowed: int) -> PodDisruptionBudget:
    made = PodDisruptionBudget()
    made.metadata.name, made.metadata.namespace = "budget", "default"
    made.spec.selector = LabelSelector(match_labels={"app": "protected"})
    made.status.disruptions_allowed = allowed
    return made


def found(answer: Candidate | Status) -> Any:
    if isinstance(answer, Status):
        return sorted(answer.reasons)
    return answer.node, [victim.pod.name for victim in answer.victims], answer.violations


@settings(max_examples=examples(300), deadline=None)
@given(
    entries=STANDING,
    cpu=st.sampled_from([200, 900, 1900, 2500]),
    priority=st.integers(0, 5),
    places=st.sampled_from([2, 4, 110]),
    allowed=st.integers(0, 2),
    release=st.sampled_from(["1.24", "1.30", "1.36"]),
)
def test_sums_of_requests_give_the_victims_that_trying_gives(
    entries: list[Any], cpu: int, priority: int, places: int, allowed: int, release: str
) -> None:
    nodes = [node_of({"name": f"n{i}", "cpu": 2, "memory": "4Gi", "pods": places}) for i in range(3)]
    pods = [standing(number, entry) for number, entry in enumerate(entries)]
    scheduler = Scheduler(nodes, pods, release=release, budgets=[budget(allowed)])
    info = PodInfo(pod_of({"name": "new", "cpu": f"{cpu}m", "priority": priority}), Release(release))
    outcome = find_nodes_that_pass_filters(scheduler.profile, info, scheduler.context)
    wanted = requests_that_matter(FailedCycle(scheduler.profile, outcome, {}))
    assert wanted is not None
    before = {name: column.tolist() for name, column in scheduler.snapshot.requested.items()}
    promising = [row for row in range(len(nodes)) if outcome.codes[row] == Code.Unschedulable]
    for row in promising:
        with PluginDryRun(FailedCycle(scheduler.profile, outcome, {}), info, scheduler.context, row) as dry_run:
            plain = select_victims_on_node(info, scheduler.context, row, dry_run)
        by_sums = select_victims_on_node(info, scheduler.context, row, RequestsDryRun(wanted, scheduler.context, row))
        assert found(by_sums) == found(plain)
    assert {name: column.tolist() for name, column in scheduler.snapshot.requested.items()} == before


def test_a_pod_with_host_ports_takes_the_plain_way() -> None:
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}
    pod = pod_of({"name": "p", "spec": {"containers": [container]}})
    scheduler = Scheduler([node_of({"name": "n"})])
    info = PodInfo(pod)
    outcome = find_nodes_that_pass_filters(scheduler.profile, info, scheduler.context)
    assert requests_that_matter(FailedCycle(scheduler.profile, outcome, {})) is None


@pytest.mark.parametrize(
    ("data", "matters"),
    [
        ({"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}, None),
        (
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["a.io/gpu"]}}]},
            {"cpu": 1000},
        ),
        ({}, {"cpu": 1000, "a.io/gpu": 1}),
    ],
    ids=["without NodeResourcesFit sums say nothing", "ignored resources do not matter", "all requests matter"],
)
def test_what_matters_is_what_node_resources_fit_compares(data: dict[str, Any], matters: Any) -> None:
    scheduler = Scheduler([node_of({"name": "n"})], profile=Profile.from_configuration(data))
    info = PodInfo(pod_of({"name": "p", "requests": {"cpu": "1", "a.io/gpu": "1"}}))
    outcome = find_nodes_that_pass_filters(scheduler.profile, info, scheduler.context)
    assert requests_that_matter(FailedCycle(scheduler.profile, outcome, {})) == matters

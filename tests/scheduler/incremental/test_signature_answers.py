"""The answers that pods of one template and of one signature share, and the best node for the next one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kitlib.api.core import Pod, Toleration
from kitlib.api.meta import OwnerReference
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.incremental.batch import OpportunisticBatch
from kitlib.scheduler.incremental.signature_answers import SignatureAnswers, TemplateAnswers, without_amounts
from kitlib.scheduler.profile import DEFAULT_SCHEDULER
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod, profile


def scheduler(*cpus: str, **options: Any) -> Scheduler:
    return Scheduler([node("abcdef"[i], cpu) for i, cpu in enumerate(cpus)], **options)


def template(made: Scheduler, of: Pod) -> TemplateAnswers:
    return TemplateAnswers(of, made.profiles[DEFAULT_SCHEDULER], made.context)


def answers(made: Scheduler, cpu: str = "1") -> SignatureAnswers:
    """Return the answers for pods that request so much CPU, after the first pod of the template was seen."""
    batch, handle = OpportunisticBatch(made.context), made.profiles[DEFAULT_SCHEDULER]
    assert batch.like(pod("first", cpu), handle) is None
    found = batch.like(pod("second", cpu), handle)
    assert found is not None
    return found


def test_amounts_are_the_only_difference_that_without_amounts_hides() -> None:
    one, other, tolerating = pod("p", "1"), pod("q", "2"), pod("r", "1")
    tolerating.spec.tolerations = [Toleration(key="k")]
    assert without_amounts(one.spec) == without_amounts(other.spec)
    assert without_amounts(one.spec) != without_amounts(tolerating.spec)
    assert str(one.spec.containers[0].resources.requests["cpu"]) == "1", "the pod itself is not changed"


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda one: None, True),
        (lambda one: one.spec.containers[0].resources.requests.update(cpu=Quantity("3")), True),
        (lambda one: setattr(one.metadata, "name", "other"), True),
        (lambda one: one.metadata.annotations.update(a=""), True),
        (lambda one: one.metadata.labels.update(a=""), False),
        (lambda one: setattr(one.spec, "priority", 7), False),
        (lambda one: one.metadata.owner_references.append(OwnerReference(name="rs")), False),
    ],
)
def test_the_pods_of_a_template(change: Any, same: bool) -> None:
    made, one = scheduler("4"), pod("p")
    found, other = template(made, one), deepcopy(one)
    change(other)
    assert found.answerable and found.shared and found.includes(other) is same


def test_a_kind_does_not_share_what_the_caller_may_change() -> None:
    made, one = scheduler("4"), pod("p")
    found, other = template(made, one), pod("q", "2")
    info = found.info_of(other)
    assert info.requests["cpu"] == 2000 and info.kind is not None
    assert found.info_of(pod("r", "2")).kind != info.kind
    other.spec.containers[0].resources.requests["cpu"] = Quantity("3")
    other.metadata.labels["a"] = "1"
    assert info.pod.spec.containers[0].resources.requests["cpu"] == Quantity("2")
    assert info.pod.metadata.labels == {}


def test_without_nodes_or_with_a_plugin_that_must_see_every_pod_there_are_no_shared_answers() -> None:
    class Own(Plugin):
        name = "Own"

        def pre_filter(self, info: Any, context: Any) -> Any:
            return super().pre_filter(info, context)

    assert not template(scheduler(), pod("p")).answerable
    assert not template(scheduler("4", profile=profile(Own)), pod("p")).answerable
    assert template(scheduler("4"), pod("p")).answerable


def place(made: Scheduler, name: str, on: str, cpu: str = "1") -> None:
    made.add_pod(pod(name, cpu, on=on))


def test_the_best_node_follows_the_pods() -> None:
    """LeastAllocated and balanced allocation prefer the emptiest node; of equal nodes the first by name."""
    made = scheduler("4", "4", "4")
    found = answers(made)
    assert found.choose(None) == 0
    place(made, "x", "a")
    assert found.choose(None) == 1
    place(made, "y", "b")
    assert found.choose(None) == 2
    place(made, "z", "c", "3500m")
    assert found.choose(None) == 0
    for row in "ab":
        place(made, f"full-{row}", row, "2500m")
    assert found.choose(None) == -1, "one CPU is free on no node"
    made.remove_pod(pod("full-b", on="b"))
    assert found.choose(None) == 1


def test_many_changed_rows_are_evaluated_together() -> None:
    made = scheduler("4", "4", "4", "4", "4", "4")
    found = answers(made)
    found.choose(None)
    for row in "abcde":
        place(made, row, row)
    place(made, "f", "f", "3500m")
    assert found.choose(None) == 0 and (found._order >= 0).tolist() == [True] * 5 + [False]
    fresh = answers(made)
    assert fresh._order.tolist() == found._order.tolist()


def test_the_choice_among_equal_nodes_is_by_chance() -> None:
    made = scheduler("4", "2", "4")
    found = answers(made)
    dice, seen = random.Random(3), random.Random(3)
    assert [found.choose(dice) for _ in range(8)] == [[0, 2][seen.randrange(2)] for _ in range(8)]


def test_pods_of_a_signature_request_the_same() -> None:
    found = answers(scheduler("4"))
    assert found.is_like(pod("other", "1"))
    assert not found.is_like(pod("other", "2"))
    owned = pod("other", "1")
    owned.metadata.owner_references = [OwnerReference(name="rs")]
    assert not found.is_like(owned)
    info = found.placed(pod("placed", "1"), "a")
    assert (info.pod.name, info.pod.spec.node_name, info.kind) == ("placed", "a", found.info.kind)


def test_rejections_are_known_only_if_no_node_fits() -> None:
    made = scheduler("1", "1")
    found = answers(made)
    assert found.rejections() is None
    for row in "ab":
        place(made, row, row, "500m")
    assert found.choose(None) == -1
    outcome = found.rejections()
    assert outcome is not None and outcome.codes.tolist() == [int(Code.Unschedulable)] * 2
    assert outcome.feasible.tolist() == []


def test_a_fixed_rejection_keeps_its_code() -> None:
    tainted = node("b")
    tainted.spec.unschedulable = True
    made = Scheduler([node("a", "1"), tainted])
    found = answers(made)
    place(made, "x", "a", "500m")
    assert found.choose(None) == -1
    outcome = found.rejections()
    assert outcome is not None
    assert outcome.codes.tolist() == [int(Code.Unschedulable), int(Code.UnschedulableAndUnresolvable)]

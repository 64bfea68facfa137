"""Priority admission: classes become numbers and policies, and only one class is the default."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import Forbidden
from kitlib.api.policy import PriorityClass
from kitlib.apiserver.admission.priority import (
    PriorityPlugin,
    admit_priority,
    check_priority_class,
    default_priority_class,
    system_priority_classes,
)
from tests.apiserver.admission.writes import made, pod, write

LOWER = "PreemptLowerPriority"


def cls(name: str, value: int, default: bool = False, policy: str | None = LOWER) -> PriorityClass:
    found: PriorityClass = made(
        "PriorityClass",
        name,
        "scheduling.k8s.io/v1",
        value=value,
        globalDefault=default,
        preemptionPolicy=policy,
    )
    return found


HIGH, LOW = cls("high", 100), cls("low", -5, policy="Never")
DEFAULT, SMALLER = cls("default", 10, default=True), cls("smaller", 3, default=True, policy="Never")


@pytest.mark.parametrize(
    ("spec", "classes", "expected"),
    [
        ({}, [], ("", 0, LOWER)),
        ({}, [HIGH], ("", 0, LOWER)),
        ({}, [HIGH, DEFAULT], ("default", 10, LOWER)),
        ({}, [DEFAULT, SMALLER], ("smaller", 3, "Never")),
        ({"priorityClassName": "low"}, [HIGH, LOW, DEFAULT], ("low", -5, "Never")),
        ({"priorityClassName": "high", "priority": 100}, [HIGH], ("high", 100, LOWER)),
        ({"priority": 0}, [], ("", 0, LOWER)),
        ({"priorityClassName": "low", "preemptionPolicy": "Never"}, [LOW], ("low", -5, "Never")),
        ({"priorityClassName": "x", "preemptionPolicy": "Never"}, [cls("x", 1, policy=None)], ("x", 1, "Never")),
        ({"priorityClassName": "x"}, [cls("x", 1, policy=None)], ("x", 1, None)),
    ],
)
def test_a_new_pod_gets_number_and_policy(
    spec: dict[str, Any], classes: list[PriorityClass], expected: tuple[str, int, str | None]
) -> None:
    """Source: Plugin.admitPod, getDefaultPriority."""
    found = admit_priority(pod(**spec), classes).spec
    assert (found.priority_class_name, found.priority, found.preemption_policy) == expected


NUMBER = (
    "the integer value of priority ({}) must not be provided in pod spec; priority admission controller computed {} "
    "from the given PriorityClass name"
)
POLICY = (
    "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller "
    "computed PreemptLowerPriority from the given PriorityClass name"
)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priorityClassName": "high", "priority": 99}, NUMBER.format(99, 100)),
        ({"priority": 1}, NUMBER.format(1, 0)),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, POLICY),
        ({"preemptionPolicy": "Never"}, POLICY),
    ],
)
def test_a_pod_that_contradicts_its_class(spec: dict[str, Any], why: str) -> None:
    with pytest.raises(Forbidden) as raised:
        admit_priority(pod(**spec), [HIGH])
    assert str(raised.value) == f'pods "p" is forbidden: {why}'


@pytest.mark.parametrize(
    ("classes", "name"), [([], None), ([HIGH], None), ([HIGH, DEFAULT], "default"), ([DEFAULT, SMALLER], "smaller")]
)
def test_the_default_is_the_lowest_of_those_marked(classes: list[PriorityClass], name: str | None) -> None:
    found = default_priority_class(classes)
    assert (None if found is None else found.name) == name


def test_only_one_class_is_the_default() -> None:
    """Source: Plugin.validatePriorityClass."""
    check_priority_class(HIGH, [DEFAULT])
    check_priority_class(DEFAULT, [DEFAULT, HIGH])
    check_priority_class(DEFAULT, [HIGH])
    with pytest.raises(Forbidden) as raised:
        check_priority_class(SMALLER, [DEFAULT])
    assert str(raised.value) == (
        'priorityclasses.scheduling.k8s.io "smaller" is forbidden: PriorityClass default is already marked as default. '
        "Only one default can exist"
    )


def test_the_built_in_classes() -> None:
    assert [(one.name, one.value, one.preemption_policy, one.global_default) for one in system_priority_classes()] == [
        ("system-node-critical", 2000001000, LOWER, False),
        ("system-cluster-critical", 2000000000, LOWER, False),
    ]


def test_the_plugin_reads_the_stored_classes() -> None:
    new = pod(priorityClassName="high")
    PriorityPlugin().admit(*write(new, None, cls("high", 100)))
    assert new.spec.priority == 100
    with pytest.raises(Forbidden):
        PriorityPlugin().validate(*write(cls("b", 1, default=True), None, cls("a", 1, default=True)))
    PriorityPlugin().validate(*write(pod(), None, cls("a", 1, default=True)))

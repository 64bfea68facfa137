"""Tolerations that compare numbers, with the gate TaintTolerationComparisonOperators."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, NodeSelectorRequirement, Pod, Taint, Toleration
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.api.release import Release
from kitlib.api.selectors import (
    LabelSelectorMatcher,
    SelectorError,
    matches_expressions,
    matches_required_node_affinity,
    tolerates,
)
from kitlib.api.serialize import from_dict

ON = Release("1.36", {"TaintTolerationComparisonOperators": True})


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "-6", True),
        ("Lt", "5", "7", False),
        ("Gt", "-9223372036854775808", "9223372036854775807", True),
        ("Gt", "5", "9223372036854775808", False),
        ("Gt", "+5", "6", False),
        ("Gt", "05", "6", False),
        ("Gt", "-1", "-0", False),
        ("Lt", "5", "", False),
        ("Gt", "5", "six", False),
    ],
)
def test_a_toleration_compares_whole_numbers_in_canonical_form(
    operator: str, wanted: str, value: str, expected: bool
) -> None:
    toleration = Toleration(key="k", operator=operator, value=wanted)
    taint = Taint(key="k", value=value, effect="NoSchedule")
    assert tolerates(toleration, taint, ON) is expected
    assert tolerates(toleration, taint, Release("1.36")) is False


LABELS = {"app": "web", "size": "5", "empty": ""}


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("app", "In", ["web", "db"], True),
        ("app", "In", ["db"], False),
        ("tier", "In", ["web"], False),
        ("tier", "In", [""], False),
        ("empty", "In", [""], True),
        ("app", "NotIn", ["db"], True),
        ("app", "NotIn", ["web"], False),
        ("tier", "NotIn", ["web"], True),
        ("app", "Exists", [], True),
        ("tier", "Exists", [], False),
        ("app", "DoesNotExist", [], False),
        ("tier", "DoesNotExist", [], True),
        ("size", "Gt", ["4"], True),
        ("size", "Gt", ["5"], False),
        ("size", "Lt", ["5"], False),
        ("size", "Lt", ["6"], True),
        ("app", "Gt", ["4"], False),
        ("tier", "Lt", ["4"], False),
    ],
)
def test_a_requirement_on_labels(key: str, operator: str, values: list[str], expected: bool) -> None:
    """Source: labels.Requirement.Matches; nodeaffinity.nodeSelectorRequirementsAsSelector."""
    requirement = NodeSelectorRequirement(key=key, operator=operator, values=values)
    assert matches_expressions([requirement], LABELS) is expected
    if operator not in ("Gt", "Lt"):
        own = LabelSelectorRequirement(key=key, operator=operator, values=values)
        assert LabelSelectorMatcher(LabelSelector(match_expressions=[own])).matches(LABELS) is expected


def test_requirements_hold_together_and_no_selector_selects_nothing() -> None:
    both = LabelSelector(match_labels={"app": "web", "size": "5"})
    assert LabelSelectorMatcher(both).matches(LABELS) and not LabelSelectorMatcher(both).matches({"app": "web"})
    assert not LabelSelectorMatcher(None).matches(LABELS) and LabelSelectorMatcher(LabelSelector()).matches(LABELS)


@pytest.mark.parametrize(
    ("operator", "values", "problem"),
    [
        ("Near", ["a"], '"Near" is not a valid label selector operator'),
        ("In", [], "values set can't be empty"),
        ("Exists", ["a"], "values set must be empty"),
    ],
)
def test_a_selector_that_cannot_be_used(operator: str, values: list[str], problem: str) -> None:
    own = LabelSelectorRequirement(key="a", operator=operator, values=values)
    with pytest.raises(SelectorError, match=problem):
        LabelSelectorMatcher(LabelSelector(match_expressions=[own]))


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="k", value="v"), True),
        (Toleration(key="k", operator="Equal", value="w"), False),
        (Toleration(key="k", value="v", effect="NoSchedule"), True),
        (Toleration(key="k", value="v", effect="NoExecute"), False),
    ],
)
def test_a_toleration_fits_a_taint(toleration: Toleration, expected: bool) -> None:
    """Source: core/v1 Toleration.ToleratesTaint."""
    assert tolerates(toleration, Taint(key="k", value="v", effect="NoSchedule"), Release("1.36")) is expected


@pytest.mark.parametrize(
    ("label", "operator", "value", "expected"),
    [
        ("2", "Gt", "1", True),
        ("1", "Gt", "1", False),
        ("0", "Lt", "1", True),
        ("1", "Lt", "1", False),
        ("+2", "Gt", "-1", True),
        ("9223372036854775807", "Gt", "1", True),
        ("9223372036854775808", "Gt", "1", False),
        ("-9223372036854775808", "Lt", "1", True),
        ("-9223372036854775809", "Lt", "1", False),
        ("1", "Gt", "-9223372036854775808", True),
        ("1", "Lt", "9223372036854775808", False),
        ("x", "Gt", "1", False),
        ("", "Lt", "1", False),
        ("٣", "Gt", "1", False),
    ],
)
def test_labels_are_compared_as_whole_numbers_of_64_bits(label: str, operator: str, value: str, expected: bool) -> None:
    """Source: labels.Requirement.Matches, strconv.ParseInt."""
    wanted = NodeSelectorRequirement(key="k", operator=operator, values=[value])
    assert matches_expressions([wanted], {"k": label}) is expected


TERM = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": TERM}]}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "ab"),
        ({"affinity": {}}, "ab"),
        ({"affinity": {"nodeAffinity": PREFERRED}}, "ab"),
        ({"affinity": {"nodeAffinity": required(TERM)}}, "a"),
        ({"affinity": {"nodeAffinity": required()}}, ""),
        ({"affinity": {"nodeAffinity": required({})}}, ""),
        ({"affinity": {"nodeAffinity": required({}, TERM)}}, "a"),
        ({"nodeSelector": {"disk": "ssd"}}, "a"),
        ({"nodeSelector": {"disk": "hdd"}}, ""),
        ({"nodeSelector": {"disk": "ssd", "x": "y"}}, ""),
        ({"nodeSelector": {"disk": ""}}, ""),
        ({"nodeSelector": {"name": "b"}, "affinity": {"nodeAffinity": required(TERM)}}, ""),
    ],
)
def test_the_nodes_that_a_pod_requires(spec: dict[str, Any], expected: str) -> None:
    """Source: RequiredNodeAffinity.Match."""
    pod = from_dict({"spec": {"containers": [{"name": "c"}], **spec}}, Pod)
    nodes = [
        from_dict({"metadata": {"name": name, "labels": {"name": name, **labels}}}, Node)
        for name, labels in (("a", {"disk": "ssd"}), ("b", {}))
    ]
    assert "".join(node.name for node in nodes if matches_required_node_affinity(pod, node)) == expected

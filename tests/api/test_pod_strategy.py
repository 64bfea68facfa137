"""The changes that creation makes in a pod, and the grace period of its deletion."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.pod_strategy import (
    grace_of,
    grace_period,
    mark_deleted,
    mark_gated,
    merge_label_keys,
    prepare_for_create,
)
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict, to_dict

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def pod(labels: dict[str, str] | None = None, phase: str = "Running", **spec: Any) -> Pod:
    data = {"metadata": {"name": "p", "labels": labels or {"app": "a", "hash": "1"}}, "status": {"phase": phase}}
    return from_dict({**data, "spec": {"containers": [{"name": "c"}], **spec}}, Pod)


SELECTOR = {"matchLabels": {"app": "a"}}
IN = {"key": "hash", "operator": "In", "values": ["1"]}
NOT_IN = {"key": "hash", "operator": "NotIn", "values": ["1"]}


def term(**keys: Any) -> dict[str, Any]:
    return {"topologyKey": "z", "labelSelector": SELECTOR, **keys}


def affinity(side: str, made: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [made]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": made}]}
    return {side: {**required, **preferred}}


@pytest.mark.parametrize("side", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(
    ("keys", "added"),
    [
        ({"matchLabelKeys": ["hash"]}, [IN]),
        ({"mismatchLabelKeys": ["hash"]}, [NOT_IN]),
        ({"matchLabelKeys": ["missing"]}, []),
        ({"matchLabelKeys": ["hash"], "mismatchLabelKeys": ["hash"]}, [IN, NOT_IN]),
        ({"matchLabelKeys": ["hash"], "labelSelector": None}, None),
    ],
)
def test_label_keys_of_an_affinity_term(side: str, keys: dict[str, Any], added: list[dict[str, Any]] | None) -> None:
    """Source: applyMatchLabelKeysAndMismatchLabelKeys; the keys themselves stay."""
    made = to_dict(prepare_for_create(pod(affinity=affinity(side, term(**keys)))))["spec"]["affinity"][side]
    required = made["requiredDuringSchedulingIgnoredDuringExecution"][0]
    preferred = made["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    expected = None if added is None else {**SELECTOR, **({"matchExpressions": added} if added else {})}
    assert (required.get("labelSelector"), preferred.get("labelSelector")) == (expected, expected)
    assert required.get("matchLabelKeys") == keys.get("matchLabelKeys")


def constraint(**fields: Any) -> dict[str, Any]:
    common = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["hash"]}
    return {**common, "labelSelector": SELECTOR, **fields}


@pytest.mark.parametrize(
    ("gates", "merged"),
    [
        ({}, True),
        ({"MatchLabelKeysInPodTopologySpreadSelectorMerge": False}, False),
    ],
)
def test_label_keys_of_a_spread_constraint(gates: dict[str, bool], merged: bool) -> None:
    made = prepare_for_create(pod(topologySpreadConstraints=[constraint()]), Release("1.36", gates))
    selector = made.spec.topology_spread_constraints[0].label_selector
    assert selector is not None
    found = [(one.key, one.operator, one.values) for one in selector.match_expressions]
    assert found == ([("hash", "In", ["1"])] if merged else [])
    without = prepare_for_create(pod(topologySpreadConstraints=[constraint(labelSelector=None)]))
    assert without.spec.topology_spread_constraints[0].label_selector is None


def test_keys_that_are_merged_already_are_not_merged_twice() -> None:
    made = pod(
        affinity=affinity("podAffinity", term(matchLabelKeys=["hash"])),
        topologySpreadConstraints=[constraint()],
        schedulingGates=[{"name": "g"}],
        resourceClaims=[{"name": "r", "resourceClaimName": "c"}],
    )
    once = to_dict(merge_label_keys(made))
    assert to_dict(merge_label_keys(made)) == once
    spread = once["spec"]["topologySpreadConstraints"][0]
    assert spread["labelSelector"]["matchExpressions"] == [IN]
    assert once["spec"]["schedulingGates"] == [{"name": "g"}]
    assert once["spec"]["resourceClaims"] == [{"name": "r", "resourceClaimName": "c"}]


def test_fields_of_disabled_features_are_dropped() -> None:
    container = {"name": "c", "resources": {"claims": [{"name": "r"}]}}
    spec: dict[str, Any] = {
        "containers": [container],
        "initContainers": [{**container, "name": "i"}],
        "resourceClaims": [{"name": "r", "resourceClaimName": "x"}],
        "schedulingGates": [{"name": "g"}],
    }
    kept = prepare_for_create(pod(**spec), Release("1.36"))
    assert (len(kept.spec.resource_claims), len(kept.spec.scheduling_gates)) == (1, 1)
    made = prepare_for_create(pod(**spec), Release("1.33", {"DynamicResourceAllocation": False}))
    assert (made.spec.resource_claims, len(made.spec.scheduling_gates)) == ([], 1)
    assert [one.resources.claims for one in (*made.spec.containers, *made.spec.init_containers)] == [[], []]


@pytest.mark.parametrize(
    ("given", "expected"), [(5, 5), (0, 0), (-1, 1), (-9, 1), (None, None), (True, None), ("5", None)]
)
def test_the_grace_period_of_delete_options(given: object, expected: int | None) -> None:
    assert grace_of(given) == expected


@pytest.mark.parametrize(
    ("own", "asked", "node", "phase", "expected"),
    [
        (30, None, "n", "Running", 30),
        (30, 5, "n", "Running", 5),
        (30, 0, "n", "Running", 0),
        (30, -1, "n", "Running", 1),
        (-5, None, "n", "Running", 1),
        (None, None, "n", "Running", 0),
        (30, None, "", "Pending", 0),
        (30, 5, "", "Pending", 0),
        (30, None, "n", "Succeeded", 0),
        (30, None, "n", "Failed", 0),
        (30, None, "n", "Pending", 30),
    ],
)
def test_the_grace_period_of_a_first_deletion(
    own: int | None, asked: int | None, node: str, phase: str, expected: int
) -> None:
    """Source: CheckGracefulDelete: a pod without a node and a finished one are removed at once."""
    made = pod(phase=phase, terminationGracePeriodSeconds=own, nodeName=node)
    assert grace_period(made, asked) == expected
    assert mark_deleted(made, asked, NOW) is (expected > 0)
    meta = made.metadata
    if expected:
        assert (meta.deletion_timestamp, meta.deletion_grace_period_seconds) == (
            NOW + timedelta(seconds=expected),
            expected,
        )
    else:
        assert (meta.deletion_timestamp, meta.deletion_grace_period_seconds) == (None, None)


@pytest.mark.parametrize(
    ("asked", "after", "until", "grace", "kept"),
    [
        (None, 10, 30, 30, True),
        (60, 10, 30, 30, True),
        (30, 10, 30, 30, True),
        (20, 10, 20, 20, True),
        # Over already: one second, from now on.
        (5, 10, 10, 1, True),
        (0, 10, 10, 0, False),
        (10, 10, 10, 10, True),
    ],
)
def test_a_later_deletion_only_shortens_the_period(
    asked: int | None, after: int, until: int, grace: int, kept: bool
) -> None:
    """Source: BeforeDelete: a shorter period counts from the first request."""
    made = pod(terminationGracePeriodSeconds=30, nodeName="n")
    assert mark_deleted(made, None, NOW) is True
    assert mark_deleted(made, asked, NOW + timedelta(seconds=after)) is kept
    meta = made.metadata
    found = (meta.deletion_timestamp, meta.deletion_grace_period_seconds)
    assert found == (NOW + timedelta(seconds=until), grace)


def test_a_gated_pod_has_a_condition() -> None:
    free, gated = pod(), pod(schedulingGates=[{"name": "g"}])
    mark_gated(free)
    mark_gated(gated)
    assert free.status.conditions == []
    (found,) = gated.status.conditions
    assert (found.type, found.status, found.reason) == ("PodScheduled", "False", "SchedulingGated")
    assert found.message == "Scheduling is blocked due to non-empty scheduling gates"

"""The claims of a pod and the users of a claim."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api import claims
from kitlib.api.core import Pod
from kitlib.api.devices import FINALIZER, DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceClaim
from kitlib.api.serialize import from_dict

POD_META = {"name": "p", "namespace": "n", "uid": "u"}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}


def pod(*entries: dict[str, str], statuses: list[dict[str, str]] | None = None) -> Pod:
    status = {"resourceClaimStatuses": statuses or []}
    data = {"metadata": POD_META, "spec": {"resourceClaims": list(entries)}, "status": status}
    return from_dict(data, Pod)


def claim(name: str = "c", owners: list[dict[str, Any]] | None = None, **fields: Any) -> ResourceClaim:
    meta = {"name": name, "namespace": "n", "ownerReferences": owners or []}
    return from_dict({"metadata": meta, **fields}, ResourceClaim)


NAMED = {"name": "gpu", "resourceClaimName": "c"}
TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


@pytest.mark.parametrize(
    ("entry", "statuses", "expected"),
    [
        (NAMED, [], ("c", False)),
        (TEMPLATE, [{"name": "gpu", "resourceClaimName": "made"}], ("made", True)),
        (TEMPLATE, [{"name": "x", "resourceClaimName": "y"}, {"name": "gpu"}], (None, True)),
    ],
)
def test_the_claim_of_an_entry(
    entry: dict[str, str], statuses: list[dict[str, str]], expected: tuple[str | None, bool]
) -> None:
    """Source: resourceclaim.Name."""
    made = pod(entry, statuses=statuses)
    assert claims.claim_name(made, made.spec.resource_claims[0]) == expected


def test_an_entry_whose_claim_is_not_known() -> None:
    waiting = pod(TEMPLATE, statuses=[{"name": "other", "resourceClaimName": "made"}])
    with pytest.raises(claims.NotCreatedYet, match=r'^pod "n/p": ResourceClaim not created yet$'):
        claims.claim_name(waiting, waiting.spec.resource_claims[0])
    empty = pod({"name": "gpu"})
    with pytest.raises(claims.ClaimError, match=r'spec.resourceClaim "gpu": none of the supported fields are set'):
        claims.claim_name(empty, empty.spec.resource_claims[0])


def test_the_claims_of_a_pod_in_order() -> None:
    made = pod(
        {"name": "b", "resourceClaimName": "two"},
        {"name": "none", "resourceClaimTemplateName": "t"},
        {"name": "a", "resourceClaimName": "one"},
        statuses=[{"name": "none"}],
    )
    asked: list[tuple[str, str]] = []

    def find(namespace: str, name: str) -> ResourceClaim:
        asked.append((namespace, name))
        return claim(name)

    assert [(name, found.name) for name, found in claims.claims_of(made, find)] == [("b", "two"), ("a", "one")]
    assert asked == [("n", "two"), ("n", "one")]


@pytest.mark.parametrize(
    ("entry", "found", "message"),
    [
        (NAMED, None, 'could not find ResourceClaim "n/c"'),
        (TEMPLATE, claim(), "ResourceClaim n/c was not created for Pod n/p (Pod is not owner)"),
        (NAMED, claim(), ""),
        (TEMPLATE, claim(owners=[OWNER]), ""),
    ],
)
def test_a_claim_that_a_pod_cannot_use(entry: dict[str, str], found: ResourceClaim | None, message: str) -> None:
    made = pod(entry, statuses=[{"name": "gpu", "resourceClaimName": "c"}])
    try:
        assert [one for _, one in claims.claims_of(made, lambda *_: found)] == [found]
        problem = ""
    except claims.ClaimError as error:
        problem = str(error)
    assert problem == message


def test_a_claim_that_is_being_deleted_cannot_be_used() -> None:
    gone = claim()
    gone.metadata.deletion_timestamp = datetime(2024, 1, 1, tzinfo=UTC)
    with pytest.raises(claims.ClaimError, match=r'^resourceclaim "c" is being deleted$'):
        list(claims.claims_of(pod(NAMED), lambda *_: gone))


@pytest.mark.parametrize(
    ("change", "owned", "owner"),
    [
        ({}, True, ("p", "u")),
        ({"uid": "v"}, False, ("p", "v")),
        ({"controller": False}, False, ("", "")),
        ({"kind": "Job"}, True, ("", "")),
        ({"apiVersion": "batch/v1"}, True, ("", "")),
    ],
)
def test_the_pod_that_a_claim_was_created_for(change: dict[str, Any], owned: bool, owner: tuple[str, str]) -> None:
    """Source: resourceclaim.IsForPod compares the UID of the controller."""
    found = claim(owners=[{**OWNER, "uid": "x", "controller": None}, {**OWNER, **change}])
    assert claims.is_for_pod(found, pod()) is owned
    assert claims.owning_pod(found) == owner


def test_a_claim_of_another_namespace_is_not_for_the_pod() -> None:
    found = claim(owners=[OWNER])
    found.metadata.namespace = "m"
    assert not claims.is_for_pod(found, pod())


ALLOCATED = {
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}, {"resource": "pods", "name": "q", "uid": "v"}],
    "allocation": {},
    "devices": [{"driver": "d", "pool": "p", "device": "x"}],
}


def test_users_come_and_go() -> None:
    free = claim(status={"allocation": {}})
    free.metadata.finalizers = [FINALIZER, "x/y"]
    used = claims.reserved(free, pod())
    assert (claims.is_reserved_for(free, pod()), claims.is_reserved_for(used, pod())) == (False, True)
    assert [(user.resource, user.name, user.uid) for user in used.status.reserved_for] == [("pods", "p", "u")]
    assert claims.without_users(used, "other") == used
    last = claims.without_users(used, "u")
    assert (last.status.reserved_for, last.status.allocation, last.metadata.finalizers) == ([], None, ["x/y"])
    assert used.status.allocation is not None and used.metadata.finalizers == [FINALIZER, "x/y"]


def test_a_claim_with_another_user_stays_allocated() -> None:
    both = claim(status=ALLOCATED)
    one = claims.without_users(both, "u")
    assert [user.uid for user in one.status.reserved_for] == ["v"]
    assert one.status.allocation is not None and len(one.status.devices) == 1
    none = claims.without_users(both, "u", "v")
    assert (none.status.reserved_for, none.status.allocation, none.status.devices) == ([], None, [])
    assert len(both.status.reserved_for) == 2


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "key": "k"}, True),
        ({"operator": "Exists", "key": "other"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"operator": "Equal", "key": "k", "value": "v"}, True),
        ({"operator": "Equal", "key": "k", "value": ""}, False),
        ({"operator": "", "key": "k", "value": "v"}, True),
        ({"operator": "", "key": "k", "value": "w"}, False),
        ({"operator": "Other", "key": "k", "value": "v"}, False),
    ],
)
def test_a_toleration_covers_a_taint(toleration: dict[str, str], expected: bool) -> None:
    """Source: resourceclaim.ToleratesTaint."""
    taint = DeviceTaint(key="k", value="v", effect="NoExecute")
    assert claims.tolerates(DeviceToleration(**toleration), taint) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"driver": "d"}, True),
        ({"driver": "e"}, False),
        ({"driver": "d", "pool": "p", "device": "x"}, True),
        ({"pool": "q"}, False),
        ({"driver": "d", "pool": "p", "device": "y"}, False),
        ({"device": ""}, False),
    ],
)
def test_a_rule_taints_the_devices_of_its_selector(selector: dict[str, str] | None, expected: bool) -> None:
    rule = from_dict({"spec": {"deviceSelector": selector, "taint": {"key": "k"}}}, DeviceTaintRule)
    assert claims.rule_matches(rule, "d", "p", "x") is expected


@pytest.mark.parametrize(
    ("effect", "expected"), [("NoSchedule", True), ("NoExecute", True), ("None", False), ("", False), ("New", False)]
)
def test_effects_that_prevent_an_allocation(effect: str, expected: bool) -> None:
    assert claims.repels(DeviceTaint(key="k", effect=effect)) is expected


def test_requests_and_their_alternatives_have_names() -> None:
    requests = [
        {"name": "one", "exactly": {"deviceClassName": "a"}},
        {"name": "two", "firstAvailable": [{"name": "x", "deviceClassName": "b"}, {"name": "y"}]},
        {"name": "neither"},
    ]
    made = claim(spec={"devices": {"requests": requests}})
    found = [(name, request.device_class_name) for name, request in claims.asked_for(made)]
    assert found == [("one", "a"), ("two/x", "b"), ("two/y", "")]

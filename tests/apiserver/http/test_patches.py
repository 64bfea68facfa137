"""The four kinds of PATCH: directives, operations, and patches that do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import ManifestError
from kitlib.api.serialize import from_dict
from kitlib.apiserver.http.patches import MAX_OPERATIONS, patched, undecodable
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError

JSON, MERGE, STRATEGIC = (f"application/{kind}+json" for kind in ("json-patch", "merge-patch", "strategic-merge-patch"))


def sent(kind: str, patch: Any) -> Request:
    return Request("PATCH", "/", {}, {"content-type": kind}, json.dumps(patch).encode())


def live() -> dict[str, Any]:
    containers = [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]
    meta = {"name": "p", "labels": {"k": "v"}, "finalizers": ["f"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}}


def refused(kind: str, patch: Any) -> tuple[int, str]:
    with pytest.raises(StatusError) as raised:
        patched(live(), sent(kind, patch))
    return raised.value.code, raised.value.message


def test_each_kind_changes_lists_in_its_way() -> None:
    change = {"spec": {"containers": [{"name": "b", "image": "z"}]}}
    assert patched(live(), sent(MERGE, change))["spec"]["containers"] == [{"name": "b", "image": "z"}]
    merged = patched(live(), sent(STRATEGIC, change))["spec"]["containers"]
    assert {one["name"]: one["image"] for one in merged} == {"a": "x", "b": "z"}
    operations = [{"op": "replace", "path": "/spec/containers/1/image", "value": "z"}]
    assert patched(live(), sent(JSON, operations))["spec"]["containers"][1]["image"] == "z"
    assert patched(live(), sent(MERGE, {"metadata": {"labels": None}}))["metadata"].get("labels") is None


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"$patch": "x"}, "unknown patch type: x in map: map[$patch:x]"),
        ({"spec": {"$patch": "merge"}}, "unknown patch type: merge in map: map[$patch:merge]"),
        ({"spec": {"$retainKeys": "a"}}, "invalid patch format of retainKeys"),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": "f"}}, "invalid patch format of primitive list"),
        ({"spec": {"$setElementOrder/containers": {}}}, "invalid patch format of setElementOrder list"),
    ],
)
def test_directives_that_are_not_known(patch: Any, message: str) -> None:
    """Source: mergepatch ErrBadPatchType, ErrBadPatchFormat."""
    assert refused(STRATEGIC, patch) == (400, message)


def test_merge_is_a_directive_of_items_of_lists() -> None:
    patch = {"spec": {"containers": [{"name": "a", "image": "z", "$patch": "merge"}]}}
    try:
        patched(live(), sent(STRATEGIC, patch))
    except StatusError as error:
        assert "unknown patch type" not in error.message
    removed = patched(live(), sent(STRATEGIC, {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}))
    assert [one["name"] for one in removed["spec"]["containers"]] == ["b"]


@pytest.mark.parametrize(
    ("kind", "patch"), [(MERGE, {"metadata": None}), (MERGE, {"metadata": "x"}), (STRATEGIC, {"metadata": None})]
)
def test_an_object_keeps_its_metadata(kind: str, patch: Any) -> None:
    assert refused(kind, patch) == (422, "metadata: Required value")
    assert refused(JSON, [{"op": "remove", "path": "/metadata"}]) == (422, "metadata: Required value")


def test_a_json_patch_that_cannot_be_applied() -> None:
    message = "the server rejected our request due to an error in our request"
    assert refused(JSON, [{"op": "remove", "path": "/none"}]) == (422, message)
    assert refused(JSON, [{"op": "test", "path": "/kind", "value": "x"}]) == (422, message)


def test_the_number_of_operations_is_limited() -> None:
    operation = {"op": "test", "path": "/kind", "value": "Pod"}
    assert MAX_OPERATIONS == 10_000
    assert patched(live(), sent(JSON, [operation] * MAX_OPERATIONS)) == live()
    text = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert refused(JSON, [operation] * (MAX_OPERATIONS + 1)) == (413, text)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"spec": {"hostNetwork": "x"}}, "unrecognized type: bool"),
        ({"spec": {"priority": "x"}}, "unrecognized type: int32"),
        ({"spec": {"priority": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"hostname": 5}}, "cannot convert int64 to string"),
        ({"spec": {"restartPolicy": 5}}, "cannot convert int64 to v1.RestartPolicy"),
        ({"spec": {"tolerations": "x"}}, "cannot restore slice from string"),
        ({"spec": {"nodeSelector": "x"}}, "cannot restore map from string"),
        ({"spec": {"securityContext": "x"}}, "cannot restore struct from: string"),
    ],
)
def test_a_value_of_a_wrong_type(patch: Any, why: str) -> None:
    """Source: runtime/converter.go for a strategic patch; the decoder's words for the others."""
    strategic, merge = sent(STRATEGIC, patch), sent(MERGE, patch)
    changed = patched(live(), merge)
    with pytest.raises(ManifestError) as raised:
        from_dict(changed, Pod)
    found = undecodable(changed, strategic, raised.value)
    assert (found.code, found.message.endswith(f": {why}")) == (422, True), found.message
    plain = undecodable(changed, merge, raised.value)
    assert plain.message.endswith(f": {raised.value.cause}")
    assert plain.message.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"v1\\"')
    (cause,) = plain.details["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "patch")

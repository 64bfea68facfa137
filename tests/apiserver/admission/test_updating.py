"""A change of any object: which version it changes, and the metadata that all kinds have."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import Conflict, Invalid
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer


def stored(api: APIServer, kind: str, api_version: str, /, **fields: Any) -> dict[str, Any]:
    data = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}
    return to_dict(api.create(from_dict(data)))


def test_what_is_outdated_is_a_conflict_even_where_it_is_invalid() -> None:
    """Source: registry.Store.Update, which compares versions before BeforeUpdate validates."""
    api = APIServer()
    made = stored(api, "ConfigMap", "v1", data={"a": "b"})
    api.update(from_dict({**made, "data": {"a": "c"}}))
    with pytest.raises(Conflict, match="the object has been modified"):
        api.update(from_dict({**made, "data": {"a/b": "c"}}))
    made["metadata"]["resourceVersion"] = ""
    made["metadata"]["uid"] = "other"
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: other"):
        api.update(from_dict({**made, "data": {"a/b": "c"}}))


@pytest.mark.parametrize(
    ("kind", "api_version", "fields", "refused"),
    [
        ("ConfigMap", "v1", {}, ""),
        ("StorageClass", "storage.k8s.io/v1", {"provisioner": "a.example/p"}, ""),
        ("PodDisruptionBudget", "policy/v1", {"spec": {"minAvailable": 1}}, "poddisruptionbudgets.policy"),
        ("Lease", "coordination.k8s.io/v1", {}, "leases.coordination.k8s.io"),
        ("RuntimeClass", "node.k8s.io/v1", {"handler": "h"}, "runtimeclasses.node.k8s.io"),
    ],
)
def test_some_kinds_want_to_know_the_version_that_is_changed(
    kind: str, api_version: str, fields: dict[str, Any], refused: str
) -> None:
    """Source: AllowUnconditionalUpdate; the message names the resource, not the kind."""
    api = APIServer()
    made = stored(api, kind, api_version, **fields)
    del made["metadata"]["resourceVersion"]
    made["metadata"]["labels"] = {"a": "b"}
    if not refused:
        assert to_dict(api.update(from_dict(made)))["metadata"]["labels"] == {"a": "b"}
        return
    with pytest.raises(Invalid) as error:
        api.update(from_dict(made))
    text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    assert str(error.value) == f'{refused} "x" is invalid: {text}'


def test_metadata_is_checked_for_all_kinds_and_again_for_each() -> None:
    """Source: rest.validateCommonFields: the message names a problem once, the causes twice."""
    api = APIServer()
    made = stored(api, "VolumeAttachment", "storage.k8s.io/v1", spec={
        "attacher": "a.example", "nodeName": "n", "source": {"persistentVolumeName": "v"},
    })  # fmt: skip
    made["metadata"]["labels"] = {"a b": "c"}
    with pytest.raises(Invalid) as error:
        api.update(from_dict(made))
    assert str(error.value).count("metadata.labels: Invalid value") == 1
    assert [cause.field for cause in error.value.errors] == ["metadata.labels"] * 3
    made["metadata"]["labels"] = {}
    made["metadata"]["finalizers"] = ["a b"]
    with pytest.raises(Invalid) as error:
        api.update(from_dict(made))
    assert {cause.field for cause in error.value.errors} == {"metadata.finalizers", "metadata.finalizers[0]"}


def with_a_deleted_object() -> tuple[APIServer, dict[str, Any]]:
    """Return an API server whose ConfigMap is kept by a finalizer after its deletion, and the object of before."""
    api = APIServer()
    made = stored(api, "ConfigMap", "v1", data={})
    made["metadata"]["finalizers"] = ["a.example/f"]
    api.update(from_dict(made))
    api.delete("ConfigMap", "x", "default")
    return api, made


def test_no_finalizer_is_added_to_what_is_being_deleted() -> None:
    """Source: ValidateNoNewFinalizers, whose list is a Go value."""
    api, _ = with_a_deleted_object()
    dying = to_dict(api.store.get("ConfigMap", "x", "default"))
    dying["metadata"]["finalizers"] = ["a.example/h", "a.example/f", "a.example/g"]
    with pytest.raises(Invalid) as error:
        api.update(from_dict(dying))
    assert str(error.value).endswith(
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"a.example/g", "a.example/h"}'
    )


def test_no_update_takes_a_deletion_back() -> None:
    api, made = with_a_deleted_object()
    api.update(from_dict({**made, "metadata": {**made["metadata"], "resourceVersion": ""}}))
    assert api.store.get("ConfigMap", "x", "default").metadata.deletion_timestamp is not None


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (
            {"apiVersion": "a/b/c"},
            'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        ),
        (
            {"apiVersion": "v1", "kind": "Event"},
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}: /v1, '
            "Kind=Event is disallowed from being an owner",
        ),
    ],
)
def test_owners_are_shown_as_json(owner: dict[str, str], expected: str) -> None:
    """Source: validateOwnerReference, GroupVersionKind.String."""
    api = APIServer()
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "n", "uid": "u", **owner}]
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": owners}}
    with pytest.raises(Invalid) as error:
        api.create(from_dict(data))
    assert [str(cause) for cause in error.value.errors] == [expected]


def test_a_runtime_class_tolerates_each_taint_once() -> None:
    """Source: node validation validateTolerations."""
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    scheduling = {"tolerations": [toleration, {**toleration, "tolerationSeconds": 3}]}
    with pytest.raises(Invalid) as error:
        stored(APIServer(), "RuntimeClass", "node.k8s.io/v1", handler="h", scheduling=scheduling)
    assert [str(cause) for cause in error.value.errors] == [
        'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"NoExecute",'
        '"TolerationSeconds":3}'
    ]

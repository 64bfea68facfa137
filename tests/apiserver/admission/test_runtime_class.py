"""What a RuntimeClass does to the pods that name it."""

from typing import Any

import pytest

from kitlib.api.errors import Forbidden
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.runtime_class import merge_tolerations


def pod(**spec: Any) -> Any:
    containers = [{"name": "c", "image": "img"}]
    meta = {"name": "p", "namespace": "default"}
    return from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}})


@pytest.fixture
def api() -> APIServer:
    made = APIServer()
    tolerations = [{"key": "kata", "operator": "Exists"}]
    made.create(
        from_dict(
            {
                "apiVersion": "node.k8s.io/v1",
                "kind": "RuntimeClass",
                "metadata": {"name": "kata"},
                "handler": "kata",
                "overhead": {"podFixed": {"memory": "120Mi"}},
                "scheduling": {"nodeSelector": {"kata": "yes"}, "tolerations": tolerations},
            }
        )
    )
    return made


def test_a_pod_gets_overhead_selector_and_tolerations(api: APIServer) -> None:
    made = api.create(pod(runtimeClassName="kata", nodeSelector={"disk": "ssd"}))
    assert {name: str(amount) for name, amount in made.spec.overhead.items()} == {"memory": "120Mi"}
    assert made.spec.node_selector == {"disk": "ssd", "kata": "yes"}
    assert made.spec.tolerations[-1].key == "kata"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a class that does not exist": (
        {"runtimeClassName": "nope"},
        'pod rejected: RuntimeClass "nope" not found',
    ),
    "an overhead without a class": (
        {"overhead": {"cpu": "1"}},
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ),
    "another overhead than the class's": (
        {"runtimeClassName": "kata", "overhead": {"memory": "1Mi"}},
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ),
    "a node selector that contradicts the class": (
        {"runtimeClassName": "kata", "nodeSelector": {"kata": "no"}},
        "conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no",
    ),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(api: APIServer, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(Forbidden) as refused:
        api.create(pod(**spec))
    assert str(refused.value) == f'pods "p" is forbidden: {message}'


KEY = {"key": "a", "operator": "Exists"}
ANY = {"operator": "Exists"}
LIMITED = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
LONGER = {**LIMITED, "tolerationSeconds": 9}
VALUE = {"key": "a", "operator": "Equal", "value": "x"}
MERGED: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "different ones stay": ([VALUE], [LONGER], [VALUE, LONGER]),
    "the same one stands once": ([VALUE], [VALUE], [VALUE]),
    "one for everything covers the others": ([VALUE, LIMITED], [ANY], [ANY]),
    "the longer time covers the shorter one": ([LIMITED], [LONGER], [LONGER]),
    "any value covers a certain value": ([VALUE], [KEY], [KEY]),
}


@pytest.mark.parametrize(("first", "second", "expected"), MERGED.values(), ids=MERGED.keys())
def test_tolerations_are_merged(first: list[Any], second: list[Any], expected: list[Any]) -> None:
    def made(values: list[Any]) -> Any:
        return pod(tolerations=values).spec.tolerations

    assert merge_tolerations(made(first), made(second)) == made(expected)

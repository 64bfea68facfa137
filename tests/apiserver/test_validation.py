"""Validation names the field and the rule, in Kubernetes' words; what it accepts, the kubelet can work with."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate_pod_create
from kitlib.apiserver.validation.pod_update import validate_pod_update

cpus = st.integers(1, 64_000)
sizes = st.integers(1, 2**40)


def pod(**container: Any) -> Pod:
    spec = {"containers": [{"name": "main", "image": "nginx", **container}]}
    return set_defaults(from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}))


def problems(one: Pod) -> list[str]:
    one.metadata.namespace = one.metadata.namespace or "default"
    return [str(error) for error in validate_pod_create(one)]


@given(cpus, cpus, sizes, sizes)
def test_a_request_may_be_as_large_as_its_limit_and_no_larger(request: int, limit: int, least: int, most: int) -> None:
    resources = {
        "requests": {"cpu": f"{request}m", "memory": str(least)},
        "limits": {"cpu": f"{limit}m", "memory": str(most)},
    }
    found = problems(pod(resources=resources))
    wrong = [name for name, over in (("cpu", request > limit), ("memory", least > most)) if over]
    assert [text.split(":")[0] for text in found] == ["spec.containers[0].resources.requests"] * len(wrong)
    for name, text in zip(wrong, found, strict=True):
        assert f"must be less than or equal to {name} limit" in text


@given(st.text(alphabet="abz09-.AZ_", max_size=70))
def test_a_container_is_named_by_a_dns_label(name: str) -> None:
    import re

    right = bool(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)) and len(name) <= 63
    found = [text for text in problems(pod(name=name)) if text.startswith("spec.containers[0].name")]
    assert right == (not found)


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"name": ""}, ["spec.containers[0].name: Required value"]),
        ({"image": ""}, ["spec.containers[0].image: Required value"]),
        (
            {"resources": {"requests": {"cpu": "-1"}}},
            ["spec.containers[0].resources.requests[cpu]: Invalid value", "must be greater than or equal to 0"],
        ),
        (
            {"resources": {"limits": {"example.com/gpu": "1500m"}}},
            ["spec.containers[0].resources.limits[example.com/gpu]: Invalid value", "must be an integer"],
        ),
        ({"resources": {"requests": {"gpu": "1"}}}, ["must be a standard resource type or fully qualified"]),
    ],
)
def test_the_message_names_field_and_rule(container: dict[str, Any], words: list[str]) -> None:
    found = "\n".join(problems(pod(**container)))
    for word in words:
        assert word in found


def test_two_containers_cannot_share_a_name() -> None:
    one = pod()
    one.spec.containers = [*one.spec.containers, *pod().spec.containers]
    assert any("spec.containers[1].name: Duplicate value" in text for text in problems(one))


def test_a_running_pod_may_not_change_its_node_or_its_requests() -> None:
    old, new = pod(resources={"requests": {"cpu": "1"}}), pod(resources={"requests": {"cpu": "2"}})
    for one in (old, new):
        one.metadata.namespace = "default"
        one.metadata.resource_version = "1"
    found = "\n".join(map(str, validate_pod_update(new, old)))
    assert "spec: Forbidden: pod updates may not change fields other than" in found

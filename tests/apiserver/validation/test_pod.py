"""Pods as a whole: ports on the host's network, in pods and in templates."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation.pod import validate_pod_create, validate_pod_host_network_deps


@pytest.mark.parametrize(
    ("port", "pod_ok", "template_ok"),
    [
        ({"containerPort": 80, "hostPort": 80}, True, True),
        ({"containerPort": 80, "hostPort": 81}, False, False),
        ({"containerPort": 80}, False, True),
    ],
)
def test_on_the_hosts_network_ports_are_the_hosts(port: dict[str, Any], pod_ok: bool, template_ok: bool) -> None:
    """Source: validateHostNetwork."""
    containers = [
        {"name": "a", "image": "x"},
        {"name": "b", "image": "x", "ports": [{"containerPort": 1, "hostPort": 1}, port]},
    ]
    spec = from_dict({"spec": {"containers": containers, "hostNetwork": True}}, Pod).spec
    for template, valid in ((False, pod_ok), (True, template_ok)):
        found = [str(error) for error in validate_pod_host_network_deps(spec, "f", template=template)]
        assert bool(found) is not valid
        assert all(error.startswith("f[1].ports[1].hostPort: Invalid value") for error in found)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"ephemeralContainers": [{"name": "e", "image": "x"}]}, "spec.ephemeralContainers"),
        ({"nodeName": "n", "schedulingGates": [{"name": "g"}]}, "spec.nodeName"),
        ({"nodeName": "n"}, ""),
        ({"schedulingGates": [{"name": "g"}]}, ""),
    ],
)
def test_what_a_new_pod_may_not_have(spec: dict[str, Any], field: str) -> None:
    containers = [{"name": "c", "image": "x", "imagePullPolicy": "Always"}]
    whole = {"containers": containers, "terminationGracePeriodSeconds": 30, **spec}
    made = from_dict({"metadata": {"name": "p", "namespace": "n"}, "spec": whole}, Pod)
    found = [str(error) for error in validate_pod_create(made) if ": Forbidden" in str(error)]
    assert [error.partition(":")[0] for error in found] == ([field] if field else [])

"""The port of a pod that a Service's port leads to."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod, ServicePort
from kitlib.api.serialize import from_dict
from kitlib.api.service_ports import find_port

WEB = {"name": "web", "containerPort": 8080}
POD: Pod = from_dict(
    {
        "spec": {
            "initContainers": [
                {"name": "once", "ports": [{"name": "old", "containerPort": 1}]},
                {"name": "proxy", "restartPolicy": "Always", "ports": [{"name": "proxy", "containerPort": 15001}]},
            ],
            "containers": [
                {"name": "a", "ports": [{**WEB, "protocol": "UDP", "containerPort": 53}, WEB]},
                {"name": "b", "ports": [{**WEB, "containerPort": 9090}]},
            ],
        }
    },
    Pod,
)


@pytest.mark.parametrize(
    ("port", "number"),
    [
        ({"port": 80}, 80),
        ({"port": 80, "targetPort": 0}, 80),
        ({"port": 80, "targetPort": 8081}, 8081),
        ({"port": 80, "targetPort": "web"}, 8080),
        ({"port": 80, "targetPort": "web", "protocol": "UDP"}, 53),
        ({"port": 80, "targetPort": "proxy"}, 15001),
        ({"port": 80, "targetPort": "old"}, None),
        ({"port": 80, "targetPort": "proxy", "protocol": "SCTP"}, None),
    ],
)
def test_a_named_port_is_the_first_of_its_protocol(port: dict[str, Any], number: int | None) -> None:
    """Source: pkg/api/v1/pod util.go FindPort."""
    assert find_port(POD, from_dict(port, ServicePort)) == number

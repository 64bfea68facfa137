"""A status that contradicts itself or its object is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import Invalid
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer

POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SPECS: dict[str, dict[str, Any]] = {
    "PersistentVolumeClaim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    "ReplicationController": {"selector": {"a": "b"}, "template": POD},
    "ResourceQuota": {},
    "Service": {"ports": [{"port": 80}], "type": "LoadBalancer"},
}
INGRESS = "status.loadBalancer.ingress"
STATES = (
    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", '
    '"NodeResizePending"'
)
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("PersistentVolumeClaim", {"capacity": {"storage": "1Gi"}}, []),
    (
        "PersistentVolumeClaim",
        {"capacity": {"storage": "-1"}},
        ["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
    ),
    (
        "PersistentVolumeClaim",
        {"allocatedResources": {"cpu": "1"}},
        ['status.allocatedResources: Unsupported value: "cpu": supported values: "storage"'],
    ),
    (
        "PersistentVolumeClaim",
        {"allocatedResourceStatuses": {"storage": "Done"}},
        [f'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: {STATES}'],
    ),
    (
        "ReplicationController",
        {"replicas": 1, "readyReplicas": 1, "availableReplicas": 2},
        [
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ],
    ),
    (
        "ResourceQuota",
        {"used": {"pods": "500m"}},
        ['status.used[pods]: Invalid value: "500m": must be an integer'],
    ),
    ("Service", {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "VIP"}]}}, []),
    (
        "Service",
        {"loadBalancer": {"ingress": [{"hostname": "1.2.3.4", "ipMode": "VIP"}]}},
        [
            f"{INGRESS}[0].ipMode: Forbidden: may not be specified when `ip` is not set",
            f'{INGRESS}[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
        ],
    ),
    (
        "Service",
        {"loadBalancer": {"ingress": [{"ip": "01.2.3.4", "ipMode": "Direct"}]}},
        [
            f'{INGRESS}[0].ip: Invalid value: "01.2.3.4": must not have leading 0s',
            f'{INGRESS}[0].ipMode: Unsupported value: "Direct": supported values: "Proxy", "VIP"',
        ],
    ),
]


@pytest.mark.parametrize(("kind", "status", "expected"), CASES)
def test_a_status_is_checked(kind: str, status: dict[str, Any], expected: list[str]) -> None:
    api = APIServer()
    data = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": SPECS[kind]}
    changed = from_dict({**to_dict(api.create(from_dict(data))), "status": status})
    if not expected:
        api.update_status(changed)
        return
    with pytest.raises(Invalid) as refused:
        api.update_status(changed)
    assert [str(error) for error in refused.value.errors] == expected


def test_only_a_balanced_service_has_points_of_entry() -> None:
    api = APIServer()
    spec = {"ports": [{"port": 80}]}
    made = to_dict(
        api.create(from_dict({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": spec}))
    )
    with pytest.raises(Invalid) as refused:
        api.update_status(from_dict({**made, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}))
    assert [str(error) for error in refused.value.errors] == [
        f"{INGRESS}: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]

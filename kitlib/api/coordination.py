"""coordination.k8s.io/v1 Lease and node.k8s.io/v1 RuntimeClass.

Source: k8s.io/api/coordination/v1/types.go, k8s.io/api/node/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from kitlib.api.core import ResourceList, Toleration
from kitlib.api.meta import KubeObject, KubeStruct
from kitlib.api.numbers import Int32


class LeaseSpec(KubeStruct):
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: Int32 | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(KubeObject):
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class Overhead(KubeStruct):
    pod_fixed: ResourceList = {}


class Scheduling(KubeStruct):
    node_selector: dict[str, str] = {}
    tolerations: list[Toleration] = []


class RuntimeClass(KubeObject):
    api_version: str = "node.k8s.io/v1"
    kind: str = "RuntimeClass"
    handler: str = ""
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None

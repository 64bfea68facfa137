"""core/v1: ResourceQuota and LimitRange.

Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.container import ResourceList
from kitlib.api.meta import KubeObject, KubeStruct


class ScopedResourceSelectorRequirement(KubeStruct):
    scope_name: str = ""
    operator: str = ""
    values: list[str] = []


class ScopeSelector(KubeStruct):
    match_expressions: list[ScopedResourceSelectorRequirement] = []


class ResourceQuotaSpec(KubeStruct):
    hard: ResourceList = {}
    scopes: list[str] = []
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(KubeStruct):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(KubeObject):
    api_version: str = "v1"
    kind: str = "ResourceQuota"
    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)


class LimitRangeItem(KubeStruct):
    type: str = ""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(KubeStruct):
    limits: list[LimitRangeItem] = []


class LimitRange(KubeObject):
    api_version: str = "v1"
    kind: str = "LimitRange"
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)

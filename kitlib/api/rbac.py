"""rbac.authorization.k8s.io/v1: roles and their bindings.

Source: k8s.io/api/rbac/v1/types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.meta import KubeObject, KubeStruct, LabelSelector


class PolicyRule(KubeStruct):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []
    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs", default_factory=list)


class Subject(KubeStruct):
    kind: str = ""
    api_group: str = ""
    name: str = ""
    namespace: str = ""


class RoleRef(KubeStruct):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class AggregationRule(KubeStruct):
    cluster_role_selectors: list[LabelSelector] = []


class Role(KubeObject):
    api_version: str = "rbac.authorization.k8s.io/v1"
    kind: str = "Role"
    rules: list[PolicyRule] = []


class ClusterRole(KubeObject):
    api_version: str = "rbac.authorization.k8s.io/v1"
    kind: str = "ClusterRole"
    rules: list[PolicyRule] = []
    aggregation_rule: AggregationRule | None = None


class RoleBinding(KubeObject):
    api_version: str = "rbac.authorization.k8s.io/v1"
    kind: str = "RoleBinding"
    subjects: list[Subject] = []
    role_ref: RoleRef = msgspec.field(default_factory=RoleRef)


class ClusterRoleBinding(KubeObject):
    api_version: str = "rbac.authorization.k8s.io/v1"
    kind: str = "ClusterRoleBinding"
    subjects: list[Subject] = []
    role_ref: RoleRef = msgspec.field(default_factory=RoleRef)

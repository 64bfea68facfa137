"""The merge rules of fields: one table of the built-in kinds for strategic merge, server-side apply and OpenAPI.

A rule belongs to a type and a field's name: `ports` of a Service are merged by their port, those of a NetworkPolicy
are replaced as a whole. A list that is not in the table is atomic. The rules of a custom resource are in its schema.

Source: patchStrategy, patchMergeKey, listType, listMapKey, mapType of k8s.io/api 1.36; x-kubernetes-list-type,
x-kubernetes-list-map-keys, x-kubernetes-map-type of CustomResourceDefinitions.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from kitlib.api.meta import KubeObject, KubeStruct

Shape = type[KubeStruct] | Mapping[str, Any] | None
"""The shape of a merged value: a type of the kit, the schema of a custom resource, or None = unknown."""


class MergeRule(NamedTuple):
    """The merge rule of one field.

    Attributes:
        key: the field that identifies the list's items in a strategic merge; "" = the list is replaced.
        keys: the fields that identify them in server-side apply; () = the list is atomic or a set.
        is_set: whether it is a list of plain values, each with its own owner.
        strategy: the strategy of a strategic merge, if it does not follow from `key`.
        is_atomic: whether server-side apply treats the mapping as one field.
    """

    key: str = ""
    keys: tuple[str, ...] = ()
    is_set: bool = False
    strategy: str = ""
    is_atomic: bool = False

    @property
    def retains_keys(self) -> bool:
        """Whether a change keeps only the manifest's fields, as in a union: a new member replaces the old one."""
        return "retainKeys" in self.strategy

    @property
    def merges_values(self) -> bool:
        """Whether a strategic merge joins two lists of plain values."""
        return self.is_set and self.strategy == "merge"


class MergeField(NamedTuple):
    """A field's rule, and the shape of its value or of its items."""

    rule: MergeRule
    shape: Shape


def _keyed(*keys: str, strategy: str = "") -> MergeRule:
    return MergeRule(keys[0], keys, strategy=strategy)


_SET, _ATOMIC, _NAME, _TYPE = MergeRule(is_set=True), MergeRule(is_atomic=True), _keyed("name"), _keyed("type")
_MERGED_SET = MergeRule(is_set=True, strategy="merge")
_UNION = _keyed("name", strategy="merge,retainKeys")
_OF_CONTAINERS = {
    "env": _NAME,
    "ports": _keyed("containerPort", "protocol"),
    "volumeDevices": _keyed("devicePath"),
    "volumeMounts": _keyed("mountPath"),
}
RULES: dict[str, dict[str, MergeRule]] = {
    "CSIDriverSpec": {"volumeLifecycleModes": _SET},
    "CSINodeSpec": {"drivers": _NAME},
    "Container": _OF_CONTAINERS,
    "ContainerRestartRuleOnExitCodes": {"values": _SET},
    "ContainerStatus": {"allocatedResourcesStatus": _NAME, "volumeMounts": _keyed("mountPath")},
    "DeploymentSpec": {"strategy": MergeRule(strategy="retainKeys")},
    "Endpoint": {"addresses": _SET},
    "EphemeralContainer": _OF_CONTAINERS,
    "JobStatus": {"conditions": MergeRule("type")},
    "NodeSpec": {"podCIDRs": _MERGED_SET},
    "NodeStatus": {"addresses": _TYPE},
    "ObjectMeta": {"finalizers": _MERGED_SET, "ownerReferences": _keyed("uid")},
    "PodDisruptionBudgetSpec": {"selector": MergeRule(strategy="replace")},
    "PodFailurePolicyOnExitCodesRequirement": {"values": _SET},
    "PodSpec": {
        "containers": _NAME,
        "ephemeralContainers": _NAME,
        "hostAliases": _keyed("ip"),
        "imagePullSecrets": _NAME,
        "initContainers": _NAME,
        "nodeSelector": _ATOMIC,
        "resourceClaims": _UNION,
        "schedulingGates": _NAME,
        "topologySpreadConstraints": _keyed("topologyKey", "whenUnsatisfiable"),
        "volumes": _UNION,
    },
    "PodStatus": {"hostIPs": MergeRule("ip"), "podIPs": _keyed("ip"), "resourceClaimStatuses": _UNION},
    "ReplicationControllerSpec": {"selector": _ATOMIC},
    "ResourceClaimStatus": {
        "devices": MergeRule(keys=("driver", "device", "pool", "shareID")),
        "reservedFor": _keyed("uid"),
    },
    "ResourceRequirements": {"claims": MergeRule(keys=("name",))},
    "ResourceStatus": {"resources": MergeRule(keys=("resourceID",))},
    "Scheduling": {"nodeSelector": _ATOMIC},
    "ServiceAccount": {"secrets": _NAME},
    "ServiceSpec": {"ports": _keyed("port", "protocol"), "selector": _ATOMIC},
    "UncountedTerminatedPods": {"failed": _SET, "succeeded": _SET},
}
"""The rules by type and field; `conditions` of all other types have the same rule."""
NOT_MERGED_CONDITIONS = frozenset({"AllocatedDeviceStatus", "CertificateSigningRequestStatus"})
"""The types whose conditions have keys for server-side apply but none for a strategic merge."""
ATOMIC_TYPES = frozenset(
    [
        "ConfigMapKeySelector",
        "CrossVersionObjectReference",
        "EndpointAddress",
        "EndpointPort",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ResourceFieldSelector",
        "RoleRef",
        "ScopeSelector",
        "SecretKeySelector",
        "SecretReference",
        "ServiceBackendPort",
        "Subject",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
    ]
)
"""The mappings that server-side apply treats as one field."""
_GRANULAR = frozenset({("PersistentVolumeSpec", "claimRef")})
"""The fields of an atomic type that are granular nevertheless: each of their own fields has an owner."""
_NONE = MergeField(MergeRule(), None)
_CONDITIONS = MergeField(_TYPE, None)


def merge_field(shape: Shape, name: str) -> MergeField:
    """Return the rule of a field. A value of unknown shape is a plain mapping, its conditions are merged by type."""
    if isinstance(shape, Mapping):
        return _field_of_schema(shape, name)
    if shape is not None:
        found = _fields(shape).get(name)
        if found is not None:
            return found
    return _CONDITIONS if name == "conditions" else _NONE


def _field_of_schema(schema: Mapping[str, Any], name: str) -> MergeField:
    """Return the rule of a custom resource's field from the schema; metadata has the rules of every object's."""
    below = (schema.get("properties") or {}).get(name)
    # Schemas of custom resources usually leave metadata open; it has the type of ObjectMeta all the same.
    if name == "metadata" and not (below or {}).get("properties"):
        return merge_field(KubeObject, name)
    if below is None:
        below = schema.get("additionalProperties")
    if not isinstance(below, Mapping):
        return _NONE
    if below.get("type") != "array":
        return MergeField(MergeRule(is_atomic=below.get("x-kubernetes-map-type") == "atomic"), below)
    kind, items = below.get("x-kubernetes-list-type"), below.get("items")
    keys = tuple(below.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ()
    return MergeField(MergeRule(keys=keys, is_set=kind == "set"), items if isinstance(items, Mapping) else None)


def merge_type(*objects: Mapping[str, Any]) -> type[KubeStruct] | None:
    """Return the type of the first object that has a kind; None where none has."""
    from kitlib.api.serialize import type_of

    for obj in objects:
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if isinstance(version, str) and isinstance(kind, str):
            return type_of(version, kind)
    return None


@cache
def _fields(type_: type[KubeStruct]) -> dict[str, MergeField]:
    hints = typing.get_type_hints(type_)
    made = {}
    for field in msgspec.structs.fields(type_):
        name, below = field.encode_name, _below(hints[field.name])
        rule = RULES.get(type_.__name__, {}).get(name)
        if rule is None and name == "conditions":
            rule = MergeRule(keys=("type",)) if type_.__name__ in NOT_MERGED_CONDITIONS else _TYPE
        if rule is None and below is not None and below.__name__ in ATOMIC_TYPES:
            rule = MergeRule(is_atomic=(type_.__name__, name) not in _GRANULAR and not _is_list(hints[field.name]))
        made[name] = MergeField(rule or MergeRule(), below)
    return made


def _is_list(hint: Any) -> bool:
    return any(typing.get_origin(one) is list for one in (hint, *typing.get_args(hint)))


def _below(hint: Any) -> type[KubeStruct] | None:
    """Return the struct in a type hint: the hint, an optional struct, or the item of a list; None without one."""
    if isinstance(hint, type) and issubclass(hint, KubeStruct):
        return hint
    if typing.get_origin(hint) in (list, typing.Union, types.UnionType):
        return next((found for one in typing.get_args(hint) if (found := _below(one)) is not None), None)
    return None

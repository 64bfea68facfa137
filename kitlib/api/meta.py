"""The parts that all Kubernetes objects share: type, metadata, owners, selectors; and the base of all object types.

Objects are `msgspec.Struct`s whose attributes are the manifest's fields in Python's case
(`topology_spread_constraints` for `topologySpreadConstraints`). A field that a manifest does not set is `None`, an
empty list or an empty dict; unknown fields are kept and written out again (see `kitlib.api.serialize`).

Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec


class KubeStruct(
    msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, dict=True, forbid_unknown_fields=True
):
    """Base of all API types: keyword-only, camelCase on the wire, unset fields left out.

    Fields of a manifest that the type does not declare are in `unknown_fields` of the struct they belong to.
    """

    # Class attributes with values in the `__dict__` of the few instances that have them. Other instances have no
    # `__dict__`, which saves its memory.
    unknown_fields_: ClassVar[dict[str, Any] | None] = None
    created_: ClassVar[int] = 0
    """The version of the store at which the object was created."""

    if TYPE_CHECKING:

        def __copy__(self) -> Self:
            """Return a shallow copy; every msgspec.Struct has this method."""

    @property
    def unknown_fields(self) -> dict[str, Any]:
        """The fields read from a manifest that this type does not declare; empty where there are none."""
        return self.unknown_fields_ or {}


class OwnerReference(KubeStruct):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(KubeStruct):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    managed_fields: list[dict[str, Any]] = []
    self_link: str = ""


SERVER_WRITTEN = (
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields"),
    *("resourceVersion", "selfLink", "uid"),
)
"""Metadata that the API server writes.

Source: registry/rest WipeObjectMetaSystemFields, BeforeUpdate; storage PrepareObjectForStorage (selfLink).
"""


class KubeObject(KubeStruct):
    """A top-level object: `apiVersion`, `kind`, `metadata`."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def key(self) -> str:
        """The key `namespace/name`, or the name alone of an object without a namespace."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.metadata.namespace else self.metadata.name


class LabelSelectorRequirement(KubeStruct):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(KubeStruct):
    """`matchLabels` and `matchExpressions`, all of which must hold. An empty selector matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


class Condition(KubeStruct):
    """A condition of any object (`metav1.Condition`, `PodCondition`, `NodeCondition`)."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_probe_time: datetime | None = None
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None


def is_condition_true(conditions: Iterable[Condition], kind: str) -> bool:
    """Return whether there is a condition of this type with the status "True". Source: meta.IsStatusConditionTrue."""
    return any(condition.type == kind and condition.status == "True" for condition in conditions)


def with_condition(conditions: Iterable[Condition], new: Condition) -> list[Condition]:
    """Return the conditions with the new one in place of that of its type, or at the end."""
    return list({**{condition.type: condition for condition in conditions}, new.type: new}.values())


def put_condition(conditions: Sequence[Condition], new: Condition, now: datetime) -> list[Condition]:
    """Return the conditions with the new one in place of that of its type; the transition time changes with the status.

    Source: meta.SetStatusCondition.
    """
    standing = next((condition for condition in conditions if condition.type == new.type), None)
    same = standing is not None and standing.status == new.status
    new.last_transition_time = standing.last_transition_time if same and standing is not None else now
    return with_condition(conditions, new)

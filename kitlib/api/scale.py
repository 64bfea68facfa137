"""autoscaling/v1 Scale: the object of a workload's `scale` subresource.

Source: k8s.io/api/autoscaling/v1 types.go; registry/apps/deployment/storage scaleFromDeployment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from kitlib.api.convert import convert
from kitlib.api.meta import KubeObject, KubeStruct, ObjectMeta
from kitlib.api.numbers import Int32
from kitlib.api.selectors import format_label_selector
from kitlib.api.serialize import to_dict


class ScaleSpec(KubeStruct):
    replicas: Int32 = 0


class ScaleStatus(KubeStruct):
    replicas: Int32 = 0
    selector: str = ""


class Scale(KubeObject):
    api_version: str = "autoscaling/v1"
    kind: str = "Scale"
    spec: ScaleSpec = msgspec.field(default_factory=ScaleSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


def is_scalable(obj: KubeObject) -> bool:
    """Return whether it is a workload with a number of replicas in its specification."""
    return hasattr(getattr(obj, "spec", None), "replicas")


def scale_of(obj: KubeObject) -> Scale:
    """Return the scale of a workload."""
    meta, data = obj.metadata, to_dict(obj)
    selector = data.get("spec", {}).get("selector") or {}
    if obj.kind == "ReplicationController":
        selector = {"matchLabels": selector}
    status = ScaleStatus((data.get("status") or {}).get("replicas", 0), format_label_selector(selector))
    kept = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        resource_version=meta.resource_version,
        creation_timestamp=meta.creation_timestamp,
    )
    return Scale(metadata=kept, spec=ScaleSpec(data.get("spec", {}).get("replicas", 1)), status=status)


class ScalePaths(NamedTuple):
    """The JSON paths of the scale's values in a custom object, as its definition names them.

    Attributes:
        spec_replicas: the path of the desired number, `.spec.replicas`.
        status_replicas: the path of the actual number.
        selector: the path of the label selector as text; "" where the status has none.

    Source: apiextensions-apiserver pkg/registry/customresource/etcd.go scaleFromCustomResource.
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""

    @classmethod
    def of(cls, scale: Mapping[str, Any]) -> ScalePaths:
        """Return the paths of a definition's `subresources.scale`."""
        names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
        return cls(*(str(scale.get(name) or "") for name in names))

    def scale_of(self, obj: Mapping[str, Any]) -> Scale | None:
        """Return the scale of a custom object in the wire form; None for one without a desired number."""
        wanted = _at(obj, self.spec_replicas)
        if not isinstance(wanted, int):
            return None
        found, selector = _at(obj, self.status_replicas), _at(obj, self.selector) if self.selector else ""
        meta = obj["metadata"]
        kept = {name: meta[name] for name in _KEPT if name in meta}
        status = {"replicas": found if isinstance(found, int) else 0, "selector": selector or ""}
        made = {"metadata": kept, "spec": {"replicas": wanted}, "status": status}
        return convert(made, Scale)

    def with_replicas(self, obj: Mapping[str, Any], replicas: int) -> dict[str, Any]:
        """Return the object with another desired number."""
        return _with(obj, self.spec_replicas.strip(".").split("."), replicas)


_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _at(obj: Any, path: str) -> Any:
    for step in path.strip(".").split("."):
        obj = obj.get(step) if isinstance(obj, Mapping) else None
    return obj


def _with(obj: Mapping[str, Any], steps: list[str], value: Any) -> dict[str, Any]:
    below = obj.get(steps[0])
    inner = value if len(steps) == 1 else _with(below if isinstance(below, Mapping) else {}, steps[1:], value)
    return {**obj, steps[0]: inner}

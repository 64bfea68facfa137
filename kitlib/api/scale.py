"""autoscaling/v1 Scale: what the `scale` subresource of a workload shows and takes.

Source: k8s.io/api/autoscaling/v1 types.go; registry/apps/deployment/storage scaleFromDeployment.
"""

from __future__ import annotations

import msgspec

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
    """Whether it is a workload whose number of pods its specification names."""
    return hasattr(getattr(obj, "spec", None), "replicas")


def scale_of(obj: KubeObject) -> Scale:
    """The scale of a workload."""
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

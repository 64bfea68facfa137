"""Scales of workloads for controllers: of built-in kinds, and of custom kinds with the subresource `scale`.

Source: client-go scale.ScalesGetter; apiextensions-apiserver registry/customresource/etcd.go ScaleREST.Get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kitlib.api.errors import KitError
from kitlib.api.label_selectors import parse_label_selector
from kitlib.api.meta import KubeObject
from kitlib.api.scale import ScalePaths
from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.store.kinds import resource_of, watched_kind
from kitlib.apiserver.store.store import Store
from kitlib.controllers.controller_ref_manager import selector_of, selector_text
from kitlib.controllers.workload_status import status_data

if TYPE_CHECKING:
    from kitlib.api.apiextensions import CustomResourceDefinition

SCALABLE: Mapping[str, str] = {
    "Deployment": "deployments/scale.apps",
    "ReplicaSet": "replicasets/scale.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicationController": "replicationcontrollers/scale.autoscaling",
}
"""The built-in kinds with a scale, and the API's names for missing scales. Source: ScaleREST.Get of the registries."""


@dataclass(frozen=True)
class ScaleTarget:
    """A workload with its scale.

    Attributes:
        workload: a copy of the stored object.
        replicas: the desired number of pods.
        status_replicas: the actual number of pods.
        selector: the selector of the pods as text; "" if a custom object has none.
        paths: the places of the values in a custom object; None for a built-in kind.
    """

    workload: KubeObject
    replicas: int
    status_replicas: int
    selector: str
    paths: ScalePaths | None = None

    def matcher(self) -> Callable[[Mapping[str, str]], bool]:
        """Return a function that tells whether the selector matches the labels of a pod.

        Raises:
            SelectorError: the selector of a custom object is not a label selector.
        """
        return selector_of(self.workload).matches if self.paths is None else parse_label_selector(self.selector)

    def scaled_to(self, replicas: int) -> KubeObject:
        """Return the workload with another desired number of pods."""
        if self.paths is not None:
            return from_dict(self.paths.with_replicas(to_dict(self.workload), replicas))
        changed: Any = deepcopy(self.workload)
        changed.spec.replicas = replicas
        return changed


def find_scale(store: Store, api_version: str, kind: str, name: str, namespace: str) -> ScaleTarget:
    """Return the workload to which a reference points.

    Raises:
        KitError: the kind is not served or has no scale, or the object does not exist.

    Source: HorizontalController.scaleForResourceMappings.
    """
    resource = store.kinds.find(api_version, kind)
    if resource is None:
        raise KitError(f'no matches for kind "{kind}" in group "{api_version.rpartition("/")[0]}"')
    workload = store.find(resource, name, namespace)
    if workload is None:
        raise KitError(f'{SCALABLE.get(kind, resource.qualified)} "{name}" not found')
    return scale_of(workload, store.list("CustomResourceDefinition", copy=False))


def scale_of(workload: Any, definitions: Iterable[CustomResourceDefinition]) -> ScaleTarget:
    """Return the scale of a workload.

    Args:
        workload: the object.
        definitions: the definitions of the custom kinds.

    Raises:
        KitError: the kind has no scale, or a custom object lacks the desired number.
    """
    if watched_kind(workload) in SCALABLE:
        replicas = 1 if workload.spec.replicas is None else workload.spec.replicas
        return ScaleTarget(workload, replicas, int(status_data(workload).get("replicas", 0)), selector_text(workload))
    group, _, version = workload.api_version.rpartition("/")
    qualified = resource_of(workload).qualified
    for definition in definitions:
        if definition.serves(group, version, workload.kind):
            qualified = f"{definition.spec.names.plural}.{group}"
            below = next(one.subresources for one in definition.spec.versions if one.name == version)
            if below is not None and below.scale is not None:
                return _custom_scale(workload, ScalePaths.of(to_dict(below.scale)))
    raise KitError(f"{qualified} does not implement the scale subresource")


def _custom_scale(workload: KubeObject, paths: ScalePaths) -> ScaleTarget:
    scale = paths.scale_of(to_dict(workload))
    if scale is None:
        raise KitError(f'Internal error occurred: the spec replicas field "{paths.spec_replicas}" does not exist')
    return ScaleTarget(workload, scale.spec.replicas, scale.status.replicas, scale.status.selector, paths)

"""The verbs that write objects, on an API server of this process: apply, delete, patch, resize, evict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.api.boundary import guarded
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.release import Release
from kitlib.api.serialize import Located, from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.deletion import BACKGROUND
from kitlib.apiserver.admission.manifests import Applier
from kitlib.apiserver.store.events import record
from kitlib.apiserver.store.merge import strategic_patch
from kitlib.cluster.base import BaseCluster
from kitlib.cluster.exclusive import exclusive


class LocalVerbs(BaseCluster):
    """A cluster whose API server is an object of this process."""

    api: APIServer

    def __init__(self, api: APIServer, release: Release) -> None:
        super().__init__(api, release)
        self._applier = Applier(api)

    @exclusive
    def apply_located(self, action: str, located: Sequence[Located], create_only: bool) -> list[Any]:
        """Create or change objects, all or none; see `BaseCluster.apply_located`."""
        data = [to_dict(one.object) for one in located]
        made = self._applier.apply(located, create_only=create_only)
        self._record(action, objects=data)
        self.settle()
        return [self.api.store.standing(o) or o for o in made]

    def _delete(self, kind: str, name: str, namespace: str, grace: int | None, propagation: str) -> None:
        wanted = self.api.store.kinds.named(kind)
        place = (namespace or "default") if wanted.namespaced else ""
        standing = self.api.store.get(kind, name, place)
        self.api.delete(kind, name, place, grace=grace, propagation=propagation)
        self._applier.forget(standing)
        how = {} if propagation == BACKGROUND else {"propagation_policy": propagation}
        self._record("delete", kind=wanted.recorded, name=name, namespace=place, grace=grace, **how)
        self.settle()

    @exclusive
    @guarded("patch")
    def patch(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "default") -> Any:
        """Change some fields of an object; see `BaseCluster.patch`."""
        wanted = self.api.store.kinds.named(kind)
        place = (namespace or "default") if wanted.namespaced else ""
        standing = self.api.store.get(kind, name, place)
        changed = from_dict(strategic_patch(to_dict(standing), dict(patch)))
        self.api.update(changed)
        self._record("patch", kind=wanted.recorded, name=name, namespace=place, patch=dict(patch))
        self.settle()
        return self.api.store.find(kind, name, place)

    @exclusive
    @guarded("resize")
    def resize(
        self,
        name: str,
        containers: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
        namespace: str = "default",
        *,
        pod: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Pod:
        """Change requests and limits in place; see `BaseCluster.resize`."""
        standing = self.api.store.get(Pod, name, namespace)
        asked = {c: dict(r) for c, r in (containers or {}).items()}
        whole = {kind: dict(amounts) for kind, amounts in (pod or {}).items()}
        patch = _resize_patch(standing, asked)
        if whole:
            patch["spec"]["resources"] = whole
        self.api.resize(from_dict(strategic_patch(to_dict(standing), patch)))
        more = {"pod": whole} if whole else {}
        self._record("resize", name=name, namespace=namespace, containers=asked, **more)
        self.settle()
        found: Pod = self.api.store.get(Pod, name, namespace)
        return found

    @exclusive
    def evict(self, name: str, namespace: str = "default", *, grace: int | None = None) -> None:
        """Ask for a pod's eviction; see `BaseCluster.evict`."""
        from kitlib.apiserver.admission.eviction import evict

        evict(self.api, name, namespace, grace)
        self._record("evict", name=name, namespace=namespace, **({} if grace is None else {"grace": grace}))
        self.settle()

    @exclusive
    def record_event(self, about: KubeObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Write a Kubernetes event about an object."""
        record(self.api, about, "Warning" if warning else "Normal", reason, message)


def _resize_patch(pod: Pod, containers: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, Any]:
    """The resources of containers as a patch of their pod.

    Raises:
        KitError: for a container that the pod has not.
    """
    mains, inits = ({c.name for c in some} for some in (pod.spec.containers, pod.spec.init_containers))
    for container in containers:
        if container not in mains | inits:
            valid = ", ".join(sorted(mains | inits))
            raise KitError(f'pods "{pod.name}": container {container!r} not found; valid values: {valid}')
    listed = [{"name": c, "resources": {k: dict(v) for k, v in r.items()}} for c, r in containers.items()]
    lists = {
        "containers": [one for one in listed if one["name"] in mains],
        "initContainers": [one for one in listed if one["name"] not in mains],
    }
    return {"spec": {field: items for field, items in lists.items() if items}}

"""The verbs that write objects, on an API server of this process: apply, delete, patch, resize, evict, bind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from kitlib.api.boundary import guarded
from kitlib.api.convert import convert
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.release import Release
from kitlib.api.serialize import Located, from_dict, known_fields, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.custom_kinds import is_custom
from kitlib.apiserver.admission.deletion import BACKGROUND
from kitlib.apiserver.admission.manifests import Applier
from kitlib.apiserver.store.events import record
from kitlib.apiserver.store.merge import merge_patch, strategic_patch
from kitlib.cluster.base import BaseCluster, by_kind
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
        if data:
            self.record_action(action, objects=data)
        self.settle()
        return [self.api.store.standing(o) or o for o in made]

    def _delete(
        self, kind: str | type[KubeObject], name: str, namespace: str, grace: int | None, propagation: str
    ) -> None:
        wanted = self.api.store.kinds.named(kind)
        place = (namespace or "default") if wanted.namespaced else ""
        standing = self.api.store.get(kind, name, place)
        self.api.delete(kind, name, place, grace=grace, propagation=propagation)
        self._applier.forget(standing)
        how = {} if propagation == BACKGROUND else {"propagation_policy": propagation}
        self.record_action("delete", kind=wanted.recorded, name=name, namespace=place, grace=grace, **how)
        self.settle()

    @by_kind
    @exclusive
    @guarded("patch")
    def patch(
        self, kind: str | type[KubeObject], name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> Any:
        """Change some fields of an object; see `BaseCluster.patch`."""
        return self._patched("patch", self.api.update, kind, name, patch, namespace)

    @by_kind
    @exclusive
    @guarded("patch_status")
    def patch_status(
        self, kind: str | type[KubeObject], name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> Any:
        """Change some fields of an object's status; see `BaseCluster.patch_status`."""
        if "status" not in patch:
            named = self.api.store.kinds.named(kind).kind
            raise KitError(f'patch_status: {named} "{name}": status: Required value: {{"status": {{…}}}}')
        return self._patched("patch_status", self.api.update_status, kind, name, patch, namespace)

    def _patched(
        self,
        action: str,
        write: Callable[[Any], Any],
        kind: str | type[KubeObject],
        name: str,
        patch: Mapping[str, Any],
        namespace: str,
    ) -> Any:
        """Apply a patch to a stored object, write the result and record the action."""
        wanted = self.api.store.kinds.named(kind)
        place = (namespace or "default") if wanted.namespaced else ""
        standing = self.api.store.get(kind, name, place)
        # kubectl sends a merge patch too, because custom kinds have no merge keys.
        merge = merge_patch if is_custom(standing) else strategic_patch
        write(from_dict(merge(to_dict(standing), dict(patch))))
        self.record_action(action, kind=wanted.recorded, name=name, namespace=place, patch=dict(patch))
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
        from kitlib.apiserver.admission.pod_resize import resize_patch

        standing = self.api.store.get(Pod, name, namespace)
        asked = {c: dict(r) for c, r in (containers or {}).items()}
        whole = {kind: dict(amounts) for kind, amounts in (pod or {}).items()}
        patch = resize_patch(standing, asked)
        if whole:
            patch["spec"]["resources"] = whole
        self.api.resize(from_dict(strategic_patch(to_dict(standing), patch)))
        more = {"pod": whole} if whole else {}
        self.record_action("resize", name=name, namespace=namespace, containers=asked, **more)
        self.settle()
        found: Pod = self.api.store.get(Pod, name, namespace)
        return found

    @exclusive
    def evict(
        self,
        name: str,
        namespace: str = "default",
        *,
        grace: int | None = None,
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> None:
        """Evict a pod; see `BaseCluster.evict`."""
        from kitlib.apiserver.admission.eviction import evict

        with self.api.dry_run() if dry_run else nullcontext():
            warned = evict(self.api, name, namespace, grace)
        if warnings is not None:
            warnings += warned
        if dry_run:
            return
        self.record_action("evict", name=name, namespace=namespace, **({} if grace is None else {"grace": grace}))
        self.settle()

    @exclusive
    @guarded("bind")
    def bind(
        self,
        name: str,
        node: str,
        namespace: str = "default",
        *,
        metadata: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> Pod:
        """Assign a pod to a node; see `BaseCluster.bind`."""
        from kitlib.apiserver.admission.binding import bind

        given = known_fields(metadata or {}, ObjectMeta)
        with self.api.dry_run() if dry_run else nullcontext():
            made = bind(self.api, name, namespace, node, convert(given, ObjectMeta))
        if warnings is not None:
            warnings += self.api.warnings
        if dry_run:
            return made
        # A replay has other UIDs, and everything else of the metadata is ignored.
        kept = {field: given[field] for field in ("labels", "annotations") if given.get(field)}
        more = {"metadata": kept} if kept else {}
        self.record_action("bind", name=name, namespace=namespace, node=node, **more)
        self.settle()
        return self.api.store.find(Pod, name, namespace) or made

    @exclusive
    def record_event(self, about: KubeObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Write a Kubernetes event about an object."""
        record(self.api, about, "Warning" if warning else "Normal", reason, message)

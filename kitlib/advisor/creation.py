"""Whether the API server accepts the pods of a template: quotas with their numbers, then other admission plugins.

The pod is created in a dry run with the namespace's objects of the dump. Webhooks are not called.

Source: apiserver resourcequota.CheckRequest; kubeapiserver options.AllOrderedPlugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitlib.advisor.findings import HELD, PASSED, PLATFORM, YOU, StageResult, name_of
from kitlib.api.core import LimitRange, Namespace, Pod, ResourceQuota
from kitlib.api.errors import KitError
from kitlib.api.meta import ObjectMeta
from kitlib.api.policy import PriorityClass
from kitlib.api.serialize import deepcopy
from kitlib.api.storage import StorageClass

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump

COPIED = (LimitRange, PriorityClass, StorageClass)
"""Types of the objects in the dry run, besides the pod's Namespace and RuntimeClasses."""
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "RuntimeClass")


def read_creation(dump: Dump, pod: Pod) -> tuple[StageResult, Pod]:
    """Return whether the API server accepts a new pod, and the pod with what admission fills in."""
    from kitlib.apiserver.admission.apiserver import APIServer

    server = APIServer(release=dump.release)
    store = server.store
    for obj in dump.objects:
        wanted = isinstance(obj, COPIED) or obj.kind in POLICIES
        wanted = wanted and obj.namespace in ("", pod.namespace)
        wanted |= isinstance(obj, Namespace) and obj.name == pod.namespace
        if wanted and store.standing(obj) is None:
            store.create(deepcopy(obj))
    if store.find(Namespace, pod.namespace) is None:
        store.create(Namespace(metadata=ObjectMeta(name=pod.namespace)))
    try:
        with server.dry_run():
            made = server.create(pod)
    except KitError as error:
        said = f"the API server refuses the pods: {error}"
        return StageResult("creation", HELD, said, (f"Namespace {pod.namespace}",), owner=YOU), pod
    return _quota(dump, made) or StageResult("creation", PASSED, "the API server accepts the pods"), made


def _quota(dump: Dump, pod: Pod) -> StageResult | None:
    """Return the quota that rejects a pod, with the used, hard and requested amounts."""
    from kitlib.apiserver.admission.quota import charge
    from kitlib.apiserver.store.kinds import Kinds

    kind = Kinds(lambda: ()).of(pod)
    for quota in dump.of(ResourceQuota):
        if quota.namespace != pod.namespace:
            continue
        try:
            charge(pod, kind, [deepcopy(quota)])
        except KitError as error:
            said = f"the namespace's quota refuses the pods: {error}"
            return StageResult("quota", HELD, said, (name_of(quota),), owner=PLATFORM)
    return None

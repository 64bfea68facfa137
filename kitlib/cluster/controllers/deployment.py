"""Deployments: a ReplicaSet for each version of the template; a new version replaces the old one step by step.

RollingUpdate never has more than `replicas + maxSurge` pods, and never fewer than `replicas - maxUnavailable` ready
ones; Recreate stops all old pods before it starts new ones.

Source: pkg/controller/deployment (rolling.go, recreate.go, sync.go); deployment util MaxSurge, ResolveFenceposts.
"""

from __future__ import annotations

from kitlib.api.apps import Deployment, ReplicaSet, ReplicaSetSpec, RollingUpdateDeployment
from kitlib.api.core import IntOrString
from kitlib.api.meta import LabelSelector, ObjectMeta
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import (
    is_active,
    is_ready,
    owned,
    owned_pods,
    owner_reference,
    record,
    set_status,
    template_hash,
)

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"


def sync(api: APIServer) -> None:
    """Bring every Deployment's ReplicaSets one step further."""
    for deployment in api.store.list(Deployment, copy=False):
        if deployment.metadata.deletion_timestamp is None and not deployment.spec.paused:
            _sync(api, deployment)


def _sync(api: APIServer, deployment: Deployment) -> None:
    sets = [one for one in owned(api, deployment, "ReplicaSet") if isinstance(one, ReplicaSet)]
    current = template_hash(deployment.spec.template)
    newest = next((one for one in sets if one.metadata.labels.get(HASH) == current), None)
    wanted = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    if newest is None:
        start = _first_step(deployment, sets, wanted)
        newest = _new_set(api, deployment, current, start, len(sets) + 1)
        record(api, deployment, "Normal", "ScalingReplicaSet", f"Scaled up replica set {newest.name} from 0 to {start}")
        sets.append(newest)
    old = [one for one in sets if one.metadata.uid != newest.metadata.uid]
    if deployment.spec.strategy.type == "Recreate":
        _recreate(api, deployment, newest, old, wanted)
    else:
        _roll(api, deployment, newest, old, wanted)
    _status(api, deployment, current)


def _first_step(deployment: Deployment, old: list[ReplicaSet], wanted: int) -> int:
    if not any(one.spec.replicas for one in old):
        return wanted
    if deployment.spec.strategy.type == "Recreate":
        return 0
    surge, _ = limits(deployment, wanted)
    return max(0, min(wanted, wanted + surge - sum(one.spec.replicas or 0 for one in old)))


def _new_set(api: APIServer, deployment: Deployment, name: str, replicas: int, revision: int) -> ReplicaSet:
    template = deepcopy(deployment.spec.template)
    template.metadata.labels = {**template.metadata.labels, HASH: name}
    selector = deepcopy(deployment.spec.selector) or LabelSelector()
    selector.match_labels = {**selector.match_labels, HASH: name}
    meta = ObjectMeta(
        name=f"{deployment.name}-{name}",
        namespace=deployment.namespace,
        labels=dict(template.metadata.labels),
        annotations={REVISION: str(revision)},
        owner_references=[owner_reference(deployment)],
    )
    return api.create(
        ReplicaSet(metadata=meta, spec=ReplicaSetSpec(replicas=replicas, selector=selector, template=template))
    )


def _roll(api: APIServer, deployment: Deployment, newest: ReplicaSet, old: list[ReplicaSet], wanted: int) -> None:
    surge, unavailable = limits(deployment, wanted)
    sizes = {one.metadata.uid: one.spec.replicas or 0 for one in (newest, *old)}
    own = sizes[newest.metadata.uid]
    if own > wanted:
        _scale(api, deployment, newest, wanted)
        return
    if own < wanted:
        room = wanted + surge - sum(sizes.values())
        if room > 0:
            _scale(api, deployment, newest, own + min(room, wanted - own))
            return
    ready = {one.metadata.uid: sum(is_ready(p) for p in owned_pods(api, one) if is_active(p)) for one in (newest, *old)}
    spare = sum(sizes.values()) - (wanted - unavailable) - (own - ready[newest.metadata.uid])
    for one in old:
        size = sizes[one.metadata.uid]
        unready = size - ready[one.metadata.uid]
        down = min(size, max(0, min(spare, unready)))  # pods that serve nobody go first
        if down == 0:
            total_ready = sum(ready.values())
            down = min(size, max(0, total_ready - (wanted - unavailable)))
        if size and down > 0:
            _scale(api, deployment, one, size - down)
            return


def _recreate(api: APIServer, deployment: Deployment, newest: ReplicaSet, old: list[ReplicaSet], wanted: int) -> None:
    for one in old:
        if one.spec.replicas:
            _scale(api, deployment, one, 0)
    if not any(owned_pods(api, one) for one in old):
        _scale(api, deployment, newest, wanted)


def _scale(api: APIServer, deployment: Deployment, one: ReplicaSet, size: int) -> None:
    before = one.spec.replicas or 0
    if before == size:
        return
    changed = deepcopy(one)
    changed.spec.replicas = size
    api.update(changed)
    way = "up" if size > before else "down"
    text = f"Scaled {way} replica set {one.name} from {before} to {size}"
    record(api, deployment, "Normal", "ScalingReplicaSet", text)


def limits(deployment: Deployment, wanted: int) -> tuple[int, int]:
    """`maxSurge` (rounded up) and `maxUnavailable` (rounded down) in pods; they are never both 0.

    Source: ResolveFenceposts.
    """
    rolling = deployment.spec.strategy.rolling_update or RollingUpdateDeployment()
    surge, unavailable = rolling.max_surge, rolling.max_unavailable
    surge = _share("25%" if surge is None else surge, wanted, up=True)
    unavailable = min(_share("25%" if unavailable is None else unavailable, wanted, up=False), wanted)
    return (surge, unavailable) if surge or unavailable else (surge, 1)


def _share(value: IntOrString, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%"))
    return -(-percent * of // 100) if up else percent * of // 100


def _status(api: APIServer, deployment: Deployment, current: str) -> None:
    standing = api.store.get(Deployment, deployment.name, deployment.namespace)
    pods = [pod for one in owned(api, deployment, "ReplicaSet") for pod in owned_pods(api, one) if is_active(pod)]
    ready = sum(map(is_ready, pods))
    wanted = 1 if standing.spec.replicas is None else standing.spec.replicas
    status = {
        "observedGeneration": standing.metadata.generation,
        "replicas": len(pods),
        "updatedReplicas": sum(pod.metadata.labels.get(HASH) == current for pod in pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": max(0, wanted - ready),
    }
    set_status(api, standing, status)

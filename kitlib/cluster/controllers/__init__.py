"""The small controllers of kube-controller-manager: each takes the store one step towards what is asked.

They run one after the other until none of them changes anything, so what an `apply` leads to stands when it returns.
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers import (
    daemonset,
    deployment,
    disruption,
    garbage,
    node_taints,
    quota_status,
    replicaset,
    resourceclaim,
    statefulset,
)

CONTROLLERS: tuple[Callable[[APIServer], None], ...] = (
    garbage.sync,
    deployment.sync,
    replicaset.sync,
    statefulset.sync,
    daemonset.sync,
    resourceclaim.sync,
    node_taints.sync,
    disruption.sync,
    quota_status.sync,
)
_ROUNDS = 200


def reconcile(api: APIServer) -> bool:
    """Run all controllers until nothing changes any more.

    Returns:
        Whether anything has changed.
    """
    began = api.store.version
    for _ in range(_ROUNDS):
        before = api.store.version
        for sync in CONTROLLERS:
            sync(api)
        if api.store.version == before:
            break
    return api.store.version != began

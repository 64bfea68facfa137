"""ResourceQuotas: their status says what is used now; admission adds to it, this counts anew when objects go.

Source: pkg/controller/resourcequota (syncResourceQuota).
"""

from __future__ import annotations

from kitlib.api.core import ResourceQuota
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission import quota
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.store.kinds import RESOURCES


def sync(api: APIServer) -> None:
    """Count what every quota limits."""
    for one in api.store.list(ResourceQuota, copy=False):
        objects = [obj for r in RESOURCES if r.namespaced for obj in api.store.list(r.kind, one.namespace, copy=False)]
        counted = quota.used(one, objects)
        if counted != one.status.used or one.status.hard != one.spec.hard:
            changed = deepcopy(one)
            changed.status.hard, changed.status.used = dict(one.spec.hard), counted
            api.store.update(changed)

"""The score of a node by the storage that a pod's claims would use there (feature gate StorageCapacityScoring).

A shape maps the used percentage to points. By default 0 % give 100 points and 100 % give 0, so the node with the
largest share of free storage wins.

Source: plugins/volumebinding scorer.go, VolumeBinding.Score, apis/config/v1 SetDefaults_VolumeBindingArgs; KEP-4049.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim
from kitlib.api.persistent_volume import class_name
from kitlib.api.resource import Quantity
from kitlib.api.storage import CSIStorageCapacity
from kitlib.scheduler.plugins.shape_score import broken_line


def storage_used(
    bindings: Sequence[tuple[PersistentVolume, PersistentVolumeClaim]],
    provisions: Sequence[PersistentVolumeClaim],
    capacities: Mapping[str, CSIStorageCapacity],
) -> list[int]:
    """Return the used storage in percent, one figure for each storage class; capped at 100.

    If any claim is bound to an existing volume, only such claims count. Claims that are provisioned share the
    capacity of their class, which is counted once.

    Args:
        bindings: volumes that exist, with the claims that would be bound to them.
        provisions: claims that need a new volume.
        capacities: claim name -> the capacity that its driver publishes for the node; others do not count.
    """
    asked: dict[str, int] = {}
    there: dict[str, int] = {}
    for volume, claim in bindings:
        name = class_name(volume)
        asked[name] = asked.get(name, 0) + _bytes(claim.spec.resources.requests.get("storage"))
        there[name] = there.get(name, 0) + _bytes(volume.spec.capacity.get("storage"))
    for claim in () if bindings else provisions:
        if claim.name in capacities:
            name = class_name(claim)
            asked[name] = asked.get(name, 0) + _bytes(claim.spec.resources.requests.get("storage"))
            there[name] = _bytes(capacities[claim.name].capacity)
    return [
        100 if not there[name] or amount > there[name] else amount * 100 // there[name]
        for name, amount in asked.items()
    ]


def storage_score(used: Sequence[int], shape: Sequence[tuple[int, int]]) -> int:
    """Return the mean of the classes' points, rounded; 0 without any class. Source: buildScorerFunction.

    Args:
        used: the used storage of each class in percent.
        shape: (percent used, points) in ascending order.
    """
    if not used:
        return 0
    points = int(broken_line(shape, np.array(used, np.int64)).sum())
    return (2 * points + len(used)) // (2 * len(used))


def _bytes(amount: Quantity | None) -> int:
    return amount.value() if amount is not None else 0

"""The devices of a cluster, and the ones that are allocated.

Source: plugins/dynamicresources dra_manager.go (ListAllAllocatedDevices, GatherAllocatedState).
"""

from __future__ import annotations

from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.plugins.dynamicresources.pools import Allocated, DeviceID, Inventory


def inventory(claims: DRAManager) -> Inventory:
    """Return the slices, grouped into pools."""
    return claims.of_slices("inventory", Inventory)


def allocated(claims: DRAManager) -> Allocated:
    """Return the allocated devices and shares, allocations in progress included; admin access uses up nothing."""
    found = Allocated()
    for claim in claims.claims.values():
        allocation = claims.pending.get(claim.metadata.uid, claim).status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            if result.admin_access:
                continue
            device = DeviceID(result.driver, result.pool, result.device)
            if result.share_id is None:
                found.whole.add(device)
            else:
                found.consume(device, result.consumed_capacity)
    return found

"""What of a cluster's devices is there, and what of them is given away.

Source: plugins/dynamicresources dra_manager.go (ListAllAllocatedDevices, GatherAllocatedState).
"""

from __future__ import annotations

from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.plugins.dynamicresources.pools import Allocated, DeviceID, Inventory


def inventory(claims: DRAManager) -> Inventory:
    """The slices, sorted into pools."""
    return claims.of_slices("inventory", Inventory)


def allocated(claims: DRAManager) -> Allocated:
    """What of the devices is given away, allocations under way included. Admin access takes nothing."""
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

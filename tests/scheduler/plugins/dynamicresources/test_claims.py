"""The devices of a cluster by pool, and those that claims have."""

from __future__ import annotations

from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.plugins.dynamicresources.claims import allocated, inventory
from kitlib.scheduler.plugins.dynamicresources.pools import DeviceID
from tests.scheduler.plugins.dynamicresources.device_cases import DRIVER, claim, device, exactly, holding, published


def device_id(name: str) -> DeviceID:
    return DeviceID(DRIVER, "p", name)


def test_the_inventory_is_made_again_when_a_slice_changes() -> None:
    book = DRAManager.of([published(device("d0"))])
    first = inventory(book)
    assert inventory(book) is first
    book.put(holding("d0"))
    assert inventory(book) is first, "claims are no part of it"
    book.put(published(device("d1"), name="t", pool="q"))
    assert inventory(book) is not first


def test_whole_devices_and_shares_are_allocated_and_admin_access_uses_up_nothing() -> None:
    shares = [holding("d2", shareID="s1", consumedCapacity={"memory": "1Gi"}), holding("d2", shareID="s2")]
    shares[1].metadata.name = "other"
    book = DRAManager.of(
        [
            holding("d0", "d1"),
            holding("d3", adminAccess=True),
            holding("d4", adminAccess=False),
            claim(exactly()),
            *shares,
        ]
    )
    found = allocated(book)
    assert found.whole == {device_id("d0"), device_id("d1"), device_id("d4")}
    assert found.shares == {device_id("d2"): {"memory": 2**30 * 10**9}}
    assert found.has(device_id("d2")) and not found.has(device_id("d3"))


def test_an_allocation_in_progress_counts_in_place_of_the_stored_claim() -> None:
    """Source: claimTracker.GatherAllocatedState, which includes in-flight allocations."""
    waiting = claim(exactly())
    book = DRAManager.of([waiting])
    assert allocated(book).whole == set()
    book.pending[waiting.metadata.uid] = holding("d7")
    assert allocated(book).whole == {device_id("d7")}

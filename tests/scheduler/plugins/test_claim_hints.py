"""Tests of the queueing hints of claims: which change of a claim or a pod makes a pod worth another try."""

from __future__ import annotations

import pytest

from kitlib.api.devices import ResourceClaim
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.plugins.claim_hints import claim_changed, claims_made
from tests.scheduler.plugins.dynamicresources.claimed_pods import claim, pod


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, claim(), True),
        (None, claim("other"), False),
        (claim("other", on="a"), claim("other"), True),  # its devices are free
        (claim("other"), claim("other", on="a"), False),
        (claim(on="a"), claim(on="a", users=("x",)), True),
        (claim(), claim(), False),
    ],
)
def test_which_changes_of_claims_help_a_pod(old: ResourceClaim | None, new: ResourceClaim, helps: bool) -> None:
    known = DRAManager.of([claim()])
    assert claim_changed(known, pod("p", "one"), old, new) is helps
    assert claim_changed(DRAManager(), pod("p", "one"), old, new) is False  # its claim is missing: nothing helps


def test_a_pod_is_tried_again_when_its_own_update_names_a_claim_that_exists() -> None:
    known = DRAManager.of([claim()])
    waiting = pod("p", "one")
    other = pod("q", "one")
    assert claims_made(known, waiting, waiting, pod("p", "one"))
    assert not claims_made(known, waiting, other, other)
    assert not claims_made(DRAManager(), waiting, waiting, pod("p", "one"))
    assert not claims_made(known, waiting, None, claim())

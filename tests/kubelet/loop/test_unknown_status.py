"""Containers without a known end in pods that the kubelet terminates."""

from __future__ import annotations

import pytest

from kitlib.kubelet.loop.unknown_status import mark_unknown
from tests.kubelet.loop.container_states import state


@pytest.mark.parametrize(
    ("inits", "mains", "unknown"),
    [
        ([], ["", "0"], ["m0"]),
        (["", ""], [""], ["i0"]),  # at least one, and no regular one before the initialization
        (["0", "runs", ""], [""], ["i1"]),
        (["0", "0"], [""], ["m0"]),
        (["0"], ["0", ""], ["m1"]),
    ],
    ids=str,
)
def test_containers_without_an_end_are_unknown_in_a_terminated_pod(
    inits: list[str], mains: list[str], unknown: list[str]
) -> None:
    first = [state(f"i{number}", did) for number, did in enumerate(inits)]
    regular = [state(f"m{number}", did) for number, did in enumerate(mains)]
    mark_unknown(first, regular)
    found = [s.container.name for s in (*first, *regular) if s.ended.get("reason") == "ContainerStatusUnknown"]
    assert found == unknown

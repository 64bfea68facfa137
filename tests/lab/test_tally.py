"""Tests of the line at the end that says what of a lesson or a lab was real."""

from __future__ import annotations

import pytest

from kitlib.cluster import Cluster
from kitlib.lab.tally import Tally


@pytest.mark.parametrize(
    ("tally", "said"),
    [
        (Tally(), ""),
        (Tally(2, 214, 1, 1, 0, 3), "real: 2 pods, 214 files read, 1 kill; 3 predictions compared"),
        (
            Tally(1, 1, 0, 1, 2, 1),
            "real: 1 pod, 1 file read, 0 kills; simulated: 2 clusters; 1 prediction compared",
        ),
        (Tally(simulated=1), "simulated: 1 cluster"),
    ],
)
def test_the_line_names_what_there_was(tally: Tally, said: str) -> None:
    assert str(tally) == said


def test_clusters_that_go_on_are_counted_without_being_kept() -> None:
    tally = Tally()
    with Cluster.simulated(1) as ended, Cluster.simulated(1) as going_on:
        tally.add(ended)
        assert str(tally.with_open([going_on])) == "simulated: 2 clusters"
        assert str(tally) == "simulated: 1 cluster"

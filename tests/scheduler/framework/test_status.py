"""The code of a node that several filters reject."""

from __future__ import annotations

import numpy as np
import pytest

from kitlib.scheduler.framework.status import Code, merge_codes

PASSES, LATER, NEVER = Code.Success, Code.Unschedulable, Code.UnschedulableAndUnresolvable


@pytest.mark.parametrize(
    ("before", "found", "first", "severe"),
    [
        (PASSES, PASSES, PASSES, PASSES),
        (PASSES, LATER, LATER, LATER),
        (LATER, PASSES, LATER, LATER),
        (LATER, NEVER, LATER, NEVER),
        (NEVER, LATER, NEVER, NEVER),
    ],
)
def test_the_first_rejection_counts_or_the_most_severe_where_all_filters_run(
    before: Code, found: Code, first: Code, severe: Code
) -> None:
    """Source: RunFilterPlugins; PluginToStatus.Merge."""
    codes, more = np.array([before], np.uint8), np.array([found], np.uint8)
    assert merge_codes(codes, more, all_run=False).tolist() == [first]
    assert merge_codes(codes, more, all_run=True).tolist() == [severe]
    assert codes.tolist() == [before]

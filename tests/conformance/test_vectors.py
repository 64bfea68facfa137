"""Cases that real Kubernetes computed, of every kind that the kit claims.

Of files that take many seconds every Nth case is checked here, all of them by `kitlib conformance tests/vectors/*.gz`,
which is a stage of `.ci/run`.
"""

from pathlib import Path

import pytest

from kitlib.conformance.runner import kinds, run_file

VECTORS = Path(__file__).parents[1] / "vectors"
EVERY = {"live_scheduling": 5, "timemachine_random": 4, "timemachine_preemption": 3, "scheduler_fresh_mixed": 4}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_case_comes_out_as_in_kubernetes(kind):
    result = run_file(VECTORS / f"{kind}.jsonl.gz", every=EVERY.get(kind, 1))
    assert not result.differences, "\n".join(map(str, result.differences[:10]))
    assert not result.unchecked, result.unchecked
    assert result.passed

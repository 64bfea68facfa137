"""Cases that real Kubernetes computed, of every kind that the kit claims.

Of files that take many seconds every Nth case is checked here, all of them by `kitlib conformance tests/vectors/*.gz`,
which is a stage of `.ci/run`.
"""

from importlib import import_module
from pathlib import Path

import pytest

from kitlib.api.release import RELEASES
from kitlib.conformance.runner import kinds, read_cases, run_file

VECTORS = Path(__file__).parents[1] / "vectors"
EVERY = {"live_scheduling": 5, "scheduler_gates": 8} | dict.fromkeys(
    (
        *("timemachine_named", "timemachine_preemption", "timemachine_random", "timemachine_sequences"),
        *(f"scheduler_fresh_{name}" for name in ("affinity", "mixed", "preempt", "profiles", "resources")),
        *(f"scheduler_fresh_{name}" for name in ("sampling", "spread", "taints", "volumes")),
    ),
    4,
)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind_names_the_release_that_computed_its_cases(kind):
    """ "" = each case names the releases itself."""
    named = import_module(kinds()[kind]).RELEASE
    first = next(case for _, case in read_cases(VECTORS / f"{kind}.jsonl.gz"))
    assert named in RELEASES or ("results" in first or "steps" in first)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_case_comes_out_as_in_kubernetes(kind):
    result = run_file(VECTORS / f"{kind}.jsonl.gz", every=EVERY.get(kind, 1))
    assert not result.differences, "\n".join(map(str, result.differences[:10]))
    assert not result.unchecked, result.unchecked
    assert result.passed

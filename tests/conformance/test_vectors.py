"""Cases that real Kubernetes computed, of every kind that the kit claims.

Of each file some cases are checked here, all of them by `kitlib conformance tests/vectors/*.gz`, which is a stage of
`.ci/run`.
"""

import gzip
from importlib import import_module
from pathlib import Path

import pytest

from kitlib.api.release import RELEASES
from kitlib.conformance.runner import kinds, read_cases, run_file
from tests.sizes import NIGHTLY

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = 12
"""So many cases of each kind, evenly drawn; in `.ci/run nightly` all of them."""
EVERY = {"live_scheduling": 8, "timemachine_sequences": 8}
"""Kinds of few cases, each of which is the life of a whole cluster: one of so many is drawn."""


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind_names_the_release_that_computed_its_cases(kind):
    """ "" = each case names the releases itself."""
    named = import_module(kinds()[kind]).RELEASE
    first = next(case for _, case in read_cases(VECTORS / f"{kind}.jsonl.gz"))
    assert named in RELEASES or ("results" in first or "steps" in first)


def lines(path: Path) -> int:
    """Count the cases of a file without decoding them."""
    with gzip.open(path) as file:
        return sum(1 for line in file if line.strip())


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_case_comes_out_as_in_kubernetes(kind):
    path = VECTORS / f"{kind}.jsonl.gz"
    every = 1 if NIGHTLY else EVERY.get(kind) or max(lines(path) // CASES, 1)
    result = run_file(path, every=every)
    assert not result.differences, "\n".join(map(str, result.differences[:10]))
    assert not result.unchecked, result.unchecked
    assert result.passed

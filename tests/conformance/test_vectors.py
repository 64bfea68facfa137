"""Every case that real Kubernetes computed, of every kind that the kit claims."""

from pathlib import Path

import pytest

from kitlib.conformance.runner import kinds, run_file

VECTORS = Path(__file__).parents[1] / "vectors"


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_case_comes_out_as_in_kubernetes(kind):
    result = run_file(VECTORS / f"{kind}.jsonl.gz")
    assert not result.differences, "\n".join(map(str, result.differences[:10]))
    assert not result.unchecked, result.unchecked
    assert result.passed

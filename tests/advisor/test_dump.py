"""The dump that `kitlib explain` reads: what the documented command prints."""

from __future__ import annotations

from pathlib import Path

import kitlib
from kitlib.advisor.dump import COMMAND

ROOT = Path(kitlib.__file__).parent.parent


def test_the_documented_command_prints_every_kind_that_a_filter_looks_at() -> None:
    """openebs/zfs-localpv#400: without CSIDrivers a pod that waits for storage capacity was said to fit."""
    kinds = set(COMMAND.split()[2].split(","))
    assert {"pvc", "pv", "sc", "csinodes", "csidrivers", "csistoragecapacities"} <= kinds
    for path in ("README.md", "kitlib/docs/pending.md", "notebooks/17-explain-your-own-cluster.ipynb"):
        assert COMMAND in (ROOT / path).read_text()

"""A cluster that idles while its reader studies a cell."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

import pytest

from tests.engine.conftest import IDLE_PLANES, IDLE_SECONDS


@pytest.mark.parametrize("plane", IDLE_PLANES)
def test_a_cluster_that_was_left_alone_takes_the_next_pod(
    idle_clusters: Mapping[str, subprocess.Popen[str]], plane: str
) -> None:
    """The cluster idles for twice the silence after which a node is lost, beside the other tests."""
    said, _ = idle_clusters[plane].communicate(timeout=600 + IDLE_SECONDS)
    *state, seconds = json.loads(said)
    print(f"{plane}: left alone for {IDLE_SECONDS:g} s, the next pod runs after {seconds} s")
    assert state == ["True", False, {"a": "Running", "b": "Running"}]

"""The dump that `kitlib explain` reads: what the documented command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

import kitlib
from kitlib.advisor.dump import COMMAND
from kitlib.api.release import Release
from tests.advisor.dumps import asked, dump, node, pod

ROOT = Path(kitlib.__file__).parent.parent


def test_the_documented_command_prints_every_kind_that_a_filter_looks_at() -> None:
    """openebs/zfs-localpv#400: without CSIDrivers a pod that waits for storage capacity was said to fit."""
    kinds = set(COMMAND.split()[2].split(","))
    assert {"pvc", "pv", "sc", "csinodes", "csidrivers", "csistoragecapacities"} <= kinds
    for path in ("README.md", "kitlib/docs/pending.md", "notebooks/17-explain-your-own-cluster.ipynb"):
        assert COMMAND in (ROOT / path).read_text()


@pytest.mark.parametrize(
    ("versions", "release", "said"),
    [
        ([], "1.37", ""),
        (["v1.30.4-eks-1"], "1.30", "The rules are those of 1.30"),
        (["v1.28.1", "v1.29.0+k3s1"], "1.29", "The rules are those of 1.29"),
        (["v1.18.3"], "1.23", ""),
        (["v1.99.0"], "1.37", ""),
        (["odd"], "1.37", ""),
    ],
    ids=["not reported", "a distribution", "the newest of two", "older than all", "newer than all", "unreadable"],
)
def test_the_kubelets_tell_the_release_of_a_dump(versions: list[str], release: str, said: str) -> None:
    nodes = [node(f"n{i}", status={"nodeInfo": {"kubeletVersion": one}}) for i, one in enumerate(versions or [""])]
    found = dump(*nodes)
    assert found.release == Release(release) and found.release_origin.startswith(said)
    given = dump(*nodes, release="1.31")
    assert (given.release, given.release_origin) == (Release("1.31"), "")


def test_a_kubelet_older_than_all_known_releases_is_named() -> None:
    found = dump(node("n1", status={"nodeInfo": {"kubeletVersion": "v1.18.3"}}))
    assert found.unknown_release_text == "node n1 of v1.18.3: not known here, decided as 1.23"


def test_a_pod_without_its_priority_class_counts_as_0_and_the_gap_is_named() -> None:
    found = dump(node("n1"), pod("p", spec={"priorityClassName": "high"}))
    answer = asked(found)
    assert (answer.verdict, answer.exit_code) == ("uncertain", 3)
    assert any(one.kind == "PriorityClass" and one.decides for one in answer.gaps)

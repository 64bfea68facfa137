"""NodeAffinity: the weights of preferred terms, of the pod and of the profile."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.scheduler.framework.plugin import SKIP, Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_affinity import NodeAffinity
from kitlib.study.scenario import node_of, pod_of


def term(weight: int, **labels: str) -> dict[str, Any]:
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {"weight": weight, "preference": {"matchExpressions": wanted}}


def preferred(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}


SSD, NEAR = {"disk": "ssd"}, {"zone": "a"}
NODES = [{"name": "n0", "labels": SSD | NEAR}, {"name": "n1", "labels": SSD}, {"name": "n2"}]


@pytest.mark.parametrize(
    ("own", "added", "expected"),
    [
        ([term(3, **SSD), term(5, **NEAR)], [], [8, 3, 0]),
        ([term(3, **SSD | NEAR)], [], [3, 0, 0]),
        ([term(0, **SSD)], [], [0, 0, 0]),
        ([], [term(2, **SSD)], [2, 2, 0]),
        ([term(5, **NEAR)], [term(2, **SSD)], [7, 2, 0]),
    ],
    ids=["weights add up", "a whole term", "weight 0", "of the profile", "of both"],
)
def test_a_node_scores_the_weights_of_the_terms_that_it_matches(
    own: list[Any], added: list[Any], expected: list[int]
) -> None:
    """Source: nodeaffinity Score."""
    plugin = NodeAffinity({"addedAffinity": preferred(*added)} if added else None)
    context = Context(Snapshot([node_of(one) for one in NODES]), Release("1.36"))
    spec = {"affinity": {"nodeAffinity": preferred(*own)}} if own else {}
    info, rows = PodInfo(pod_of({"name": "p", "spec": spec})), context.snapshot.every_row()
    assert plugin.score(plugin.pre_score(info, context, rows), info, context, rows).tolist() == expected


@pytest.mark.parametrize(("release", "skips"), [("1.25", False), ("1.36", True)])
def test_without_a_preferred_term_newer_releases_leave_the_plugin_out(release: str, skips: bool) -> None:
    """Source: nodeaffinity PreScore."""
    context = Context(Snapshot([node_of(NODES[0])]), Release(release))
    found = NodeAffinity().pre_score(PodInfo(pod_of({"name": "p"})), context, context.snapshot.every_row())
    assert (found is SKIP) is skips

"""Forecasts go by what the host of a node gives: its processors, and the scores that it grants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kitlib.advisor.forecast import cpu_forecast, forecast
from kitlib.advisor.oom_orders import oom_orders
from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.origin import HostRefusal, Origin
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.lab import pod

REFUSAL = HostRefusal("oom_score_adj", "no oom_score_adj below 0 is granted")
GRANTED = Origin("real", 2, ("node-1",))


@pytest.mark.parametrize(("cpus", "divided"), [(None, 4.0), (2, 2.0)])
def test_what_is_divided_is_what_the_host_gives(
    monkeypatch: pytest.MonkeyPatch, cpus: int | None, divided: float
) -> None:
    monkeypatch.setattr(SimulatedNode, "origin", replace(GRANTED, cpus=cpus))
    with Cluster.simulated(1, cpus=4, memory="1Gi") as cluster:
        cluster.apply([pod(name, cpu="500m", busy=4) for name in ("a", "b")])
        node = cluster.node()
        busy = {group.path: 4.0 for group in node.desired().of_kind("container")}
        found = cpu_forecast(node, busy)
    assert sum(found.values()) == pytest.approx(divided)


@pytest.mark.parametrize(
    ("origin", "score"),
    [(GRANTED, -997), (replace(GRANTED, lowest_score=0, refusals=(REFUSAL,)), 0)],
)
def test_a_pod_that_comes_has_the_score_that_the_host_grants(
    monkeypatch: pytest.MonkeyPatch, origin: Origin, score: int
) -> None:
    """`net` is critical and requests nothing: with 0 for -997 it has more points than an honest pod."""
    monkeypatch.setattr(SimulatedNode, "origin", origin)
    coming: Pod = set_defaults(from_dict(pod("net", priority_class="system-node-critical", uses="memory=680Mi")))
    coming.spec.priority, coming.metadata.uid = 2_000_001_000, "net"
    with Cluster.simulated(1, memory="1Gi") as cluster:
        cluster.apply(pod("honest", memory="800Mi", uses="memory=300Mi"))
        cluster.advance(3)
        found = forecast(cluster.node(), cluster.pods(), coming)
    rows = {row["name"]: row for row in found.rows}
    assert rows["net/main"]["oom_score_adj"] == score
    orders = oom_orders(found.rows)
    assert orders.wanted[0] == "honest/main"
    if score == 0:
        assert (rows["net/main"]["refused"], rows["net/main"]["why"]) == (-997, REFUSAL.reason)
        assert orders.here[0] == "net/main" and "honest/main would be killed first" in orders.sentence
        assert found.victims[0] == "net/main"
    else:
        assert "refused" not in rows["net/main"] and not orders.differ
        assert found.victims[0] == "honest/main"

"""Everything that can happen at one instant happens; what has no end is stopped and named."""

from __future__ import annotations

import pytest

from kitlib.api.core import ConfigMap
from kitlib.cluster import Cluster


def test_objects_that_change_without_end_are_named_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster.simulated(1)
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "restless"}, "data": {"n": "0"}})
    rounds = 0

    def fight() -> None:
        nonlocal rounds
        rounds += 1
        found = cluster.api.store.get(ConfigMap, "restless", "default")
        found.data = {"n": str(rounds)}
        cluster.api.update(found)

    monkeypatch.setattr(cluster.controllers, "run", fight)
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}})
    assert rounds == 100
    assert [one.getMessage() for one in caplog.records] == [
        "not at rest after 100 rounds; objects that still change: ConfigMap default/restless"
    ]


def test_a_cluster_at_rest_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster.simulated(2)
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "calm"}})
    cluster.advance(10)
    assert caplog.records == []

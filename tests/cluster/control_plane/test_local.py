"""Everything that can happen at one instant happens; what has no end is stopped and named."""

from __future__ import annotations

import pytest

from kitlib.api.core import ConfigMap
from kitlib.api.errors import Conflict, KitError, NotFound
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
    (said,) = [one.getMessage() for one in caplog.records]
    assert said.startswith("not at rest after 100 rounds; objects that still change: ConfigMap default/restless.")
    for _ in range(3):  # the same instant: what a user asks for happens, and the fight goes on a little only
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"n": "x"}})
        cluster.delete("ConfigMap", "other")
    assert rounds == 130
    cluster.advance(10)  # 100 rounds in each second, however many ticks it has, and no further word
    assert rounds == 1130
    assert len(caplog.records) == 1


def test_a_cluster_at_rest_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster.simulated(2)
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "calm"}})
    cluster.advance(10)
    assert caplog.records == []


def test_a_node_whose_object_is_refused_leaves_its_name_free(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1)

    def refuse(_: object) -> None:
        raise KitError("refused")

    with monkeypatch.context() as patched:
        patched.setattr(cluster.api, "create", refuse)
        with pytest.raises(KitError, match="refused"):
            cluster.add_nodes({"name": "late"})
    assert not cluster.runs_kubelet("late")
    assert [one.name for one in cluster.add_nodes({"name": "late"})] == ["late"]


def test_a_pod_of_another_scheduler_is_bound_once_and_a_replay_binds_it_too() -> None:
    cluster = Cluster.simulated(2)
    spec = {"schedulerName": "mine", "containers": [{"name": "main", "image": "x"}]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    cluster.advance(5)
    assert not cluster.pod("a").spec.node_name
    last = cluster.nodes[-1].name
    given = {"uid": cluster.pod("a").metadata.uid, "annotations": {"score": "7"}}
    bound = cluster.bind("a", last, metadata=given)
    assert (bound.spec.node_name, bound.metadata.annotations) == (last, {"score": "7"})
    with pytest.raises(Conflict, match=f'pod a is already assigned to node "{last}"'):
        cluster.bind("a", cluster.nodes[0].name)
    with pytest.raises(NotFound):
        cluster.bind("b", last)
    cluster.advance(5)
    again = Cluster.simulated(2)
    again.replay(list(cluster.journal))
    assert again.pod("a").spec == cluster.pod("a").spec
    assert (again.pod("a").status.phase, again.pod("a").metadata.annotations) == ("Running", {"score": "7"})

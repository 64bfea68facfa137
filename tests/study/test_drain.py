"""A drain asks for evictions, again where a budget refuses, and removes nothing that no controller would make again."""

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import container, deployment, disruption_budget, pod
from kitlib.study.drain import drain


@pytest.fixture
def cluster():
    with Cluster.simulated([{"name": n, "cpus": 4} for n in "ab"]) as made:
        made.apply(deployment("web", 2, pod("web", cpu="100m")))
        made.advance(10)
        yield made


def on(cluster, node):
    return [one for one in cluster.pods() if one.spec.node_name == node]


def test_pods_go_and_the_node_stays_cordoned(cluster):
    rows = drain(cluster, "a")
    assert [row["answer"] for row in rows] == ["evicted", "gone"]
    cluster.advance(5)
    assert not on(cluster, "a") and len(on(cluster, "b")) == 2
    assert cluster.get("Node", "a").spec.unschedulable


def test_a_budget_is_asked_every_five_seconds(cluster):
    cluster.apply(disruption_budget("web", minAvailable=2))
    cluster.advance(5)
    rows = drain(cluster, "a", at_most=12)
    assert [row["second"] for row in rows] == [0, 5, 10, 15]
    assert all(row["answer"].startswith("429: The disruption budget web needs 2 healthy pods") for row in rows)
    assert len(on(cluster, "a")) == 1


def test_it_goes_on_when_the_budget_allows_it(cluster):
    slow = pod("web", init=[container("first", command=["sleep", "8"])])
    cluster.apply([deployment("web", 4, slow), disruption_budget("web", maxUnavailable=1)])
    cluster.advance(60)
    rows = drain(cluster, "a")
    said = [row["answer"][:3] for row in rows]
    assert said.count("evi") == said.count("gon") == 2 and "429" in said
    assert not on(cluster, "a")


@pytest.mark.parametrize(
    ("made", "switch", "words"),
    [
        (pod("bare", nodeName="a"), {"force": True}, "declare no controller"),
        (
            deployment("disk", 1, pod("disk", nodeName="a", volumes=[{"name": "d", "emptyDir": {}}])),
            {"delete_emptydir_data": True},
            "with local storage",
        ),
    ],
    ids=["a bare pod", "an emptyDir"],
)
def test_what_would_be_lost_goes_only_if_it_is_told_so(cluster, made, switch, words):
    cluster.apply(made)
    cluster.advance(5)
    before = len(on(cluster, "a"))
    with pytest.raises(KitError, match=words):
        drain(cluster, "a")
    assert len(on(cluster, "a")) == before
    assert "gone" in {
        row["answer"] for row in drain(cluster, "a", 30, **switch) if row["pod"].startswith(("bare", "disk"))
    }


def test_pods_of_daemon_sets_stay(cluster):
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": pod("agent", cpu="10m")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    cluster.apply({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec})
    cluster.advance(10)
    drain(cluster, "a")
    assert [one.metadata.labels["app"] for one in on(cluster, "a")] == ["agent"]

"""What JupyterLab's side bar is told: clusters with their nodes, pods, events; progress; always plain digits."""

from __future__ import annotations

import json

import pytest

from kitlib.cluster import Cluster
from kitlib.lab import sidebar


@pytest.fixture
def told(monkeypatch, tmp_path):
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    monkeypatch.setenv("KITLIB_NODES", "simulated")
    variables = {}
    monkeypatch.setattr(sidebar, "_variables", lambda: variables)
    monkeypatch.setattr(sidebar, "open_clusters", list)
    sidebar._seen.clear()

    def told(**named):
        variables.update(named)
        text = sidebar.state()
        assert set(text) <= set("0123456789abcdef")
        return json.loads(bytes.fromhex(text))

    return told


def test_without_a_cluster_the_kernel_and_the_progress_are_told(told):
    state = told(x=1)
    assert (state["kernel"], state["clusters"]) == ("simulated kernel", [])
    assert state["progress"]["done"] == 0 and state["progress"]["next"].startswith("01")


def test_a_cluster_stands_under_the_name_of_its_variable_once(told):
    with Cluster.simulated(nodes=[{"name": "a", "cpus": 1}]) as cluster:
        cluster.apply({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "w"}, "spec": _spec("100m")})
        cluster.apply({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "big"}, "spec": _spec("8")})
        cluster.advance(3)
        (found,) = told(mine=cluster, again=cluster, _hidden=cluster)["clusters"]
    assert found["name"] == "mine"
    assert found["nodes"] == [{"name": "a", "state": "Ready", "note": "1 pod"}]
    assert {pod["name"]: pod["state"] for pod in found["pods"]} == {"default/big": "Pending", "default/w": "Running"}
    assert any("FailedScheduling" in event["name"] and event["state"] == "Warning" for event in found["events"])


def test_a_closed_cluster_is_no_longer_told(told):
    cluster = Cluster.simulated()
    cluster.close()
    assert told(mine=cluster)["clusters"] == []


def test_of_many_pods_the_first_are_told_and_the_others_counted(told):
    with Cluster.simulated(nodes=1) as cluster:
        pods = [
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": f"p{i}"}, "spec": _spec("1m")} for i in range(40)
        ]
        cluster.apply(pods)
        (found,) = told(mine=cluster)["clusters"]
    assert (len(found["pods"]), found["more"]) == (sidebar.MAX_PODS, 40 - sidebar.MAX_PODS)


def _spec(cpu):
    return {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]}

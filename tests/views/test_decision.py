"""A Decision as two tables: verdicts with reasons, scores with weights."""

from __future__ import annotations

from kitlib.cluster import Cluster
from kitlib.views.decision import MOST_NODES, decision_html, matrix, scores, shown_nodes

POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: CPU}}}]}
"""


def cluster(nodes: object) -> Cluster:
    return Cluster.simulated(nodes, kubelets=False)


def test_verdicts_name_the_plugin_and_the_reason_and_scores_their_weight() -> None:
    made = cluster([{"name": "big", "cpus": 8}, {"name": "other", "cpus": 8}, {"name": "small", "cpus": 1}])
    made.apply(POD.replace("CPU", "2"))
    decision = made.decision("a")
    plugins, rows = matrix(decision)
    assert rows["small"]["NodeResourcesFit"].text == "Insufficient cpu" and not rows["small"]["NodeResourcesFit"].passed
    assert rows["big"]["NodeResourcesFit"].passed and plugins.index("TaintToleration") < plugins.index(
        "NodeResourcesFit"
    )
    columns, scored = scores(decision)
    assert columns[-1] == "total" and set(scored) == {"big", "other"}
    html = decision_html(decision)
    assert "✗ Insufficient cpu" in html and "(chosen)" in html and html.count("<table") == 2


def test_a_pod_that_fits_nowhere_has_no_scores_but_a_message() -> None:
    made = cluster(2)
    made.apply(POD.replace("CPU", "99"))
    html = decision_html(made.decision("a"))
    assert html.count("<table") == 1 and "0/2 nodes are available: 2 Insufficient cpu." in html


def test_of_a_large_cluster_the_nodes_that_matter_are_shown() -> None:
    made = cluster([{"count": 300}, {"name": "tiny", "cpus": 1}])
    made.apply(POD.replace("CPU", "2"))
    shown = shown_nodes(made.decision("a"))
    assert len(shown) <= MOST_NODES and "tiny" in shown and made.decision("a").suggested_host in shown

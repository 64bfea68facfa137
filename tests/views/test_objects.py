"""Objects show themselves as manifests, clusters as tables."""

from __future__ import annotations

import pytest

from kitlib.api.release import Release
from kitlib.cluster import Cluster
from kitlib.views import register
from kitlib.views.objects import cluster_html, cluster_text, object_html

POD = """
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {note: "<b>"}}
spec: {nodeName: node-1, containers: [{name: c, image: nginx}]}
"""


def test_a_cluster_is_two_tables() -> None:
    cluster = Cluster.simulated(2, kubelets=False)
    cluster.apply(POD)
    lines = cluster_text(cluster).splitlines()
    assert lines[0] == f"<SimulatedCluster {Release.latest()}: 2 nodes, 1 pods>"
    assert lines[2].split() == ["node-1", "True", "4", "8Gi", "1"]
    assert lines[-1].split() == ["default/a", "node-1", "Running", "1/1", "0", "BestEffort"]
    html = cluster_html(cluster)
    assert "<caption>Nodes (2)</caption>" in html and "<td>default/a</td>" in html


def test_an_object_is_its_manifest_and_nothing_in_it_is_markup() -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    html = object_html(cluster.apply(POD)[0])
    assert html.startswith("<b>Pod default/a</b>") and "&lt;b&gt;" in html


def test_a_notebook_shows_both() -> None:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    assert register(shell)
    cluster = Cluster.simulated(1, kubelets=False)
    for value, text in ((cluster, "node-1"), (cluster.apply(POD)[0], "kind: Pod")):
        data, _ = shell.display_formatter.format(value)
        assert text in data["text/html"] and text in data["text/plain"]


def test_a_frames_reasons_can_be_read_to_their_end() -> None:
    import pandas as pd
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    assert register(shell)
    reason = "all processes of the container are killed together (singleProcessOOMKill is off)"
    data, _ = shell.display_formatter.format(pd.DataFrame({"why": [reason]}))
    assert reason in data["text/html"]

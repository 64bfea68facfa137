"""Objects show themselves as manifests, clusters as tables."""

from __future__ import annotations

import pytest

from kitlib.api.release import Release
from kitlib.cluster import Cluster
from kitlib.views import register
from kitlib.views.objects import cluster_html, cluster_text, list_text, object_html

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


def test_lists_of_objects_are_tables_with_whole_messages_and_gaps() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    assert register(shell) and register(shell)
    cluster = Cluster.simulated(1)
    cluster.apply([POD, POD.replace("name: a", "name: b").replace("nodeName: node-1", "nodeSelector: {disk: ssd}")])
    cluster.advance(5)
    message = next(one.message for one in cluster.events() if one.reason == "FailedScheduling")
    wanted = {
        "pods": (cluster.pods(), ["default/b", "-", "Pending", "0/1", "0", "BestEffort", "Unschedulable"]),
        "nodes": (list(cluster.nodes), ["node-1", "True", "4", "8092Mi", "-"]),
        "events": (cluster.events(), message.split()[-3:]),
        "others": (cluster.list("Namespace"), ["Namespace", "-", "default"]),
    }
    for found, words in wanted.values():
        data, _ = shell.display_formatter.format(found)
        assert any(line.split()[-len(words) :] == words for line in data["text/plain"].splitlines()), data["text/plain"]
        assert f"({len(found)})</caption>" in data["text/html"] and "apiVersion" not in data["text/plain"]
    many = cluster.list("Namespace") * 40
    assert len(list_text(many).splitlines()) == 62 and f"… {len(many) - 60} more" in list_text(many)
    plain, _ = shell.display_formatter.format([1, "two", []])
    assert plain == {"text/plain": "[1, 'two', []]"}


def test_a_frames_reasons_can_be_read_to_their_end() -> None:
    import pandas as pd
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    assert register(shell)
    reason = "all processes of the container are killed together (singleProcessOOMKill is off)"
    data, _ = shell.display_formatter.format(pd.DataFrame({"why": [reason]}))
    assert reason in data["text/html"]

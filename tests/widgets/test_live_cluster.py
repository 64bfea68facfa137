"""A learner's own cluster in the widgets: pods are put on it, and prediction and outcome are shown side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import limit_range, pod
from kitlib.widgets import PodBuilder, PreemptionStage, QueueTheatre, ReleaseSwitch, SchedulerBoard, SpreadExplorer
from kitlib.widgets.shared import opened_scene, scene_of

ZONE = "topology.kubernetes.io/zone"
NODES = [{"name": f"{zone}-1", "labels": {ZONE: zone}, "cpus": 2, "memory": "1Gi"} for zone in ("a", "b", "c")]


@pytest.fixture
def cluster() -> Iterator[Any]:
    with Cluster.simulated(NODES) as made:
        yield made


@pytest.mark.parametrize("version", [1, 2])
def test_the_builders_pod_runs_on_the_cluster_with_the_predicted_files(version: Any) -> None:
    with Cluster.simulated(1, cgroup_version=version) as cluster:
        builder = PodBuilder(cluster)
        assert builder.version.value == version
        builder.on_cluster.put.click()
        assert builder.problem == "" and cluster.pod("web").status.phase == "Running"
        assert "web runs on node-1: " in builder.on_cluster.result
        assert f"Values: simulated node node-1, cgroup v{version}." in builder.on_cluster.result
        assert "<td>no</td>" not in builder.on_cluster.result
        assert "<td>oom_score_adj</td>" in builder.on_cluster.result


def test_a_second_press_replaces_the_builders_own_pod_and_no_other(cluster: Any) -> None:
    builder = PodBuilder(node=cluster)
    builder.on_cluster.put.click()
    first = cluster.pod("web").metadata.uid
    builder.form.rows[0].amounts[("limits", "memory")].amount = "300Mi"
    builder.on_cluster.put.click()
    assert cluster.pod("web").metadata.uid != first
    assert "<td>314572800</td><td>314572800</td><td>yes</td>" in builder.on_cluster.result

    other = PodBuilder(cluster)
    other.on_cluster.put.click()
    assert "Forbidden" in other.problem or "pod updates may not change" in other.problem
    assert cluster.pod("web").status.phase == "Running"


def test_a_value_that_admission_changed_is_shown_as_a_difference(cluster: Any) -> None:
    cluster.apply(limit_range("defaults", default={"memory": "400Mi"}))
    builder = PodBuilder(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: bare}\nspec:\n  containers: [{name: c, image: x}]\n", cluster
    )
    builder.on_cluster.put.click()
    assert "differ for another reason" in builder.on_cluster.result


def test_a_pod_that_fits_nowhere_waits_and_says_why(cluster: Any) -> None:
    builder = PodBuilder(cluster)
    builder.form.rows[0].amounts[("limits", "cpu")].amount = "64"
    builder.form.rows[0].amounts[("requests", "cpu")].amount = "64"
    builder.on_cluster.put.click()
    assert builder.on_cluster.result.startswith('<div role="status"><p>web waits: 0/3 nodes are available')


def test_a_pod_with_a_mistake_is_not_sent(cluster: Any) -> None:
    builder = PodBuilder(cluster)
    builder.form.rows[0].amounts[("requests", "memory")].amount = "9Gi"
    builder.on_cluster.put.click()
    assert "would reject this pod" in builder.problem and cluster.pods() == []


def test_without_a_cluster_there_is_no_button() -> None:
    assert PodBuilder().on_cluster is None and SpreadExplorer().on_cluster is None


def test_the_explorer_follows_a_cluster_and_its_scheduler(cluster: Any) -> None:
    explorer = SpreadExplorer(cluster)
    assert explorer.zones.disabled and explorer.state.counts() == [[0], [0], [0]]
    for _ in range(3):
        explorer.on_cluster.put.click()
        predicted, _, chosen = explorer.on_cluster.result.partition("Your cluster: ")
        assert chosen.partition(",")[0] in predicted
    assert explorer.state.counts() == [[1], [1], [1]]
    assert {one.name for one in cluster.pods()} == {"web", "web-2", "web-3"}
    cluster.cordon("c-1")
    explorer.on_cluster.put.click()
    explorer.on_cluster.put.click()
    explorer.on_cluster.put.click()
    assert "it waits (0/3 nodes are available" in explorer.on_cluster.result
    assert explorer.state.counts() == [[2], [2], [1]]
    assert "the objects are those of 3 simulated nodes, cgroup v2" in explorer._origin.value


def test_the_constraint_of_the_page_goes_with_the_pod(cluster: Any) -> None:
    explorer = SpreadExplorer(cluster)
    explorer.max_skew.value, explorer.when_unsatisfiable.value = 3, "ScheduleAnyway"
    explorer.on_cluster.put.click()
    (one,) = cluster.pod("web").spec.topology_spread_constraints
    assert (one.max_skew, one.when_unsatisfiable) == (3, "ScheduleAnyway")
    assert (explorer.state.max_skew, explorer.state.when_unsatisfiable) == (3, "ScheduleAnyway")


def test_nodes_without_zones_are_refused_with_the_way_out() -> None:
    with Cluster.simulated(1) as cluster, pytest.raises(KitError, match=r'Required value: .* "labels": {"topology'):
        SpreadExplorer(cluster)


def test_the_board_shows_waiting_pods_first_and_any_pod_under_any_release(cluster: Any) -> None:
    board = SchedulerBoard(cluster)
    assert "no pod to schedule" in board.problem
    cluster.apply(pod("small", cpu="100m"))
    cluster.advance(2)
    board.look.click()
    assert board.problem == "" and board.pod.options == ("default/small",)
    assert board.decision.suggested_host
    cluster.apply(pod("huge", cpu="9"))
    cluster.advance(2)
    board.look.click()
    assert board.pod.options == ("default/huge",) and "Insufficient cpu" in board.sentence
    board.release.value = "1.24"
    assert board.decision.release.name == "1.24" and "Insufficient cpu" in board.sentence


@pytest.mark.parametrize("widget", [QueueTheatre, PreemptionStage, ReleaseSwitch])
def test_every_widget_of_the_scheduler_takes_a_cluster(cluster: Any, widget: Any) -> None:
    cluster.apply(pod("huge", cpu="9"))
    cluster.advance(2)
    shown = widget(cluster)
    assert shown.problem == "" and shown.sentence


def test_anything_else_is_refused_with_what_is_expected() -> None:
    with pytest.raises(KitError, match="must be a cluster, a Scenario or the name of a story"):
        SpreadExplorer(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("widget", [PodBuilder, SpreadExplorer, SchedulerBoard])
def test_a_link_holds_the_cluster(cluster: Any, widget: Any) -> None:
    cluster.apply(pod("one"))
    cluster.advance(2)
    shown = widget(cluster)
    again = opened_scene(scene_of(shown, shown._recorder))
    assert [one.name for one in again.cluster.pods()] == ["one"]
    again.cluster.close()

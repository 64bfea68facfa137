"""A learner's own cluster in the page: the button puts a pod on it, and a line states the origin of the values."""

ZONES = """\
from kitlib.cluster import Cluster
from kitlib.widgets import PodBuilder, SpreadExplorer

ZONE = "topology.kubernetes.io/zone"
nodes = [{"name": f"{zone}-1", "labels": {ZONE: zone}, "cpus": 2, "memory": "1Gi"} for zone in ("a", "b", "c")]
cluster = Cluster.simulated(nodes, cgroup_version=1)
"""


def put(page):
    page.get_by_role("button", name="Put it on the cluster").click()


def test_the_builders_pod_is_put_on_the_cluster_and_its_files_stand_beside_the_prediction(open_cells):
    page = open_cells(ZONES + "PodBuilder(cluster)")
    assert page.locator(".kitlib-origin p").inner_text() == "Values: computed from Kubernetes' rules for cgroup v1."
    put(page)
    outcome = page.locator(".kitlib-outcome [role=status]")
    outcome.locator("caption").wait_for()
    said = outcome.locator("caption").inner_text()
    assert "web runs on a-1: " in said and "simulated node a-1, cgroup v1" in said
    rows = outcome.locator("tbody tr")
    assert rows.count() >= 8
    assert {row.locator("td").nth(4).inner_text() for row in rows.all()} == {"yes"}


def test_the_next_pod_of_the_explorer_appears_on_the_board(open_cells):
    page = open_cells(ZONES + "SpreadExplorer(cluster)")
    put(page)
    page.locator(".kitlib-outcome [role=status]").get_by_text("Your cluster:").wait_for()
    page.locator(".kitlib-board-token").first.wait_for()
    assert page.locator(".kitlib-board-token").count() == 1
    assert "the objects are those of 3 simulated nodes, cgroup v1" in page.locator(".kitlib-origin p").inner_text()

"""ClusterRoles that hold the rules of others."""

from __future__ import annotations

from typing import Any

from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.controllers.builders import hollow


def role(name: str, *resources: str, **labels: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": [one], "verbs": ["get"]} for one in resources]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": rules,
    }


def rules(cluster: SimulatedCluster) -> list[str]:
    return [one.resources[0] for one in cluster.get("ClusterRole", "all").rules]


def test_the_rules_of_the_selected_roles_are_kept_up_to_date() -> None:
    """The rule of syncClusterRole: selectors in their order, roles by name, each rule once, not its own."""
    cluster = hollow(1)
    every = role("all", **{"to-all": "yes"})
    every["aggregationRule"] = {
        "clusterRoleSelectors": [{"matchLabels": {"first": "yes"}}, {"matchLabels": {"to-all": "yes"}}]
    }
    cluster.apply([every, role("b", "pods", "nodes", **{"to-all": "yes"}), role("c", "secrets")])
    assert rules(cluster) == ["pods", "nodes"]
    cluster.apply([role("a", "services", "pods", **{"to-all": "yes"}), role("z", "nodes", first="yes")])
    assert rules(cluster) == ["nodes", "services", "pods"]
    cluster.patch("ClusterRole", "all", {"rules": [{"apiGroups": [""], "resources": ["mine"], "verbs": ["get"]}]})
    assert rules(cluster) == ["nodes", "services", "pods"], "what is written there by hand is lost"
    cluster.delete("ClusterRole", "a")
    assert rules(cluster) == ["nodes", "pods"]

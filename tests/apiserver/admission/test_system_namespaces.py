"""The namespaces of a new cluster."""

from __future__ import annotations

from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.system_namespaces import system_namespaces


def test_four_namespaces_are_active_and_kept_until_they_are_empty() -> None:
    """Source: controlplane systemnamespaces: kube-system, kube-public, kube-node-lease, default."""
    found = [to_dict(one) for one in system_namespaces()]
    assert found == [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        for name in ("default", "kube-node-lease", "kube-public", "kube-system")
    ]


def test_each_cluster_has_objects_of_its_own() -> None:
    first, second = system_namespaces(), system_namespaces()
    first[0].metadata.labels["x"] = "y"
    assert "x" not in second[0].metadata.labels

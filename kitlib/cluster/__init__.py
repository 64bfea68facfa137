"""Clusters: the object store, admission, controllers, the control plane, and the nodes."""

from kitlib.cluster.cluster import Cluster
from kitlib.cluster.nodes.engine import engine_answers, engine_cgroup_version, engine_has_systemd, engine_processors

__all__ = ["Cluster", "engine_answers", "engine_cgroup_version", "engine_has_systemd", "engine_processors"]

"""Clusters: API server, controllers, scheduler and nodes of every kind behind one class.

Imported by advisor, views, widgets, lab, workshop and commands.
Face: `Cluster`, whose constructors make simulated, docker and kubernetes clusters.
"""

from kitlib.cluster.cluster import Cluster
from kitlib.cluster.nodes.engine import engine_answers, engine_cgroup_version, engine_has_systemd, engine_processors

__all__ = ["Cluster", "engine_answers", "engine_cgroup_version", "engine_has_systemd", "engine_processors"]

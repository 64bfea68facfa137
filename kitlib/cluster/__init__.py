"""Clusters: the object store, admission, small controllers, and where nodes come from."""

from kitlib.cluster.cluster import Cluster
from kitlib.cluster.nodes.engine import engine_answers, engine_has_systemd, engine_processors

__all__ = ["Cluster", "engine_answers", "engine_has_systemd", "engine_processors"]

"""Chooses where real nodes run: on this machine's engine, or as pods if a lesson or KITLIB_NODES says `kubernetes`."""

from __future__ import annotations

import os
from typing import Any

from kitlib.lab import kubectl

KUBERNETES = "kubernetes"
WHY = "real nodes are pods of a Kubernetes cluster, as was asked for"


def as_pods(wish: str = "") -> bool:
    """Return whether real nodes are pods; `wish` is a notebook's or lab's choice, "" takes KITLIB_NODES."""
    return (wish or os.environ.get("KITLIB_NODES")) == KUBERNETES


def real_cluster(*, as_pods: bool, **settings: Any) -> Any:
    """Return a cluster of real nodes.

    Args:
        as_pods: whether the nodes are pods of the Kubernetes cluster in the kubeconfig; else containers of this
            machine's engine.
        settings: settings of `Cluster.docker` or `Cluster.kubernetes`.

    Raises:
        KitError: the cluster cannot be made.
    """
    from kitlib.cluster import Cluster

    if kubectl.is_wanted():  # this process answers kubectl
        settings.setdefault("control_plane", "process")
    return Cluster.kubernetes(**settings) if as_pods else Cluster.docker(**settings)

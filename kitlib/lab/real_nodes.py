"""Where real nodes run: on this machine's engine, or as pods where a lesson or KITLIB_NODES says `kubernetes`."""

from __future__ import annotations

import os
from typing import Any

KUBERNETES = "kubernetes"
WHY = "real nodes are pods of a Kubernetes cluster, as was asked for"


def as_pods(wish: str = "") -> bool:
    """Whether real nodes are pods. `wish`: of a notebook or a lab; "" takes KITLIB_NODES."""
    return (wish or os.environ.get("KITLIB_NODES")) == KUBERNETES


def real_cluster(*, as_pods: bool, **settings: Any) -> Any:
    """A cluster of real nodes.

    Args:
        as_pods: of the Kubernetes cluster that the kubeconfig names; else containers of this machine's engine.
        settings: of `Cluster.docker` or `Cluster.kubernetes`.

    Raises:
        KitError: it cannot be made; why.
    """
    from kitlib.cluster import Cluster

    return Cluster.kubernetes(**settings) if as_pods else Cluster.docker(**settings)

"""Where a lesson's real nodes run: on this machine's engine, or as pods where KITLIB_NODES says `kubernetes`."""

from __future__ import annotations

import os
from typing import Any

KUBERNETES = "kubernetes"
WHY = "real nodes are pods of a Kubernetes cluster, as KITLIB_NODES says"


def as_pods() -> bool:
    """Whether real nodes are pods."""
    return os.environ.get("KITLIB_NODES") == KUBERNETES


def real_cluster(**settings: Any) -> Any:
    """A cluster of real nodes.

    Args:
        settings: of `Cluster.docker` or `Cluster.kubernetes`.

    Raises:
        KitError: it cannot be made; why.
    """
    from kitlib.cluster import Cluster

    return Cluster.kubernetes(**settings) if as_pods() else Cluster.docker(**settings)

"""What an entry of a journal does, done again on a cluster."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.admission import manifests
from kitlib.cluster.journal import place_of


def replay_entry(cluster: Any, entry: dict[str, Any]) -> None:
    """Do what an entry says; every other action than these has the name and the arguments of a cluster's method.

    Args:
        cluster: the cluster to act on.
        entry: a checked entry of the journal; changed in place.
    """
    action = entry.pop("action")
    entry.pop("at", None)  # on real nodes, the time of the action; waiting is recorded as an entry of its own
    if action in ("apply", "create"):
        cluster.apply_located(action, manifests.read(entry["objects"]), action == "create")
    elif action == "write":
        node = cluster.node(entry["node"])
        path = place_of(entry, node.desired()) if entry.get("pod") else entry["path"]
        node.write(path, entry["file"], entry["value"])
    elif action == "signal":
        cluster.node(entry["node"]).signal(entry["pod"], entry["container"], entry["signal"])
    elif action == "restart_kubelet":
        cluster.node(entry.pop("node")).restart_kubelet(entry.pop("kubelet"), **entry)
    elif action == "exit":
        cluster.node(entry.pop("node")).program_exits(**entry)
    else:
        getattr(cluster, action)(**entry)

"""Replay of a journal's entries on a cluster."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kitlib.api.errors import KitError
from kitlib.apiserver.admission import manifests
from kitlib.apiserver.store.store import Store
from kitlib.cluster.journal import place_of


def replay_entry(cluster: Any, entry: dict[str, Any]) -> None:
    """Repeat the action of an entry; actions without code here have the name and arguments of a cluster's method.

    Args:
        cluster: the cluster to act on.
        entry: a checked entry of the journal; changed in place.
    """
    action = entry.pop("action")
    entry.pop("at", None)  # the time of an action on real nodes; waiting has entries of its own
    if action in ("apply", "create"):
        objects = [at_present(one, cluster.api.store) for one in entry["objects"]]
        cluster.apply_located(action, manifests.read(objects), action == "create")
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


def at_present(plain: dict[str, Any], store: Store) -> dict[str, Any]:
    """Return a recorded object with the resourceVersion that its object has in the store of a replay.

    The cluster that recorded the write compared the version with its own. The numbers differ in a replay, since Leases
    are renewed when they are read, and reading is not in the journal.
    """
    metadata = plain.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("resourceVersion"):
        return plain
    found = None
    with suppress(KitError, KeyError, TypeError, AttributeError):  # a forged entry fails where it is applied
        found = store.find(plain["kind"], metadata["name"], metadata.get("namespace") or "default", copy=False)
    version = found.metadata.resource_version if found is not None else ""
    return {**plain, "metadata": {**metadata, "resourceVersion": version}}

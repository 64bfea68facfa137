"""Replay of a journal's entries on a cluster."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission import manifests
from kitlib.apiserver.admission.deletion import BACKGROUND
from kitlib.apiserver.admission.requester import ADMINISTRATOR, Requester, requested_by, requester
from kitlib.apiserver.store.merge import strategic_patch
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
    who = Requester(entry.pop("by", "") or ADMINISTRATOR.name, client=entry.pop("client", ""))
    if who.client:
        with cluster.lock, requested_by(who):
            _replay_request(cluster, action, entry)
            cluster.settle()
    elif action in ("apply", "create"):
        objects = [at_present(one, cluster.api.store) for one in entry["objects"]]
        cluster.apply_located(action, manifests.read(objects), action == "create")
    elif action == "write":
        node = cluster.node(entry["node"])
        path = place_of(entry, node.desired()) if entry.get("pod") else entry["path"]
        node.write(path, entry["file"], entry["value"])
    elif action == "signal":
        cluster.node(entry.pop("node")).signal(**entry)
    elif action in ("restart_kubelet", "reboot", "shutdown", "cancel_shutdown"):
        getattr(cluster.node(entry.pop("node")), action)(**entry)
    elif action == "exit":
        cluster.node(entry.pop("node")).program_exits(**entry)
    elif action == "advance" and entry.get("steps"):
        if hasattr(cluster, "refresh"):  # real nodes, whose time passes by itself
            cluster.advance(entry["steps"] * entry["seconds"])
        else:
            for _ in range(entry["steps"]):
                cluster.let_time_pass(entry["seconds"])
    else:
        entry.pop("steps", None)
        getattr(cluster, action)(**entry)


def _replay_request(cluster: Any, action: str, entry: dict[str, Any]) -> None:
    """Repeat a client's write on the API server, without the checks and the memory of `cluster.apply`."""
    api, store = cluster.api, cluster.api.store
    if action == "create":
        for one in entry["objects"]:
            api.create(from_dict(one))
    elif action == "delete":
        policy = entry.get("propagation_policy") or BACKGROUND
        kind = store.kinds.named(entry["kind"])
        api.delete(kind, entry["name"], entry["namespace"], grace=entry.get("grace"), propagation=policy)
    elif action in ("patch", "patch_status"):
        standing = store.get(entry["kind"], entry["name"], entry["namespace"])
        changed = from_dict(strategic_patch(to_dict(standing), entry["patch"]))
        if action == "patch_status":
            api.update_status(changed, metadata=True)
        elif entry.get("subresource") == "resize":
            api.resize(changed)
        elif entry.get("subresource") == "ephemeralcontainers":
            api.update_ephemeral_containers(changed)
        else:
            below = entry.get("subresource", "")
            api.update(changed, below if below in ("scale", "finalize") else "")
    elif action == "evict":
        cluster.evict(entry["name"], entry["namespace"], grace=entry.get("grace"))
    elif action == "bind":
        cluster.bind(entry["name"], entry["node"], entry["namespace"], metadata=entry.get("metadata"))
    else:
        raise KitError(f"journal: {action}: not allowed for {requester().name}: not a request to the API server")


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

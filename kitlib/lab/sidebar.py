"""The content of JupyterLab's side bar: the clusters of a notebook and the learner's progress.

The extension evaluates `state()` in the notebook's kernel, so the bar works with a server and in a browser alone.
"""

from __future__ import annotations

import json
from typing import Any

from kitlib.api.clock import VirtualClock
from kitlib.api.meta import is_condition_true
from kitlib.lab.course_map import continue_with, course_map
from kitlib.lab.lesson import choose_kernel, open_clusters
from kitlib.lab.progress import Progress

MAX_PODS = 30
MAX_EVENTS = 8
_KERNELS = {"docker": "real kernel", "simulated": "simulated kernel"}
_seen: dict[str, Any] = {}


def state() -> str:
    """Return the state as hexadecimal digits of JSON, which need no escapes in a Python literal."""
    return json.dumps(current(), ensure_ascii=False).encode().hex()


def current() -> dict[str, Any]:
    """Return the kernel and its reason, the clusters of this notebook, and the progress."""
    found = clusters()
    kernel, why = _kernel(next(iter(found.values()), None))
    return {
        "kernel": _KERNELS[kernel],
        "why": why,
        "clusters": [_cluster(name, cluster) for name, cluster in found.items()],
        "progress": _progress(),
    }


def clusters() -> dict[str, Any]:
    """Return name -> open cluster: those in variables of the notebook, then those of its lesson."""
    found: dict[str, Any] = {}
    for name, value in _variables().items():
        if not name.startswith("_") and _is_cluster(value) and all(value is not one for one in found.values()):
            found[name] = value
    for value in open_clusters():
        if all(value is not one for one in found.values()):
            found[f"cluster {len(found) + 1}"] = value
    return found


def _variables() -> dict[str, Any]:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return {}
    shell = get_ipython()
    return dict(shell.user_ns) if shell is not None else {}


def _is_cluster(value: Any) -> bool:
    from kitlib.cluster.base import BaseCluster

    return isinstance(value, BaseCluster) and not value.closed


def _kernel(cluster: Any) -> tuple[str, str]:
    if cluster is not None:
        virtual = isinstance(cluster.clock, VirtualClock)
        return ("simulated" if virtual else "docker"), "what the cluster of this notebook runs on"
    if "kernel" not in _seen:  # a request to an engine is slow, and its result does not change
        _seen["kernel"] = choose_kernel()
    return _seen["kernel"]


def _cluster(name: str, cluster: Any) -> dict[str, Any]:
    pods = cluster.pods()
    rows = [_pod(pod) for pod in sorted(pods, key=lambda pod: (pod.status.phase == "Running", pod.key))]
    latest = list(cluster.events())[-MAX_EVENTS:]
    return {
        "name": name,
        "kind": _KERNELS["simulated" if isinstance(cluster.clock, VirtualClock) else "docker"],
        "nodes": [_node(node, pods) for node in cluster.nodes],
        "pods": rows[:MAX_PODS],
        "more": max(0, len(rows) - MAX_PODS),
        "events": [_event(event) for event in reversed(latest)],
    }


def _node(node: Any, pods: Any) -> dict[str, str]:
    state = "Ready" if is_condition_true(node.status.conditions, "Ready") else "NotReady"
    mine = sum(1 for pod in pods if pod.spec.node_name == node.name)
    cordoned = ", cordoned" if node.spec.unschedulable else ""
    taints = "".join(f", {taint.key}:{taint.effect}" for taint in node.spec.taints)
    return {"name": node.name, "state": state, "note": f"{mine} pod{'s' * (mine != 1)}{cordoned}{taints}"}


def _pod(pod: Any) -> dict[str, str]:
    state = pod.status.reason or pod.status.phase or "Pending"
    for status in pod.status.container_statuses:
        for kind in ("waiting", "terminated"):
            state = (status.state.get(kind) or {}).get("reason") or state
    return {"name": pod.key, "state": "Succeeded" if state == "Completed" else state, "note": pod.spec.node_name or ""}


def _event(event: Any) -> dict[str, str]:
    about = event.involved_object
    state = "Warning" if event.type == "Warning" else ""
    return {"name": f"{event.reason}: {about.kind} {about.name}", "state": state, "note": event.message[:200]}


def _progress() -> dict[str, Any]:
    kept = Progress()
    cards = course_map(kept)
    on = continue_with(cards, kept)
    done = sum(1 for card in cards if card.state == "done")
    next_, path = (f"{on.number} · {on.title}", on.path) if on else ("", "")
    return {"done": done, "of": len(cards), "next": next_, "path": path}

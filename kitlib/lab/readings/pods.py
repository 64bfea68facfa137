"""The course of pods: waiting for them, their phases, nodes and arrival."""

from __future__ import annotations

import re
from typing import Any

from kitlib.lab import host


def wait_until_running(cluster: Any, *names: str, at_most: float = 120.0) -> bool:
    """Let time pass until these pods (default: all) run, and return whether they do."""
    wanted = names or tuple(p.name for p in cluster.pods())
    for _ in range(round(2 * at_most)):
        if all(cluster.pod(name).status.phase == "Running" for name in wanted):
            for node in {cluster.pod(name).spec.node_name for name in wanted}:
                host.begin(cluster.node(node))
            return True
        cluster.advance(0.5)
    return False


def phases(cluster: Any) -> dict[str, str]:
    """Return pod -> phase, with its reason if there is one."""
    said = {p.name: (p.status.phase, p.status.reason) for p in cluster.pods()}
    return {name: f"{phase}: {reason}" if reason else phase for name, (phase, reason) in said.items()}


def failed(cluster: Any) -> list[str]:
    """Return the names of the failed pods."""
    return [p.name for p in cluster.pods() if p.status.phase == "Failed"]


def back_off(cluster: Any, name: str) -> int:
    """Return the seconds of back-off that the status of a pod's first container names; 0 = it does not wait."""
    waiting = cluster.pod(name).status.container_statuses[0].state.get("waiting", {})
    return int("".join(re.findall(r"back-off (\d+)s", waiting.get("message", ""))) or 0)


def placed(cluster: Any) -> dict[str, str]:
    """Return pod -> node, or "pending"."""
    return {p.name: p.spec.node_name or "pending" for p in cluster.pods()}


def arrival(cluster: Any, manifest: Any, at_most: int = 60) -> list[dict[str, Any]]:
    """Apply a pod and record a row about every second until it runs: nominated node, node, pods with processes."""
    from kitlib.cluster.nodes.metrics import process_rows

    (made,), began = cluster.apply(manifest), cluster.now()
    rows: list[dict[str, Any]] = []
    while len(rows) < at_most:
        pod = cluster.pod(made.name)
        running = {row["pod"] for node in cluster.nodes for row in process_rows(cluster.node(node.name))}
        rows.append(
            {
                "second": round((cluster.now() - began).total_seconds(), 1),
                "nominated": pod.status.nominated_node_name,
                "node": pod.spec.node_name,
                "processes of": ", ".join(sorted(running)),
            }
        )
        if made.name in running:
            break
        cluster.advance(1)
    return rows


def log_rows(driver: Any) -> list[dict[str, Any]]:
    """Return the log of a scheduler's driver as rows for `table`: second, pod, event and message."""
    return [
        {
            "second": entry.time_ms / 1000,
            "pod": entry.pod.removeprefix("default/"),
            "event": entry.reason,
            "message": entry.message,
        }
        for entry in driver.log
    ]

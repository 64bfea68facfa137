"""The row of a pod: its STATUS is derived from phase, containers and conditions. Source: printers.go printPod."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kitlib.api.core import TERMINAL_PHASES
from kitlib.api.duration import human_duration
from kitlib.apiserver.http.printers.text import Object, conditions, created, parse_time


def print_pod(pod: Object, now: datetime) -> list[Any]:
    """Return Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status, meta = pod.get("spec", {}), pod.get("status", {}), pod.get("metadata", {})
    known = conditions(pod)
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    reason = status.get("reason") or status.get("phase", "")
    if known.get("PodScheduled", {}).get("reason") == "SchedulingGated":
        reason = "SchedulingGated"

    init = _Init(pod, sidecars)
    reason = init.reason or reason
    ready, restarts, last = init.ready, init.restarts, init.last_restart
    if not init.reason or known.get("Initialized", {}).get("status") == "True":
        # After initialization, only the restarts of sidecars and of containers count.
        restarts, last, running = init.sidecar_restarts, init.sidecar_last_restart, False
        # In reverse, so that the reason of the first container wins.
        for one in reversed(status.get("containerStatuses") or ()):
            restarts += one.get("restartCount", 0)
            last = _later(last, one)
            state = one.get("state") or {}
            if (state.get("waiting") or {}).get("reason"):
                reason = state["waiting"]["reason"]
            elif state.get("terminated") is not None:
                reason = _ended(state["terminated"])
            elif one.get("ready") and state.get("running") is not None:
                running = True
                ready += 1
        if reason == "Completed" and running:
            reason = "Running" if known.get("Ready", {}).get("status") == "True" else "NotReady"
    if meta.get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in TERMINAL_PHASES:
            reason = "Terminating"

    since = f" ({human_duration((now - last).total_seconds())} ago)" if restarts and last is not None else ""
    addresses = [ip.get("ip", "") for ip in status.get("podIPs") or ()]
    gates = [g.get("conditionType", "") for g in spec.get("readinessGates") or ()]
    met = sum(known.get(gate, {}).get("status") == "True" for gate in gates)
    return [
        meta.get("name", ""),
        f"{ready}/{total}",
        reason,
        f"{restarts}{since}",
        created(pod, now),
        addresses[0] if addresses else "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        f"{met}/{len(gates)}" if gates else "<none>",
    ]


class _Init:
    """The summary of the init containers: the reason of the first that has not finished, restarts, ready sidecars."""

    def __init__(self, pod: Object, sidecars: set[Any]) -> None:
        self.reason, self.ready = "", 0
        self.restarts, self.sidecar_restarts = 0, 0
        self.last_restart: datetime | None = None
        self.sidecar_last_restart: datetime | None = None
        wanted = len(pod.get("spec", {}).get("initContainers") or ())
        for number, one in enumerate(pod.get("status", {}).get("initContainerStatuses") or ()):
            self.restarts += one.get("restartCount", 0)
            self.last_restart = _later(self.last_restart, one)
            sidecar = one.get("name") in sidecars
            if sidecar:
                self.sidecar_restarts += one.get("restartCount", 0)
                self.sidecar_last_restart = _later(self.sidecar_last_restart, one)
            state = one.get("state") or {}
            terminated, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
            if terminated is not None and terminated.get("exitCode", 0) == 0:
                continue
            if sidecar and one.get("started"):
                self.ready += bool(one.get("ready"))
                continue
            if terminated is not None:
                self.reason = f"Init:{_ended(terminated)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{number}/{wanted}"
            break


def _ended(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _later(moment: datetime | None, container: Mapping[str, Any]) -> datetime | None:
    ended = parse_time(((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
    if ended is None or (moment is not None and moment >= ended):
        return moment
    return ended

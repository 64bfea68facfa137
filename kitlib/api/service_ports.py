"""The number of a Service's port in a pod. Source: pkg/api/v1/pod util.go FindPort."""

from __future__ import annotations

from kitlib.api.core import Pod, ServicePort


def find_port(pod: Pod, port: ServicePort) -> int | None:
    """Return the number of a Service's port in a pod; None if no container names such a port.

    Containers and sidecars (init containers that restart always) are searched.
    """
    target = port.target_port
    if target is None or target == 0:
        return port.port
    if isinstance(target, int):
        return target
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    for container in (*pod.spec.containers, *sidecars):
        for one in container.ports:
            if one.name == target and (one.protocol or "TCP") == (port.protocol or "TCP"):
                return int(one.container_port)
    return None

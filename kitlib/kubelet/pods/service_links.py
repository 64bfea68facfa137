"""The variables by which a container finds the Services of its namespace, and the API server.

Source: kubelet getServiceEnvVarMap; pkg/kubelet/envvars FromServices, makeLinkVariables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kitlib.api.core import Service


def service_variables(services: Iterable[Service]) -> dict[str, str]:
    """Return the variables of Services; those without an address of their own have none."""
    return dict(pair for one in services if one.spec.cluster_ip not in ("", "None") for pair in _variables(one))


def _variables(service: Service) -> Iterator[tuple[str, str]]:
    address, ports, prefix = service.spec.cluster_ip, service.spec.ports, _name(service.name)
    host = f"[{address}]" if ":" in address else address
    yield f"{prefix}_SERVICE_HOST", address
    for number, port in enumerate(ports):
        protocol = port.protocol or "TCP"
        url = f"{protocol.lower()}://{host}:{port.port}"
        if number == 0:
            yield f"{prefix}_SERVICE_PORT", str(port.port)
            yield f"{prefix}_PORT", url
        if port.name:
            yield f"{prefix}_SERVICE_PORT_{_name(port.name)}", str(port.port)
        one = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
        yield from ((one, url), (f"{one}_PROTO", protocol.lower()))
        yield from ((f"{one}_PORT", str(port.port)), (f"{one}_ADDR", address))


def _name(text: str) -> str:
    return text.replace("-", "_").upper()

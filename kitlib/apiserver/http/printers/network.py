"""Rows of Services, endpoints and routes. Source: pkg/printers/internalversion/printers.go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kitlib.apiserver.http.printers.text import Object, created, labels, selector

_MAX_ENDPOINTS = 3


def print_service(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    kind = spec.get("type") or "ClusterIP"
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    ports = ",".join(_port(p) for p in spec.get("ports") or ()) or "<none>"
    return [
        obj["metadata"].get("name", ""),
        kind,
        addresses[0] if addresses else "<none>",
        _external(obj, kind),
        ports,
        created(obj, now),
        labels(spec.get("selector")),
    ]


def _port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}"


def _external(obj: Object, kind: str) -> str:
    """Return the EXTERNAL-IP of a Service. Source: printers getServiceExternalIP."""
    spec = obj.get("spec", {})
    given = list(spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        return ",".join([*_balanced(obj), *given]) or "<pending>"
    return ",".join(given) or "<none>"


def _balanced(obj: Object) -> list[str]:
    """Return the addresses of a load balancer. Source: printers loadBalancerStatusStringer."""
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return sorted({one.get("ip") or one.get("hostname", "") for one in ingress} - {""})


def print_endpoints(obj: Object, now: datetime) -> list[Any]:
    found = []
    for subset in obj.get("subsets") or ():
        ports = subset.get("ports") or [{}]
        for port in ports:
            for address in subset.get("addresses") or ():
                found.append(_host_port(address.get("ip", ""), port["port"]) if port else address.get("ip", ""))
    shown = _shortened(found) if obj.get("subsets") else "<none>"
    return [obj["metadata"].get("name", ""), shown, created(obj, now)]


def _host_port(host: str, port: int) -> str:
    """Return `host:port`, with brackets for IPv6. Source: net.JoinHostPort."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _shortened(found: list[str]) -> str:
    more = len(found) - _MAX_ENDPOINTS
    text = ",".join(found[:_MAX_ENDPOINTS])
    return f"{text} + {more} more..." if more > 0 else text


def print_endpoint_slice(obj: Object, now: datetime) -> list[Any]:
    ports = [str(p["port"]) if p.get("port") is not None else p.get("name") or "*" for p in obj.get("ports") or ()]
    addresses = [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    shown = _unset(ports), _unset(addresses)
    return [obj["metadata"].get("name", ""), obj.get("addressType", ""), *shown, created(obj, now)]


def _unset(found: list[str]) -> str:
    return _shortened(found) or "<unset>"


def print_ingress(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    address = ",".join(_balanced(obj))
    ports = "80, 443" if spec.get("tls") else "80"
    chosen = spec.get("ingressClassName") or "<none>"
    return [obj["metadata"].get("name", ""), chosen, _hosts(spec.get("rules") or []), address, ports, created(obj, now)]


def _hosts(rules: Sequence[Object]) -> str:
    """Return the first three hosts of an Ingress; the rest is a count of its rules. Source: printers formatHosts."""
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == _MAX_ENDPOINTS
        if not more and rule.get("host"):
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    return ",".join(hosts) + (f" + {len(rules) - _MAX_ENDPOINTS} more..." if more else "")


def print_ingress_class(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    found = spec.get("parameters")
    shown = "<none>"
    if found:
        kind = f"{found.get('kind', '')}.{found['apiGroup']}" if found.get("apiGroup") else found.get("kind", "")
        shown = f"{kind}/{found.get('name', '')}"
    return [obj["metadata"].get("name", ""), spec.get("controller", ""), shown, created(obj, now)]


def print_network_policy(obj: Object, now: datetime) -> list[Any]:
    return [obj["metadata"].get("name", ""), selector(obj.get("spec", {}).get("podSelector")), created(obj, now)]

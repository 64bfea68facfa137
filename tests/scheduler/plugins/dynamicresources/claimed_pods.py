"""Pods that use claims, and the claims, for the tests of DynamicResources and of its queueing hints."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import ResourceClaim
from kitlib.api.serialize import from_dict


def pod(name: str, *claims: str, template: str = "", **spec: Any) -> Pod:
    entries: list[dict[str, str]] = [{"name": one, "resourceClaimName": one} for one in claims]
    entries += [{"name": "own", "resourceClaimTemplateName": template}] if template else []
    meta = {"name": name, "namespace": "default", "uid": name}
    data = {"containers": [{"name": "c"}], "resourceClaims": entries, **spec}
    return set_defaults(from_dict({"metadata": meta, "spec": data}, Pod))


def claim(name: str = "one", *, on: str = "", users: tuple[str, ...] = (), request: Any = None) -> ResourceClaim:
    asked = request or {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    meta = {"name": name, "namespace": "default", "uid": name}
    made = set_defaults(from_dict({"metadata": meta, "spec": {"devices": {"requests": [asked]}}}, ResourceClaim))
    if on:
        field = {"key": "metadata.name", "operator": "In", "values": [on]}
        result = {"request": "r", "driver": "gpu.example.com", "pool": on, "device": "gpu-0"}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        reserved = [{"resource": "pods", "name": user, "uid": user} for user in users]
        status = {"allocation": {"devices": {"results": [result]}, "nodeSelector": selector}, "reservedFor": reserved}
        made.status = from_dict({"status": status}, ResourceClaim).status
    return made

"""Short ways to write devices of drivers: slices, classes, claims and templates of the resource.k8s.io API.

cluster.apply([device_class(), device_slice("n1", device("gpu-0", memory="16Gi"))])
cluster.apply([resource_claim("one", device_request("gpu", memory="8Gi")), pod("a", resourceClaims=claims("one"))])
"""

from __future__ import annotations

from typing import Any

from kitlib.lab.manifests import Manifest

DRIVER = "gpu.example.com"
_API = "resource.k8s.io/v1"


def device(name: str, memory: str = "16Gi", *, taint: str = "", **attributes: str) -> Manifest:
    """Return a device as its driver publishes it.

    Args:
        name: name within the pool.
        memory: memory capacity, a quantity.
        taint: "key=value:effect"; "" = none.
        attributes: string attributes by name.
    """
    made: Manifest = {"name": name, "capacity": {"memory": {"value": memory}}}
    if attributes:
        made["attributes"] = {key: {"string": value} for key, value in attributes.items()}
    if taint:
        key, _, rest = taint.partition("=")
        value, _, effect = rest.partition(":")
        made["taints"] = [{"key": key, "value": value, "effect": effect}]
    return made


def device_slice(node: str, *devices: Manifest) -> Manifest:
    """Return a ResourceSlice with the devices of a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    return {"apiVersion": _API, "kind": "ResourceSlice", "metadata": {"name": f"{node}-gpu"}, "spec": spec}


def device_class(name: str = DRIVER, **spec: Any) -> Manifest:
    """Return a DeviceClass that selects all devices of the driver."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    made = {"selectors": [selector], **spec}
    return {"apiVersion": _API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": made}


def device_request(name: str, memory: str = "", *, count: int = 1, where: str = "", tolerate: str = "") -> Manifest:
    """Return a claim's request for `count` devices.

    Args:
        name: the request's name.
        memory: minimum memory of each device, a quantity; "" = any.
        count: number of devices.
        where: a further condition, in CEL.
        tolerate: key of a taint to tolerate; "" = none.
    """
    least = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{memory}")) >= 0' if memory else ""
    made: Manifest = {"name": name, "deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": count}
    if least or where:
        made["selectors"] = [{"cel": {"expression": one}} for one in (least, where) if one]
    if tolerate:
        made["tolerations"] = [{"key": tolerate, "operator": "Exists"}]
    return made


def _spec(requests: tuple[Manifest | list[Manifest], ...]) -> Manifest:
    """Return the spec of a claim: each request alone, or a list of which the first available one is allocated."""
    made: list[Manifest] = []
    for number, one in enumerate(requests):
        if isinstance(one, list):
            made.append({"name": f"either-{number}", "firstAvailable": one})
        else:
            rest = {key: value for key, value in one.items() if key != "name"}
            made.append({"name": one["name"], "exactly": rest})
    return {"devices": {"requests": made}}


def resource_claim(name: str, *requests: Manifest | list[Manifest]) -> Manifest:
    """Return a ResourceClaim; a list of requests is a prioritized list."""
    return {"apiVersion": _API, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": _spec(requests)}


def claim_template(name: str, *requests: Manifest | list[Manifest]) -> Manifest:
    """Return a ResourceClaimTemplate, from which every pod gets its own claim."""
    spec = {"spec": _spec(requests)}
    return {"apiVersion": _API, "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}


def claims(claim: str = "", *, template: str = "") -> list[Manifest]:
    """Return a pod's `resourceClaims`: an existing claim by name, or one made from a template."""
    return [{"name": "gpu", **({"resourceClaimTemplateName": template} if template else {"resourceClaimName": claim})}]


def allocated(cluster: Any) -> dict[str, str]:
    """Return claim -> pool and devices that are allocated to it; "" without an allocation."""
    found = {}
    for claim in cluster.list("ResourceClaim"):
        of = claim.status.allocation
        results = of.devices.results if of is not None else []
        found[claim.name] = ", ".join(f"{result.pool}/{result.device}" for result in results)
    return found

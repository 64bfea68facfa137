"""Devices, claims and what an allocator makes of them, for the tests of the structured allocator."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Node
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import AllocationResult, DeviceClass, ResourceClaim, ResourceSlice
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.plugins.dynamicresources.allocator import Allocator
from kitlib.scheduler.plugins.dynamicresources.claims import allocated, inventory

DRIVER = "gpu.example.com"
GPU = {"deviceClassName": "gpu"}
NOW = Release("1.36")


def node(name: str = "a", **labels: str) -> Node:
    return from_dict({"metadata": {"name": name, "labels": labels}}, Node)


def device(name: str, model: str = "", numa: int | None = None, **fields: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"model": {"string": model}} if model else {}
    if numa is not None:
        attributes["numa"] = {"int": numa}
    return {"name": name, "attributes": attributes, **fields}


def published(*devices: dict[str, Any], name: str = "s", pool: str = "p", **spec: Any) -> ResourceSlice:
    where = {} if {"nodeName", "nodeSelector", "perDeviceNodeSelection"} & set(spec) else {"allNodes": True}
    pool_ = {"name": pool, "generation": spec.pop("generation", 1), "resourceSliceCount": spec.pop("count", 1)}
    data = {"driver": DRIVER, "pool": pool_, "devices": list(devices), **where, **spec}
    return from_dict({"metadata": {"name": name}, "spec": data}, ResourceSlice)


def claim(*requests: dict[str, Any], name: str = "c", **devices: Any) -> ResourceClaim:
    meta = {"name": name, "namespace": "default", "uid": name}
    return set_defaults(
        from_dict({"metadata": meta, "spec": {"devices": {"requests": list(requests), **devices}}}, ResourceClaim)
    )


def exactly(name: str = "r", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {**GPU, **fields}}


def cel(text: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": text}}]}


def model(*names: str) -> dict[str, Any]:
    return cel(f'device.attributes["{DRIVER}"].model in {list(names)}'.replace("'", '"'))


def allocator(
    slices: list[ResourceSlice], *claims: ResourceClaim, others: list[ResourceClaim] | None = None, **more: Any
) -> Allocator:
    gpu = from_dict({"metadata": {"name": "gpu"}, **more.get("gpu_class", {})}, DeviceClass)
    book = DRAManager.of([*slices, gpu, *(others or [])])
    return Allocator(list(claims), inventory(book), book.classes, allocated(book), more.get("release", NOW))


def given_out(found: list[AllocationResult] | None) -> list[list[str]] | None:
    return None if found is None else [[one.device for one in result.devices.results] for result in found]


def holding(*devices: str, **result: Any) -> ResourceClaim:
    """A claim that has devices already."""
    results = [{"request": "r", "driver": DRIVER, "pool": "p", "device": one, **result} for one in devices]
    made = claim(exactly(), name=f"held-{'-'.join(devices)}")
    made.status = from_dict({"status": {"allocation": {"devices": {"results": results}}}}, ResourceClaim).status
    return made

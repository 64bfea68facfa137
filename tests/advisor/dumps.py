"""Small dumps for the tests of explanations: nodes, pods and other objects in one line each."""

from __future__ import annotations

from typing import Any

import yaml

from kitlib.advisor.dump import Dump
from kitlib.advisor.explanation import Explanation
from kitlib.advisor.targets import find_target
from kitlib.advisor.workloads import explain_object


def node(name: str, cpu: str = "4", **more: Any) -> dict[str, Any]:
    """Return a node; `labels`, `taints` and `status` add to it."""
    labels = {"kubernetes.io/hostname": name, **more.get("labels", {})}
    offered = {"cpu": cpu, "memory": "8Gi", "pods": more.get("pods", "110"), **more.get("offers", {})}
    spec = {"taints": more["taints"]} if "taints" in more else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": offered, **more.get("status", {})},
    }


def pod(name: str, cpu: str = "1", on: str = "", namespace: str = "default", **more: Any) -> dict[str, Any]:
    """Return a pod with one container; `spec`, `meta` and `status` add to it, `container` to its container."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **more.get("container", {})}
    phase = "Running" if on else "Pending"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", **more.get("meta", {})},
        "spec": {"containers": [container], **({"nodeName": on} if on else {}), **more.get("spec", {})},
        "status": {"phase": phase, **more.get("status", {})},
    }


def some(text: str) -> list[dict[str, Any]]:
    """Return the objects of a YAML list."""
    return list(yaml.safe_load(text))


def dump(*objects: dict[str, Any], listed: tuple[str, ...] = (), release: str | None = None) -> Dump:
    """Return a dump of these objects."""
    return Dump.of_items(objects, listed=listed, release=release)


def asked(found: Dump, name: str = "", namespace: str = "") -> Explanation:
    """Return the answer about an object of a dump."""
    return explain_object(found, find_target(found, name, namespace))


def words(answer: Explanation) -> str:
    """Return the texts of all stages."""
    return "\n".join(str(one) for one in answer.results)

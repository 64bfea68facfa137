"""Plans of a cluster's nodes, from a number, short specifications, or Node manifests.

    Cluster.simulated(3)
    Cluster.simulated([{"name": "a", "cpus": 4, "memory": "8Gi", "labels": {"zone": "a"},
                        "taints": ["gpu=yes:NoSchedule"], "kubelet": ["--kube-reserved=cpu=500m,memory=100Mi"]}])
    Cluster.simulated([{"topology": {"sockets": 2, "numa": 2, "cores": 8}, "memory": "64Gi"}])    # 64 processors
    Cluster.simulated(load("nodes.yaml"))

A Node manifest describes a machine by its capacity; a smaller allocatable reserves the difference.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kitlib.api.core import Node, NodeSpec, ResourceList, Taint
from kitlib.api.errors import KitError
from kitlib.api.meta import ObjectMeta
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.cm.cgroup_names import OCI_RUNTIMES
from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.cm.devicemanager.manager import DevicePlugin
from kitlib.kubelet.config.machine import MachineInfo, grouped
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.images.image_gc import Image

CPUS, MEMORY = 4, "8Gi"
_MACHINE = (
    *("swap", "huge_pages", "ephemeral_storage", "image_storage", "max_pid", "topology"),
    *("numa_memory", "numa_distances", "page_size", "cgroups", "apparmor"),
)
_WORDS = {
    *("name", "cpus", "memory", "labels", "annotations", "taints", "kubelet", "resources", "devices", "count"),
    *("images", "missing_images", "cgroup_version", "runtime", *_MACHINE),
}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


KubeletSource: TypeAlias = "KubeletSettings | str | os.PathLike[str] | Mapping[str, object] | Iterable[str]"
"""The kubelet's flags (a list or one string), a KubeletConfiguration (data, text or a file's path), or settings."""
NodeSpecification: TypeAlias = "NodePlan | Node | Mapping[str, object]"
"""A mapping that describes one node, a Node manifest, or a plan."""
Nodes: TypeAlias = "int | NodeSpecification | Iterable[NodeSpecification]"
"""The argument `nodes=`: a number of equal nodes, one specification, or several."""


@dataclass(frozen=True)
class NodePlan:
    """The plan of a node.

    Attributes:
        name: the node's name.
        machine: the processors and the memory.
        labels, annotations, taints: the fields of the Node object.
        kubelet: the kubelet's settings: flags (a list), or a KubeletConfiguration (plain data, text or a path).
        resources: the amounts of extended resources without devices, `{"example.com/gpu": 2}`.
        devices: the extended resources with devices, `{"example.com/gpu": {"gpu-0": 0, "gpu-1": 1}}`; the value of a
            device is its NUMA node.
        runtime: the low-level runtime of a simulated node: `runc` (1.3.2 or later), `runc<1.3.2`, `crun` (1.23 or
            later), `crun<1.23`; weights and, under systemd, quotas depend on it.
        images: the images that are on the node at first and can be pulled: `{"web:1": "600Mi"}`, or with `pinned`.
        missing_images: patterns of the names of images that no registry has, `("*:404",)`; pulls of them fail.
        cgroup_version: the cgroup version of the kernel; None = the cluster's.
    """

    name: str
    machine: MachineInfo
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    kubelet: KubeletSource = ()
    resources: Mapping[str, int] = field(default_factory=dict)
    devices: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    missing_images: tuple[str, ...] = ()
    runtime: str = "runc"
    cgroup_version: Version | None = None

    @property
    def offered(self) -> dict[str, int]:
        """The amounts of extended resources by name."""
        return {**self.resources, **{name: len(devices) for name, devices in self.devices.items()}}

    @property
    def plugins(self) -> tuple[DevicePlugin, ...]:
        """The devices as plugins of the kubelet's device manager."""
        return tuple(DevicePlugin(name, dict(devices)) for name, devices in self.devices.items())

    def node(self) -> Node:
        """Return the Node object as the kubelet registers it, without a status. Source: initialNode."""
        labels = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": "amd64",
            **self.labels,
        }
        meta = ObjectMeta(name=self.name, labels=labels, annotations=dict(self.annotations))
        return Node(metadata=meta, spec=NodeSpec(taints=list(self.taints)))


def plan(nodes: Nodes, taken: Iterable[str] = (), **common: object) -> list[NodePlan]:
    """Return the plans that `nodes=` describes.

    Args:
        nodes: a number of equal nodes, one specification, or several; a specification is a mapping, a Node, or a plan.
        taken: the names of existing nodes, which unnamed nodes do not get.
        common: the defaults of all nodes: cpus, memory, kubelet, labels, taints, ….

    Raises:
        KitError: an option is unknown, a name is used twice, or the machine is impossible.
    """
    _check_words(common, "nodes")
    if isinstance(nodes, bool) or (isinstance(nodes, int) and nodes < 0):
        raise KitError(f"nodes: must be a non-negative number of nodes, got {nodes!r}")
    if isinstance(nodes, int):
        specs: Iterable[NodeSpecification] = [{} for _ in range(nodes)]
    elif isinstance(nodes, Mapping | Node | NodePlan):
        specs = [nodes]
    elif isinstance(nodes, Iterable) and not isinstance(nodes, str):
        specs = nodes
    else:
        raise KitError(f"nodes: must be a number, a specification or a list of specifications, got {nodes!r}")
    made: list[NodePlan] = []
    free = (f"node-{number}" for number in itertools.count(1))
    used = set(taken)
    for spec in specs:
        for one in _repeated(spec):
            name = next(name for name in free if name not in used)
            made.append(_one(one, len(made) + 1, common, name))
    names = [node_plan.name for node_plan in made]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise KitError(f"nodes: {', '.join(twice)}: a name can be used once only")
    return made


def _repeated(spec: NodeSpecification) -> Sequence[NodeSpecification]:
    """Return the specification repeated `count` times: `{"count": 3}` describes three equal nodes."""
    if not isinstance(spec, Mapping) or "count" not in spec:
        return [spec]
    count = spec["count"]
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise KitError(f"nodes: count: must be a non-negative number of nodes, got {count!r}")
    rest = {key: value for key, value in spec.items() if key != "count"}
    if "name" not in rest:
        return [rest] * count
    return [{**rest, "name": f"{rest['name']}-{number}"} for number in range(1, count + 1)]


def _one(spec: NodeSpecification, number: int, common: Mapping[str, Any], name: str) -> NodePlan:
    if isinstance(spec, NodePlan):
        return spec
    if isinstance(spec, Node):
        return from_node(spec, common.get("kubelet", ()))
    if not isinstance(spec, Mapping):
        raise KitError(f"nodes[{number - 1}]: a mapping or a Node is expected, found {spec!r}")
    where = f"nodes[{number - 1}]"
    _check_words(spec, where)
    own: Mapping[str, Any] = spec
    words = {**common, **own, "labels": {**common.get("labels", {}), **own.get("labels", {})}}
    try:
        if isinstance(words.get("topology"), Mapping):
            words["topology"] = grouped(**words["topology"])
        machine = MachineInfo.declare(
            words.get("cpus", len(words.get("topology", ())) or CPUS),
            words.get("memory", MEMORY),
            **{word: words[word] for word in _MACHINE if word in words},
        )
    except (QuantityError, TypeError) as error:
        raise KitError(f"{where}: {error}") from error
    return NodePlan(
        name=str(words.get("name", name)),
        machine=machine,
        labels=words["labels"],
        annotations=words.get("annotations", {}),
        taints=tuple(parse_taint(taint, where) for taint in words.get("taints", ())),
        kubelet=words.get("kubelet", ()),
        resources=words.get("resources", {}),
        devices=words.get("devices", {}),
        images=_images(words.get("images", {}), where),
        missing_images=_patterns(words.get("missing_images", ()), where),
        cgroup_version=words.get("cgroup_version"),
        runtime=_runtime(words.get("runtime", "runc"), where),
    )


def _images(given: Mapping[str, object], where: str) -> tuple[Image, ...]:
    """Parse images: `{"web:1": "600Mi", "pause:3.10": {"size": "300Ki", "pinned": True}}`."""
    made = []
    for name, value in given.items():
        words: Mapping[str, Any] = value if isinstance(value, Mapping) else {"size": value}
        try:
            size = Quantity(words["size"]).value()
        except (QuantityError, KeyError, TypeError) as error:
            raise KitError(f"{where}.images[{name}]: a size is expected, found {value!r}") from error
        made.append(Image(name, size, bool(words.get("pinned", False))))
    return tuple(made)


def images_left_out(plan: NodePlan, machine: MachineInfo) -> list[str]:
    """Return what a plan declares about images and the disk without effect on a real node, as notes."""
    notes = []
    if plan.missing_images:
        notes.append("images are declared missing; pods run on the node's own root, so no image is pulled")
    if plan.images or machine.ephemeral_storage:
        notes.append(
            "images and a disk are declared; pods run on the node's own root and write to memory, so nothing of "
            "them can be collected as garbage, and there is no disk pressure"
        )
    return notes


def _patterns(given: object, where: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) and one for one in given):
        raise KitError(f'{where}.missing_images: a list of patterns of names is expected ("*:404"), found {given!r}')
    return tuple(given)


def _runtime(name: object, where: str) -> str:
    if name not in OCI_RUNTIMES:
        raise KitError(f"{where}.runtime: must be one of {', '.join(OCI_RUNTIMES)}, got {name!r}")
    return str(name)


def _check_words(spec: Mapping[str, object], where: str) -> None:
    unknown = sorted(set(spec) - _WORDS)
    if unknown:
        raise KitError(f"{where}: unknown field {', '.join(unknown)}; valid fields: {', '.join(sorted(_WORDS))}")


def parse_taint(text: str | Mapping[str, str] | Taint, where: str = "taint") -> Taint:
    """Parse a taint in the form of `kubectl taint`: `gpu=yes:NoSchedule`."""
    if isinstance(text, Taint):
        return text
    if isinstance(text, Mapping):
        return Taint(key=text.get("key", ""), value=text.get("value", ""), effect=text.get("effect", ""))
    pair, colon, effect = text.partition(":")
    key, _, value = pair.partition("=")
    if not key or not colon or effect not in _EFFECTS:
        raise KitError(f"{where}: taint {text!r}: must be key=value:effect, effects: {', '.join(_EFFECTS)}")
    return Taint(key=key, value=value, effect=effect)


def from_node(node: Node, kubelet: KubeletSource = ()) -> NodePlan:
    """Return the plan of the machine that a Node manifest describes.

    Raises:
        KitError: the manifest has no capacity of CPU or memory.
    """
    capacity = node.status.capacity or node.status.allocatable
    if "cpu" not in capacity or "memory" not in capacity:
        raise KitError(f'nodes "{node.name}": status.capacity: cpu and memory are required')
    milli = capacity["cpu"].milli_value()
    huge = {
        name.removeprefix("hugepages-"): amount.value() // Quantity(name.removeprefix("hugepages-")).value()
        for name, amount in capacity.items()
        if name.startswith("hugepages-")
    }
    disk = capacity["ephemeral-storage"].value() if "ephemeral-storage" in capacity else 0
    machine = MachineInfo.declare(
        max(1, -(-milli // 1000)), capacity["memory"].value(), huge_pages=huge, ephemeral_storage=disk
    )
    if not kubelet:
        kubelet = _reservations(node.status.capacity, node.status.allocatable)
        if "pods" in capacity:
            kubelet = [*kubelet, f"--max-pods={capacity['pods'].value()}"]
    return NodePlan(
        name=node.name,
        machine=machine,
        labels=dict(node.metadata.labels),
        annotations=dict(node.metadata.annotations),
        # taints of the node lifecycle controller follow from conditions of the old cluster
        taints=tuple(t for t in node.spec.taints if not t.key.startswith("node.kubernetes.io/")),
        kubelet=kubelet,
        resources={name: amount.value() for name, amount in capacity.items() if "/" in name},
    )


def _reservations(capacity: ResourceList, allocatable: ResourceList) -> Sequence[str]:
    """Return the flags that reduce `capacity` to `allocatable`; none where the manifest has only one of them."""
    if not capacity or not allocatable:
        return ()
    reserved = [
        f"{name}={capacity[name] - allocatable[name]}"
        for name in ("cpu", "memory", "ephemeral-storage")
        if name in capacity and name in allocatable and capacity[name] > allocatable[name]
    ]
    return [f"--system-reserved={','.join(reserved)}", "--eviction-hard="] if reserved else ["--eviction-hard="]

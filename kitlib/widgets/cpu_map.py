"""The allocation of processors (sockets, NUMA nodes, cores, threads) under the static CPU manager policy.

Guaranteed pods with whole CPUs get exclusive processors; all other pods share the rest.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.charts.base import Chart
from kitlib.charts.cpu_map import cpu_map
from kitlib.charts.scene import Area, Box, Mark, Scene, Token
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.metrics import name_of
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.cm.cpumanager.checkpoint import load_state
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.widgets._parts.base import Field, KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.nodes import node_of

SHARED, RESERVED = "shared pool", "reserved"
_KINDS = ("ok", "warn", "new", "queue", "bad")
HELP = "A frame is a socket with its NUMA node, a box is a core, a token is one of its threads. Arrow keys walk."
FLAGS = ("--cpu-manager-policy=static", "--kube-reserved=cpu=1")


class CpuMap(KitWidget):
    """The processors of a node.

    Args:
        cluster: the cluster; None = a simulated node of 2 sockets with 4 cores each and 2 threads per core; static
            policy, 1 CPU reserved.
        node: the node's name; "" = the cluster's only or first node.
        image: image of the added pods.
    """

    title = "CPU map"
    try_this = "ask for 3 CPUs, then for 4: which cores are given whole?"

    def __init__(self, cluster: Any = None, node: str = "", image: str = "registry.k8s.io/pause:3.10") -> None:
        if cluster is None:
            machine = {"topology": {"sockets": 2, "numa": 1, "cores": 4}, "memory": "32Gi", "kubelet": list(FLAGS)}
            cluster = Cluster.simulated([machine])
        self.cluster, self.node, self._image = cluster, node_of(cluster, node), image
        self._number = 0
        self.cpus = Field(ipw.Text(value="2", layout={"width": "12em"}), "CPUs", "request and limit of the pod")
        self.add = self.button("Add the pod", self._add, "a Guaranteed pod with so many CPUs", "plus")
        self.pod = labelled(ipw.Dropdown(options=[], layout={"width": "16em"}), "pod")
        self.remove = self.button("Remove it", self._remove, "delete the pod that is chosen", "trash")
        row = ipw.HBox([self.cpus, self.add, self.pod, self.remove])
        row.add_class("kitlib-row")
        self.board = BoardPicture("Sockets, cores and their threads", help=HELP)
        super().__init__([row], picture=self.board)
        self.refresh()

    # ---- what the learner does

    def _add(self) -> None:
        self.cpus.say("")
        amounts = {"cpu": str(self.cpus.value).strip(), "memory": "64Mi"}
        data = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{self._number + 1}", "namespace": "default"},
            "spec": {
                "nodeName": self.node.name,
                "containers": [
                    {"name": "app", "image": self._image, "resources": {"requests": amounts, "limits": amounts}}
                ],
            },
        }
        try:
            pod: Pod = from_dict(data, Pod)
            self.cluster.apply(pod)
        except (KitError, ValueError) as error:
            self.cpus.say(str(error))
            return
        self._number += 1
        made = self.cluster.pod(pod.name)
        if made.status.phase == "Failed":
            self.cpus.say(f"{made.name}: {made.status.message or made.status.reason}")
        elif Quantity(amounts["cpu"]).milli_value() % 1000:
            self.cpus.hint(
                f"{made.name} gets no CPU of its own: only whole CPUs are exclusive, {amounts['cpu']} shares"
            )

    def _remove(self) -> None:
        if self.pod.value is None:
            raise KitError("there is no pod to remove")
        self.cluster.delete("Pod", self.pod.value, grace=0)

    # ---- what is shown

    def origin(self) -> Origin:
        return self.node.origin

    def chart(self) -> Chart:
        config = self.node.config
        rules = ResourceManagers(config).cpus
        pods = {p.key: p for p in self.cluster.pods() if p.spec.node_name == self.node.name}
        names = [p.name for p in pods.values() if p.namespace == "default"]
        if list(self.pod.options) != names:
            kept = self.pod.value
            self.pod.options = names
            self.pod.value = kept if kept in names else names[0] if names else None
        owners = dict.fromkeys(rules.reserved if rules is not None else (), RESERVED)
        names_of = {p.metadata.uid: p.name for p in pods.values()}
        checkpoint = getattr(self.node, "checkpoint", str) if rules is not None else str  # a cgroups-only node has none
        for uid, cpus in load_state(checkpoint(), "static").pods.items():
            owners.update(dict.fromkeys(cpus, f"{names_of.get(uid, uid)}, shared by its containers"))
        for cgroup in self.node.desired().of_kind("container"):
            pod = pods.get(cgroup.pod)
            container = next((c for c in pod.spec.containers if c.name == cgroup.container), None) if pod else None
            if rules is None or pod is None or container is None or not rules.exclusive_cpus(pod, container):
                continue
            text = self.node.read(cgroup.path, "cpuset.cpus")
            owners.update(dict.fromkeys(parse_cpus(text.strip()), name_of(cgroup)))
        return cpu_map([(c.id, c.core, c.socket, c.numa) for c in config.machine.cpus], owners)

    def paint(self, chart: Chart) -> None:
        rows = list(zip(*(chart.columns[name] for name in ("cpu", "core", "socket", "numa", "owner")), strict=True))
        whose = [owner for owner in dict.fromkeys(str(row[4]) for row in rows) if owner not in (SHARED, RESERVED)]
        kinds = {owner: _KINDS[i % len(_KINDS)] for i, owner in enumerate(whose)}
        kinds |= {SHARED: "node", RESERVED: "own"}
        areas = []
        for socket, numa in dict.fromkeys((row[2], row[3]) for row in rows):
            inside = [row for row in rows if row[2:4] == (socket, numa)]
            boxes = [
                Box(
                    f"core-{socket}-{core}",
                    f"core {core}",
                    [_thread(row[0], str(row[4]), kinds) for row in inside if row[1] == core],
                )
                for core in dict.fromkeys(row[1] for row in inside)
            ]
            title = f"Socket {socket}, NUMA node {numa}"
            areas.append(Area(f"numa-{socket}-{numa}", title, boxes, f"{len(inside)} CPUs", "frame", "9em"))
        self.board.bring([Scene(areas)], [Mark(owner, kind) for owner, kind in kinds.items()])


def _thread(cpu: int, owner: str, kinds: dict[str, str]) -> Token:
    short = owner.partition("/")[0] if owner not in (SHARED, RESERVED) else owner
    return Token(f"cpu-{cpu}", f"CPU {cpu}", short, kinds[owner], words=owner, still=True)

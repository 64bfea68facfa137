"""The pod of a node: the least that can own a cgroup tree, with resources of its own and nothing of the host.

    capabilities   those of a node on Docker, and NET_ADMIN to leave the pod's network for one of its own
    resources      limits are the machine that was asked for; requests are small, so that a room fits on few machines
    credentials    none: no service account token, no links to services
    host           nothing: no paths, no namespaces, a read-only root, two directories in memory
    its end        at the end of its standard input (`stdinOnce`), at `activeDeadlineSeconds`, with its owner

Source: Kubernetes API reference, Pod v1; Pod Security Standards; containerd's CRI plugin gives a container that is not
privileged a cgroup namespace of its own on cgroup v2.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.real.container import CONTROL_MEMORY, CONTROL_UID, NEEDED, OVERHEAD, PIDS_OVERHEAD, WISHED, Privilege

CONTAINER = "node"
COMMAND = ("/usr/bin/python3", "-I", "-S", "-OO", "/opt/kitlib/kitlib/node/real/watchdog.py")
"""The image's entry point."""
NETWORK = "NET_ADMIN"
"""Brings up the loopback device of the network that the agent makes for itself."""
CAPABILITIES = (*NEEDED, *WISHED, NETWORK)
NODE, OWNER, RUN, OWNED_BY = "kitlib.dev/node", "kitlib.dev/owner", "kitlib.dev/run", "kitlib.dev/owned-by"
"""Labels: the node's name, a hash of the process that holds it, KITLIB_RUN; and an annotation: that process."""
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
MACHINES = "kitlib.dev/nodes"
"""Label and taint of the machines that an administrator sets aside for node pods, which prefer them."""
Machines = Literal["preferred", "required"]
"""The strictness of node pods about the machines that are set aside: preferred or required."""
GRACE = 1
"""Seconds that a node gets to end: it holds nothing that is worth more."""
PLACEMENT = (
    *("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "schedulerName", "priorityClassName"),
    *("runtimeClassName", "imagePullSecrets"),
)
"""Fields of the specification that a user may set: where a node runs and how its image is fetched, nothing more."""


@dataclass(frozen=True, kw_only=True)
class PodOptions:
    """The common options of node pods.

    Attributes:
        image: that they run.
        privilege: "least" (the smallest set of capabilities that can own cgroups) or "full" (`privileged: true`).
        requests: of resources, which the scheduler sets aside; limits are the machine's.
        deadline: seconds after which Kubernetes ends a node.
        spec: fields of `PLACEMENT`.
        machines: "preferred": run on the machines that are set aside for node pods where there are any; "required":
            run nowhere else.

    Raises:
        KitError: naming the argument.
    """

    image: str
    privilege: Privilege = "least"
    requests: Mapping[str, str] = field(default_factory=lambda: dict(REQUESTS))
    deadline: int
    spec: Mapping[str, Any] = field(default_factory=dict)
    machines: Machines = "preferred"

    def __post_init__(self) -> None:
        if self.machines not in get_args(Machines):
            raise KitError(f"machines: must be one of {', '.join(get_args(Machines))}, got {self.machines!r}")
        if self.privilege not in ("least", "full"):
            raise KitError(f"privilege: must be one of least, full, got {self.privilege!r}")
        if not isinstance(self.deadline, int) or isinstance(self.deadline, bool) or self.deadline < 60:
            raise KitError(f"deadline: must be at least 60 seconds, got {self.deadline!r}")
        for name, value in self.requests.items():
            try:
                Quantity(value)
            except QuantityError as error:
                raise KitError(f"requests.{name}: {error}") from error
        unknown = sorted(set(self.spec) - set(PLACEMENT))
        if unknown:
            raise KitError(f"pod: {', '.join(unknown)}: cannot be set; valid fields: {', '.join(PLACEMENT)}")


@dataclass(frozen=True)
class PodOwner:
    """Whose pods they are.

    Attributes:
        process: host, pid namespace and number of the process.
        run: what KITLIB_RUN says.
        reference: the pod in which the process runs, as an ownerReference; None = elsewhere, or in another namespace.
    """

    process: str
    run: str = ""
    reference: Mapping[str, Any] | None = None

    @property
    def label(self) -> str:
        """The process as a label's value."""
        return hashlib.sha256(self.process.encode()).hexdigest()[:32]


def node_pod(
    pod: str, node: str, machine: MachineInfo, options: PodOptions, owner: PodOwner, *, systemd: bool = False
) -> dict[str, Any]:
    """The manifest of one node.

    Args:
        pod: its name.
        node: the node's name.
        machine: what it may use.
        options: of all node pods.
        owner: whose it is.
        systemd: whether systemd is process 1 of the node; then the image must have it.
    """
    memory = machine.memory + OVERHEAD
    words = [
        f"--cpus={machine.cores}",
        f"--memory={memory}",
        f"--pids={machine.max_pid + PIDS_OVERHEAD if machine.max_pid else 0}",
    ]
    rights: dict[str, Any] = {"privileged": True}
    if options.privilege == "least":
        rights = {
            "privileged": False,
            "capabilities": {"drop": ["ALL"], "add": list(CAPABILITIES)},
            "seccompProfile": {"type": "Unconfined"},
            "appArmorProfile": {"type": "Unconfined"},
        }
    container = {
        "name": CONTAINER,
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        "args": [*(["systemd"] if systemd else []), *words],
        "stdin": True,
        "stdinOnce": True,
        "resources": _resources(options.requests, {"cpu": str(machine.cores), "memory": str(memory)}),
        "securityContext": {**rights, "readOnlyRootFilesystem": True, "runAsUser": 0, "runAsNonRoot": False},
        "volumeMounts": [{"name": "run", "mountPath": "/run"}, {"name": "tmp", "mountPath": "/tmp"}],
    }
    volumes = [
        {"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": str(memory // 2)}},
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
    ]
    return _pod(pod, node, container, volumes, options, owner)


def control_pod(pod: str, options: PodOptions, owner: PodOwner) -> dict[str, Any]:
    """The manifest of a control plane: of the nodes' image, with no right at all and nothing to write to."""
    container = {
        "name": CONTAINER,
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        "args": ["control-plane"],
        "env": [{"name": "OPENBLAS_NUM_THREADS", "value": "1"}],
        "stdin": True,
        "stdinOnce": True,
        "resources": _resources(options.requests, {"cpu": "1", "memory": str(CONTROL_MEMORY)}),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsUser": CONTROL_UID,
            "runAsGroup": CONTROL_UID,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return _pod(pod, "control-plane", container, [], options, owner)


def _pod(
    pod: str,
    node: str,
    container: dict[str, Any],
    volumes: list[dict[str, Any]],
    options: PodOptions,
    owner: PodOwner,
) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "kitlib-node", NODE: label_value(node), OWNER: owner.label}
    if owner.run:
        labels[RUN] = label_value(owner.run)
    metadata: dict[str, Any] = {"name": pod, "labels": labels, "annotations": {OWNED_BY: owner.process}}
    if owner.reference is not None:
        metadata["ownerReferences"] = [dict(owner.reference)]
    spec = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": options.deadline,
        "terminationGracePeriodSeconds": GRACE,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "containers": [container],
        "tolerations": [{"key": MACHINES, "operator": "Exists"}],
        "affinity": {"nodeAffinity": affinity(options.machines)},
        **({"volumes": volumes} if volumes else {}),
        **options.spec,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def affinity(machines: Machines) -> dict[str, Any]:
    """Return the node affinity of a node pod for the machines that are set aside."""
    term = {"matchExpressions": [{"key": MACHINES, "operator": "Exists"}]}
    if machines == "required":
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}


def _resources(requests: Mapping[str, str], limits: Mapping[str, str]) -> dict[str, Any]:
    """Requests are never above the limits: Kubernetes refuses that."""
    bounded = {
        name: limits[name] if name in limits and Quantity(value) > Quantity(limits[name]) else value
        for name, value in requests.items()
    }
    return {"requests": bounded, "limits": dict(limits)}


def pod_name(node: str, unique: str) -> str:
    """The name of a node's pod, which Kubernetes accepts whatever the node is called."""
    plain = re.sub(r"[^a-z0-9-]+", "-", node.lower()).strip("-")[:40].strip("-")
    return f"kitlib-{plain or 'node'}-{unique}"


def label_value(text: str) -> str:
    """The text as a label's value. Source: apimachinery validation.IsValidLabelValue."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:63].strip("-_.")

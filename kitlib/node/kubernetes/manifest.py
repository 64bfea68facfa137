"""The pod of a node: the minimum of rights that can own a cgroup tree, its own resources, and no access to the host.

    capabilities   those of a node on Docker
    resources      limits are those of the declared machine; requests are small, so that many nodes fit on few machines
    credentials    none: no service account token, no links to services
    host           no host paths, no host namespaces, a read-only root, two directories in memory
    end            at the end of its standard input (`stdinOnce`), at `activeDeadlineSeconds`, with its owner

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
from kitlib.kubelet.config.machine import MachineInfo, default_max_pid
from kitlib.node.real.container import CONTROL_MEMORY, CONTROL_UID, NEEDED, OVERHEAD, PIDS_OVERHEAD, WISHED, Privilege

CONTAINER = "node"
COMMAND = ("/usr/bin/python3", "-I", "-S", "-OO", "/opt/kitlib/kitlib/node/real/watchdog.py")
"""The image's entry point."""
CAPABILITIES = (*NEEDED, *WISHED)
NODE, OWNER, RUN, OWNED_BY = "kitlib.dev/node", "kitlib.dev/owner", "kitlib.dev/run", "kitlib.dev/owned-by"
"""Labels: the node's name, a hash of the owner's process, KITLIB_RUN. OWNED_BY is an annotation: that process."""
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
TMP = "16Mi"
"""The size of a node's /tmp in memory."""
MACHINES = "kitlib.dev/nodes"
"""Label and taint of the machines that an administrator sets aside for node pods, which prefer them."""
Machines = Literal["preferred", "required"]
"""The strictness of node pods about the machines that are set aside: preferred or required."""
GRACE = 1
"""Grace period of a node pod in seconds: a node has no data to save."""
HOST_USERS = "hostUsers"
"""The field that gives a pod a user namespace if it is false; runtimes that do not know it ignore it."""
PLACEMENT = (
    *("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "schedulerName", "priorityClassName"),
    *("runtimeClassName", "imagePullSecrets", HOST_USERS),
)
"""Fields of the pod's spec that a user may set: only the node's placement, the pull of its image, a user namespace."""


@dataclass(frozen=True, kw_only=True)
class PodOptions:
    """The common options of node pods.

    Attributes:
        image: name of the image.
        privilege: "least" (the smallest set of capabilities that can own cgroups) or "full" (`privileged: true`).
        requests: resource requests; the limits are the machine's resources.
        deadline: seconds after which Kubernetes ends a node.
        spec: values of fields of `PLACEMENT`.
        machines: "preferred" = on machines that are set aside for node pods, if there are any; "required" = only there.

    Raises:
        KitError: an argument is invalid; the message names it.
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
        if self.spec.get(HOST_USERS, False) is not False:
            raise KitError(f"pod: {HOST_USERS}: must be false or omitted, got {self.spec[HOST_USERS]!r}")


@dataclass(frozen=True)
class PodOwner:
    """The owner of node pods.

    Attributes:
        process: host, pid namespace and process id of the owner.
        run: value of KITLIB_RUN.
        reference: ownerReference of the pod in which the process runs; None = no pod, or one of another namespace.
    """

    process: str
    run: str = ""
    reference: Mapping[str, Any] | None = None

    @property
    def label(self) -> str:
        """The process as a label value."""
        return hashlib.sha256(self.process.encode()).hexdigest()[:32]


def node_pod(
    pod: str, node: str, machine: MachineInfo, options: PodOptions, owner: PodOwner, *, systemd: bool = False
) -> dict[str, Any]:
    """Return the manifest of a node's pod.

    Args:
        pod: name of the pod.
        node: name of the node.
        machine: the resources of the node.
        options: options of all node pods.
        owner: owner of the pod.
        systemd: whether systemd is process 1 of the node; the image must contain it.
    """
    memory = machine.memory + OVERHEAD
    words = [
        f"--cpus={machine.cores}",
        f"--memory={memory}",
        f"--pids={(machine.max_pid or default_max_pid(machine.memory)) + PIDS_OVERHEAD}",
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
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": TMP}},
    ]
    return _pod(pod, node, container, volumes, options, owner)


def control_pod(pod: str, options: PodOptions, owner: PodOwner) -> dict[str, Any]:
    """Return the manifest of a control plane's pod: the nodes' image, no capabilities, no writable directories."""
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
    """Return the pod's resources, with requests lowered to the limits: Kubernetes rejects larger ones."""
    bounded = {
        name: limits[name] if name in limits and Quantity(value) > Quantity(limits[name]) else value
        for name, value in requests.items()
    }
    return {"requests": bounded, "limits": dict(limits)}


def pod_name(node: str, unique: str) -> str:
    """Return the name of a node's pod: a valid name for any name of a node."""
    plain = re.sub(r"[^a-z0-9-]+", "-", node.lower()).strip("-")[:40].strip("-")
    return f"kitlib-{plain or 'node'}-{unique}"


def label_value(text: str) -> str:
    """Return a text as a valid label value. Source: apimachinery validation.IsValidLabelValue."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:63].strip("-_.")

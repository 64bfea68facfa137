"""Examples that come with the kit: manifests and kubelet configurations, and the worked example as a whole.

The worked example (`worked_node`, `worked_pods`) is a control plane node of 8 CPUs under the systemd driver, on cgroup
v1, whose containerd uses its own cgroupfs driver, so that its containers are below `system.slice/containerd.service`.
The other example (`qos_reserved_node`, `qos_reserved_pods`) shows `--qos-reserved=memory=100%`: 1G for pods, then 900M
for the lower classes, then 700M for BestEffort.

Imported by cluster and what is above it.
Face: `worked_node` and `worked_pods`, `stories`.
"""

from __future__ import annotations

from pathlib import Path

from kitlib.api.apps import Deployment
from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError
from kitlib.api.meta import ObjectMeta
from kitlib.api.serialize import load
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo

FOLDER = Path(__file__).parent
MEMORY = 3_156_062_208
"""Bytes of the worked example's machine: 2946347008 for pods and twice 100Mi reserved."""
UIDS = {
    "nginx-demo1": "5799fccc-d1f5-4958-b13f-6a82378a8934",
    "nginx-demo2": "18ec1047-8414-4905-8747-ccb1dd50e0bc",
    "nginx-demo3": "de4983ac-ff0c-40be-8472-8b6674593aa3",
}
"""UIDs of the three pods in the document."""


def path(name: str) -> Path:
    """Return the path of an example's YAML file, from its name with or without `.yaml`.

    Raises:
        KitError: no example has this name; the message lists the valid ones.
    """
    found = FOLDER / (name if name.endswith(".yaml") else f"{name}.yaml")
    if not found.exists():
        raise KitError(f"no example {name!r}; valid values: {', '.join(sorted(p.stem for p in FOLDER.glob('*.yaml')))}")
    return found


def worked_node() -> NodeConfig:
    """Return the configuration of the worked example's node: machine, kubelet settings, runtime."""
    return NodeConfig(
        name="master",
        machine=MachineInfo(cores=8, memory=MEMORY, max_pid=4_194_304, cgroups=("/kube.slice", "/sys.slice")),
        settings=read_settings(path("worked_example_kubelet")),
        runtime=Runtime("containerd", cgroup_driver="cgroupfs"),
    )


def worked_pods(*, system: bool = True) -> list[Pod]:
    """Return the pods of the three Deployments with the document's UIDs, followed by the node's system pods.

    Args:
        system: whether the system pods of `worked_example_system.yaml` are included.
    """
    made = []
    for deployment in load(path("worked_example")):
        assert isinstance(deployment, Deployment)
        template = deployment.spec.template
        meta = replace_metadata(template.metadata, deployment.name)
        made.append(set_defaults(Pod(metadata=meta, spec=template.spec)))
    if system:
        for pod in load(path("worked_example_system")):
            assert isinstance(pod, Pod)
            pod.metadata.uid = pod.metadata.uid or f"{pod.name}-uid"
            made.append(set_defaults(pod))
    return made


def replace_metadata(meta: ObjectMeta, name: str) -> ObjectMeta:
    """Return the metadata of a Deployment's pod: the template's labels, and the name's UID from `UIDS`."""
    return ObjectMeta(name=name, namespace="default", uid=UIDS[name], labels=dict(meta.labels))


def qos_reserved_node() -> NodeConfig:
    """Return a node with 1G of memory for pods and `--qos-reserved=memory=100%`."""
    return NodeConfig(
        name="small",
        machine=MachineInfo.declare(2, "1G"),
        settings=read_settings(path("qos_reserved_kubelet")),
    )


def qos_reserved_pods() -> list[Pod]:
    """Return a Guaranteed pod of 100M and a Burstable pod of 200M, in their order of admission."""
    made = []
    for pod in load(path("qos_reserved")):
        assert isinstance(pod, Pod)
        pod.metadata.uid = pod.metadata.uid or f"{pod.name}-uid"
        made.append(set_defaults(pod))
    return made

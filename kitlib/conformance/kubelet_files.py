"""Observations of a real kubelet: every cgroup file, oom_score_adj and status of a node, seconds after its pods start.

The kit's kubelet runs on a simulated kernel with the case's machine, controllers, settings and pods; its files are read
in the same way. Differences that the runtime, the machine or the observation causes are listed in `DIFFERENCES` with
their reason; any other difference is a failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kitlib.api.core import Pod, PodStatus
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict
from kitlib.conformance._observed import Observer, workload_command
from kitlib.conformance.runner import CaseDifference, KnownDifference
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_levels import container_id
from kitlib.kubelet.cm.cgroup_names import Runtime, escape_systemd
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1, Version, kernel_shows
from kitlib.kubelet.cm.conversions import milli_cpu_to_shares, shares_to_weight
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.qos_container_manager import qos_requests
from kitlib.kubelet.config.machine import HugePages, MachineInfo
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.node.common.errors import CgroupError
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.runtime import SimulatedRuntime
from kitlib.node.simulated.system import SimulatedSystem

FILE = "kubelet_files"
RELEASE = "1.36"
INPUTS = frozenset(
    {
        *("case", "cgroupVersion", "driver", "runtime", "kernel", "controllers", "limitations"),
        *("kubeletConfiguration", "machine", "pods"),
        "processes",  # command lines: what was started, no decision of the kubelet
    }
)
SETTLED = 20
"""Simulated seconds between the creation of the pods and the reading of the files."""
DISK = 2**40
"""Size of the disk in bytes. The cases do not record it; it is large enough for every pod's request."""
_MACHINES_OWN = ("containerID", "imageID", "image", "startTime", "lastProbeTime", "lastTransitionTime")
_DATES = ("startedAt", "finishedAt", "containerID")


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the cgroup files, OOM scores, pod statuses and CPU manager checkpoint of the case's node."""
    config, version = node_config(case), case["cgroupVersion"]
    kernel = Kernel(config.machine, version, controllers(case))
    system = SimulatedSystem(kernel, config.settings.cgroup_driver)
    runtime, reports = SimulatedRuntime(kernel), Observer()
    kubelet = Kubelet(config, kernel.cgroups, runtime, reports, lambda: kernel.now, system=system)
    pods = [_pod(manifest) for manifest in sorted(case["pods"], key=_seen)]
    kubelet.sync(pods)
    for _ in range(SETTLED):
        kernel.advance(1.0)
        kubelet.tick()
    paths = _Paths(case, pods)
    names = {name for files in case["observed"].values() for name in files}
    tops = {path.split("/")[1] for path in case["observed"]}
    found: dict[str, Any] = {"observed": {}, "oomScoreAdj": {}}
    for path in kernel.cgroups.paths():
        if path == "/" or path.split("/")[1] not in tops:
            continue
        where = paths.of_case(path)
        found["observed"][where] = {name: text for name in sorted(names) if (text := _read(kernel, path, name)) != ""}
        scores = [kernel.processes[pid].oom_score_adj for pid in sorted(kernel.cgroups.procs(path))]
        if scores:
            pids = sorted(case["oomScoreAdj"].get(where, {}), key=int)
            found["oomScoreAdj"][where] = dict(zip(pids or map(str, range(len(scores))), scores, strict=False))
    found["statuses"] = {pod.key: _status(reports.statuses.get(pod.metadata.uid)) for pod in pods}
    own = next(process for process in system.processes() if process.name == "kubelet")
    found["kubeletOomScoreAdj"] = own.oom_score_adj
    found["cpuManagerState"] = _checkpoint(kubelet.managers.checkpoint())
    return found


def _read(kernel: Kernel, path: str, name: str) -> str:
    """Return a file's content; "" if the file does not exist."""
    try:
        return kernel.cgroups.read(path, name)
    except CgroupError:
        return ""


def reduce(name: str, value: Any) -> Any:
    """Return a field without machine-specific values (ids, images, dates); an empty file counts as a missing one."""
    if name == "observed":
        return {path: {file: text for file, text in files.items() if text} for path, files in value.items()}
    if name == "statuses":
        return {key: _reduced(status) for key, status in value.items()}
    if name == "cpuManagerState":
        return {key: one for key, one in value.items() if key != "checksum"} if value else value
    return value


def _reduced(value: Any) -> Any:
    """Drop zero values at any depth: an absent field has the zero value."""
    if isinstance(value, Mapping):
        own = (*_MACHINES_OWN, *_DATES)
        inner = {key: _reduced(one) for key, one in value.items() if key not in own}
        return {key: one for key, one in inner.items() if one}
    return [_reduced(one) for one in value] if isinstance(value, list) else value


# The case's side.


def node_config(case: Mapping[str, Any]) -> NodeConfig:
    """Return the configuration of a case's node."""
    machine = case["machine"]
    settings = read_settings({**case["kubeletConfiguration"], "failSwapOn": False})
    reserved = [path for path in (settings.system_reserved_cgroup, settings.kube_reserved_cgroup) if path]
    return NodeConfig(
        machine=MachineInfo(
            cores=machine["cpus"],
            memory=machine["memory"],
            swap=machine["swap"],
            huge_pages=tuple(HugePages(int(size.removesuffix("kB")) * 1024, n) for size, n in machine["huge"].items()),
            max_pid=machine["maxPid"],
            ephemeral_storage=DISK,
            cgroups=(*reserved, *([settings.cgroup_root] if settings.cgroup_root.strip("/") else ())),
        ),
        settings=settings,
        runtime=Runtime(oci="crun" if "crun" in case.get("runtime", {}).get("oci", "") else "runc"),
        name="node",
    )


def controllers(case: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the controllers of a case's kernel; all observed kernels with cgroup v1 had every controller."""
    known = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids")
    given = case.get("controllers") or known
    version: Version = case["cgroupVersion"]
    return tuple(name for name in known if name in given and (name != "io" or version == 2))


def _seen(manifest: Mapping[str, Any]) -> str:
    """Return the time when the kubelet first saw a static pod: it gives the order of admission."""
    text: str = manifest["metadata"].get("annotations", {}).get("kubernetes.io/config.seen", "")
    return text


def _pod(manifest: dict[str, Any]) -> Pod:
    pod: Pod = set_defaults(from_dict({"apiVersion": "v1", "kind": "Pod", **manifest}, Pod))
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        container.command = workload_command(container.command)
    pod.status = PodStatus(phase="Pending")
    return pod


def _status(status: PodStatus | None) -> dict[str, Any]:
    found: dict[str, Any] = to_dict(Pod(status=status or PodStatus())).get("status", {})
    return found


def _checkpoint(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.loads(text)["data"]) if text else {}
    found = {("defaultCpuSet" if key == "defaultCPUSet" else key): value for key, value in found.items()}
    return found


class _Paths:
    """The mapping from the kit's cgroup paths to the case's: only container ids differ."""

    def __init__(self, case: Mapping[str, Any], pods: list[Pod]) -> None:
        self._ids: dict[str, str] = {}
        names = {path.rpartition("/")[2] for path in case["observed"]}
        for pod in pods:
            uid, status = pod.metadata.uid, case["statuses"].get(pod.key, {})
            known = set()
            for one in (*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())):
                identity = one.get("containerID", "").rpartition("/")[2]
                known.add(identity)
                self._ids[container_id(uid, one["name"])] = identity
            mine = [path for path in case["observed"] if uid in path or escape_systemd(uid) in path]
            parent = min(mine, key=len, default="")
            below = [p.removeprefix(parent + "/") for p in mine if p.count("/") == parent.count("/") + 1]
            ids = [leaf.removeprefix("cri-containerd-").removesuffix(".scope") for leaf in below]
            rest = [identity for identity in ids if identity not in known]
            if rest:
                self._ids[container_id(uid, "")] = rest[0]
        self._names = names

    def of_case(self, path: str) -> str:
        for mine, theirs in self._ids.items():
            if mine in path:
                return path.replace(mine, theirs)
        return path


# What differs for other reasons than the kubelet's rules.


def _limitation(case: Mapping[str, Any], words: str) -> bool:
    return any(words in text for text in case.get("limitations", ()))


def _clamped(case: Mapping[str, Any], difference: CaseDifference) -> bool:
    if not _limitation(case, "no CAP_SYS_RESOURCE") or "omScoreAdj" not in difference.field.split(".")[0]:
        return False
    return difference.expected == "0" and int(difference.found or 0) < 0


def _load_balance(case: Mapping[str, Any], difference: CaseDifference) -> bool:
    static = case["kubeletConfiguration"].get("cpuManagerPolicy") == "static"
    return static and difference.field.endswith(".cpuset.sched_load_balance") and difference.expected == '"0"'


def _no_limit_of_huge_pages(case: Mapping[str, Any], difference: CaseDifference) -> bool:
    """Return whether a difference is the rounding of an unlimited hugetlb limit.

    Newer kernels show the unlimited value as it is; older ones and the kit round it down to whole huge pages.
    """
    del case
    file = difference.field.rpartition("hugetlb.")[2]
    if not difference.field.endswith("limit_in_bytes") or file == difference.field:
        return False
    unlimited = str(UNLIMITED_V1)
    return (
        difference.expected == f'"{unlimited}"'
        and difference.found == f'"{kernel_shows(f"hugetlb.{file}", unlimited)}"'
    )


def _rejected_counts(case: Mapping[str, Any], difference: CaseDifference) -> bool:
    """Return whether a difference is exactly the Burstable QoS cgroup's value with rejected pods counted."""
    if not _limitation(case, "within a minute of a pod's rejection"):
        return False
    if not difference.field.endswith(("burstable.cpu.shares", "burstable.cpu.weight", "burstable.slice.cpu.weight")):
        return False
    pods = [_pod(manifest) for manifest in case["pods"]]
    shares = milli_cpu_to_shares(qos_requests(pods).burstable_cpu)
    return difference.expected in (f'"{shares}"', f'"{shares_to_weight(shares)}"')


DIFFERENCES = (
    KnownDifference("machine: no CAP_SYS_RESOURCE, so scores below 0 are shown as 0", _clamped),
    KnownDifference(
        "OpenShift's patch (openshift/kubernetes #1580), not Kubernetes: slices under the static policy", _load_balance
    ),
    KnownDifference("machine: its kernel does not round the absence of a limit to huge pages", _no_limit_of_huge_pages),
    KnownDifference("timing: a rejected static pod counts in its QoS cgroup until the next minute", _rejected_counts),
)


def attribute(case: Mapping[str, Any], difference: CaseDifference) -> str:
    """Return the known reason of a difference that the kubelet does not cause; "" = it is a failure."""
    return next((one.reason for one in DIFFERENCES if one.holds(case, difference)), "")

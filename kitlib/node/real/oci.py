"""The OCI runtime's config.json of a container, from a manifest and cgroup files.

Pods have fewer rights than the node: no capabilities, no new privileges, never root, the runtimes' default list of
system calls, their own session keyring (crun creates one), a read-only root, a new /proc with the usual paths masked,
no /sys, their own /dev, their pod's network (`pod_network.py`). Cgroup values are passed to the runtime as containerd
does: as `resources` on v1, as `unified` files on v2.

Source: opencontainers/runtime-spec config.md, config-linux.md;
containerd internal/cri/server container_create_linux.go.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kitlib.api.core import Container, EphemeralContainer, Pod
from kitlib.kubelet.cm.cgroup_levels import container_id
from kitlib.kubelet.cm.cgroup_tree import CgroupFile, Version
from kitlib.kubelet.loop.interfaces import ContainerProblem
from kitlib.kubelet.pods.volume_files import makes_files, sub_path
from kitlib.node.common.workload import ANNOTATION, FOREVER, Workload, declared_workload
from kitlib.node.real import seccomp, workload_process
from kitlib.node.real.volumes import place_of

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNPRIVILEGED_UID = 65534
WORKLOAD_PROCESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workload_process.py")
MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list"),
    *("/proc/timer_stats", "/proc/sched_debug", "/proc/scsi"),
)
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
"""Masked and read-only paths as in containerd. Source: containerd oci.populateDefaultUnixSpec."""
PAUSE = ["/usr/bin/sleep", "infinity"]
INIT = ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep infinity & wait $!; done"]
"""The pause container of a pod with a shared pid namespace: as process 1 it must reap orphans, which `wait` does."""
SERVER = ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait"]
"""The replacement of an image's own program; the kernel discards SIGTERM for a process 1 without a handler."""
PROGRAMS = "/usr/local/lib/kitlib/images"
"""The folder of the node's root with programs that replace those of images, by the last part of the images' names."""
_DISK = ("cache", "disk", "logs", "volume", "inodes", "child", "shm")
_TMPFS = ["nosuid", "nodev", "mode=1777"]


def command(pod: Pod, container: Container) -> tuple[list[str], list[str]]:
    """Return the command of a container, and notes for the user.

    The command is the declared workload, else the manifest's command and args. Without a command, the program that the
    node's root has for the image gets the args. A container without any of these idles, since its image's own program
    is not there.

    Raises:
        WorkloadError: the annotation is invalid.
    """
    notes = [f'Image "{container.image}" is not pulled: the node\'s own root file system stands in for it']
    declared = pod.metadata.annotations.get(ANNOTATION + container.name)
    if declared is not None:
        workload = declared_workload(declared, f"{pod.key}: metadata.annotations[{ANNOTATION}{container.name}]")
        left_out = [name for name in _DISK if any(getattr(phase, name) for phase in workload.phases)]
        if left_out:
            listed = ", ".join(f"{name}=" for name in left_out)
            notes.append(f"{listed} of the declared workload is left out: only the simulated kernel knows it")
        return workload_command(workload), notes
    words = [*(container.command or _own_program(container.image)), *container.args]
    if words:
        return words, notes
    notes.append("The image's own program is not there: the container idles")
    return list(SERVER), notes


def _own_program(image: str) -> list[str]:
    """Return the program that the node's root has for an image; none where it has none."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    path = f"{PROGRAMS}/{name}"
    return [path] if name and os.path.isfile(path) and os.access(path, os.X_OK) else []


def workload_command(workload: Workload) -> list[str]:
    """Return the command of a process that follows a declared workload."""
    phases = []
    for p in workload.phases:
        more = [p.pids, p.burst, p.every, p.hot]
        while more and more[-1] == workload_process.DEFAULTS[len(more) - 1]:
            more.pop()
        phases.append([None if p.seconds == FOREVER else p.seconds, p.cpus, p.memory, *more])
    return [
        sys.executable or "/usr/bin/python3",
        "-I",
        "-S",
        WORKLOAD_PROCESS,
        json.dumps(phases),
        str(workload.exit_code),
    ]


def bundle(
    *,
    root: str,
    arguments: list[str],
    cgroup: str,
    files: Iterable[CgroupFile],
    version: Version,
    oom_score_adj: int,
    hostname: str,
    environment: Mapping[str, str],
    user: int = UNPRIVILEGED_UID,
    directory: str = "/",
    join: Mapping[str, str] | None = None,
    mounts: Iterable[Mapping[str, Any]] = (),
    terminal: bool = False,
    shm: str = "",
    own_network: bool = False,
) -> dict[str, Any]:
    """Return the config.json of a container.

    Args:
        root: path of its root file system.
        arguments: the program and its arguments.
        cgroup: path of its cgroup, or `slice:prefix:name` for a scope of systemd, which then holds the processes
            itself.
        files: files of its cgroup; only those marked as written are passed on.
        version: cgroup version.
        oom_score_adj: oom_score_adj of its processes, -1000 to 1000.
        hostname: name of the pod.
        environment: environment variables.
        user: uid and gid; never 0.
        directory: working directory.
        join: path of an existing namespace by kind (the pause container's); other namespaces are created.
        mounts: mounts of volumes, in addition to the usual ones.
        terminal: whether the standard streams are a terminal.
        shm: directory of the node that is mounted at /dev/shm; "" = a tmpfs of its own.
        own_network: whether a network namespace is created; without one it uses the node's, unless it joins another.
    """
    joined = dict(join or {})
    namespaces = []
    network = ("network",) if own_network or "network" in joined else ()
    for kind in ("pid", "mount", "ipc", "uts", "cgroup", *network):
        namespaces.append({"type": kind, "path": joined[kind]} if kind in joined else {"type": kind})
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": terminal,
            "user": {"uid": user, "gid": user},
            "args": arguments,
            "env": [f"{name}={value}" for name, value in {"PATH": PATH, "HOME": "/tmp", **environment}.items()],
            "cwd": directory,
            "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")},
            "noNewPrivileges": True,
            "oomScoreAdj": oom_score_adj,
        },
        "root": {"path": root, "readonly": True},
        **({} if "uts" in joined else {"hostname": hostname[:63]}),
        "mounts": [
            {
                "destination": "/proc",
                "type": "proc",
                "source": "proc",
                "options": ["nosuid", "noexec", "nodev"],
            },
            {
                "destination": "/dev",
                "type": "tmpfs",
                "source": "tmpfs",
                "options": ["nosuid", "strictatime", "mode=755", "size=64k"],
            },
            {
                "destination": "/dev/pts",
                "type": "devpts",
                "source": "devpts",
                "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"],
            },
            {
                "destination": "/dev/shm",
                "type": "bind" if shm else "tmpfs",
                "source": shm or "shm",
                "options": ["nosuid", "noexec", "nodev", *(["bind", "rw"] if shm else ["mode=1777", "size=64m"])],
            },
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": _TMPFS},
            {"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": [*_TMPFS, "size=1m"]},
            *mounts,
        ],
        # By default crun creates a sub-cgroup `container` below a scope; containerd's containers have none.
        **({"annotations": {"run.oci.systemd.subgroup": ""}} if ":" in cgroup else {}),
        "linux": {
            "namespaces": namespaces,
            "cgroupsPath": cgroup,
            "resources": resources(files, version),
            "maskedPaths": list(MASKED),
            "readonlyPaths": list(READ_ONLY),
            "seccomp": seccomp.profile(),
        },
    }


def resources(files: Iterable[CgroupFile], version: Version) -> dict[str, Any]:
    """Return cgroup files in the form that the runtime reads, without files that are not written."""
    written = {file.name: file.value for file in files if file.written}
    if version == 2:
        return {"unified": written} if written else {}
    made: dict[str, Any] = {}
    cpu: dict[str, Any] = {
        key: int(written[name])
        for name, key in (("cpu.shares", "shares"), ("cpu.cfs_quota_us", "quota"), ("cpu.cfs_period_us", "period"))
        if name in written
    }
    if cpu.get("quota", 0) < 0:
        del cpu["quota"]  # a new cgroup has no quota, and crun would write -1 without its sign
    cpu |= {key: written[f"cpuset.{key}"] for key in ("cpus", "mems") if f"cpuset.{key}" in written}
    if cpu:
        made["cpu"] = cpu
    memory = {
        key: int(written[name])
        for name, key in (("memory.limit_in_bytes", "limit"), ("memory.memsw.limit_in_bytes", "swap"))
        if name in written
    }
    if memory:
        made["memory"] = memory
    if "pids.max" in written:
        made["pids"] = {"limit": -1 if written["pids.max"] == "max" else int(written["pids.max"])}
    huge = [
        {"pageSize": name.split(".")[1], "limit": int(value)}
        for name, value in written.items()
        if name.startswith("hugetlb.")
    ]
    if huge:
        made["hugepageLimits"] = huge
    return made


def user_of(pod: Pod, container: Container) -> tuple[int, list[str]]:
    """Return the user of a container, and a note if the manifest requests root."""
    for context in (container.security_context, pod.spec.security_context):
        wanted = context.run_as_user if context is not None else None
        if wanted is not None:
            if wanted == 0:
                return UNPRIVILEGED_UID, ["runAsUser: 0 is not granted: nobody is root on this node"]
            return wanted, []
    return UNPRIVILEGED_UID, []


def volumes(
    pod: Pod, container: Container, directory: str, env: Mapping[str, str], sub_paths: Mapping[tuple[str, str], str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the mounts of a container's volumes, and a note for each unsupported one.

    Args:
        pod: the pod.
        container: the container.
        directory: folder of the node for the pod's emptyDirs, in memory, and for the files that the kubelet writes.
        env: environment variables of the container, for `subPathExpr`.
        sub_paths: path of the open directory by (volume, subPath), for emptyDirs and hostPaths.
    """
    kinds = {volume.name: volume for volume in pod.spec.volumes}
    made: list[dict[str, Any]] = []
    notes: list[str] = []
    for mount in container.volume_mounts:
        volume = kinds.get(mount.name)
        place = place_of(volume, directory) if volume is not None else ""
        if volume is None or not (place or makes_files(volume)):
            notes.append(f"volume {mount.name!r}: this kind of volume does not exist on this node")
            continue
        written = makes_files(volume)
        options = ["bind", "nosuid", "nodev", "ro" if mount.read_only or written else "rw"]
        source, below = place or f"{directory}/{mount.name}", sub_path(mount, env)
        if below and written:
            source = os.path.realpath(f"{source}/{below}")  # the current version: a subPath does not receive updates
        elif below:
            source = sub_paths[mount.name, below]
        made.append({"destination": mount.mount_path, "type": "bind", "source": source, "options": options})
    return made, notes


def joined_namespaces(
    pod: Pod, container: Container, pid: Callable[[str], int], own_network: bool = False
) -> dict[str, str]:
    """Return the namespaces that a container joins: its pod's, and the pid namespace of its pod or its target.

    Args:
        pod: the pod.
        container: the container.
        pid: returns the process id of a running container by its id; 0 = it does not run.
        own_network: whether the pod has a network namespace of its own.

    Raises:
        ContainerProblem: the target container does not run.

    Source: kuberuntime namespaces.PidNamespaceForPod, PodNamespaceForTargetContainer (`--target` of kubectl debug).
    """
    uid, joined = pod.metadata.uid, {}
    sandbox = pid(container_id(uid, ""))
    if sandbox:
        kinds = ("ipc", "uts", "pid") if pod.spec.share_process_namespace else ("ipc", "uts")
        joined = {kind: f"/proc/{sandbox}/ns/{kind}" for kind in kinds}
        if own_network:
            joined["network"] = f"/proc/{sandbox}/ns/net"
    name = container.target_container_name if isinstance(container, EphemeralContainer) else ""
    if name:
        target = pid(container_id(uid, name))
        if not target:
            raise ContainerProblem("CreateContainerError", f'unable to find target container "{name}"')
        joined["pid"] = f"/proc/{target}/ns/pid"
    return joined

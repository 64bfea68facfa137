"""Names of cgroups: one internal name, and its path in the file system for each cgroup driver.

The kubelet's name of a cgroup is a list of components, `("kubepods", "burstable", "pod1234-…")`. The cgroupfs driver
joins them with slashes. A slice of systemd has its whole ancestry in its name, in which each "-" separates two levels;
so the systemd driver replaces "-" inside a component by "_", and expands the leaf into nested directories. Below the
pod's cgroup the container runtime determines the name: see `container_cgroup`.

Sources: kubelet cm.NewCgroupName, CgroupName.ToSystemd, ToCgroupfs, ParseSystemdToCgroupName, cm.NodeAllocatableRoot,
podContainerManagerImpl.GetPodContainerName; containerd getCgroupsPath; CRI-O cgmgr; runc's cgroup managers.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kitlib.api.errors import KitError
from kitlib.kubelet.config.settings import Driver

CgroupName = tuple[str, ...]

ROOT: CgroupName = ()
SYSTEMD_SUFFIX = ".slice"
NODE_ALLOCATABLE_CGROUP = "kubepods"
POD_PREFIX = "pod"
QOS_COMPONENTS = {"Guaranteed": (), "Burstable": ("burstable",), "BestEffort": ("besteffort",)}
"""QoS class -> its components below kubepods; the cgroups of Guaranteed pods are directly below kubepods."""


class CgroupNameError(KitError, ValueError):
    """An invalid name of a cgroup."""


def new_cgroup_name(base: CgroupName, *components: str) -> CgroupName:
    """Append `components` to `base`.

    Raises:
        CgroupNameError: a component contains "/" or "_"; the message is the kubelet's.

    Source: kubelet cm.NewCgroupName.
    """
    for component in components:
        # The systemd driver writes "-" as "_", so a name with both could not be converted back.
        if "/" in component or "_" in component:
            raise CgroupNameError(f'invalid character in component ["{component}"] of CgroupName')
    return (*base, *components)


def to_cgroupfs(name: CgroupName) -> str:
    """Convert `("kubepods", "burstable")` to `/kubepods/burstable`. Source: kubelet CgroupName.ToCgroupfs."""
    parts = [part for part in name if part]
    return posixpath.normpath("/" + "/".join(parts)) if parts else "/"


def escape_systemd(part: str) -> str:
    """Convert `my-pods` to `my_pods`: "-" separates two levels in a slice's name. Source: kubelet cm.escapeSystemd."""
    return part.replace("-", "_")


def unescape_systemd(part: str) -> str:
    """Convert `my_pods` to `my-pods`. Source: kubelet cm.unescapeSystemd."""
    return part.replace("_", "-")


def to_systemd(name: CgroupName) -> str:
    """Convert `("kubepods", "burstable")` to `/kubepods.slice/kubepods-burstable.slice`.

    Raises:
        CgroupNameError: a component is empty, which systemd does not allow.

    Source: kubelet CgroupName.ToSystemd.
    """
    if not name or name == ("",):
        return "/"
    return expand_slice("-".join(map(escape_systemd, name)) + SYSTEMD_SUFFIX)


def expand_slice(slice_name: str) -> str:
    """Return a slice's directory: `/a.slice/a-b.slice` for `a-b.slice`, as each "-" separates two levels.

    Raises:
        CgroupNameError: the name is not the name of a slice.

    Source: opencontainers/cgroups systemd.ExpandSlice.
    """
    if not slice_name.endswith(SYSTEMD_SUFFIX) or "/" in slice_name or slice_name == SYSTEMD_SUFFIX:
        raise CgroupNameError(f"invalid slice name: {slice_name}")
    stem = slice_name.removesuffix(SYSTEMD_SUFFIX)
    if stem == "-":
        return "/"
    path, prefix = "", ""
    for component in stem.split("-"):
        if not component:
            raise CgroupNameError(f"invalid slice name: {slice_name}")
        path += f"/{prefix}{component}{SYSTEMD_SUFFIX}"
        prefix += component + "-"
    return path


def to_path(name: CgroupName, driver: Driver) -> str:
    """Return the directory of `name` below each cgroup mount, in the driver's spelling."""
    return to_systemd(name) if driver == "systemd" else to_cgroupfs(name)


def parse_cgroupfs(path: str) -> CgroupName:
    """Convert `/kubepods/burstable` to `("kubepods", "burstable")`. Source: kubelet cm.ParseCgroupfsToCgroupName."""
    components = path.removeprefix("/").split("/")
    return ROOT if components == [""] else tuple(components)


def parse_systemd(path: str) -> CgroupName:
    """Convert `/kubepods.slice/kubepods-burstable.slice` to `("kubepods", "burstable")`.

    Only the last path element is used, because it contains the whole ancestry; so `/system.slice/kubelet.service`
    becomes `("kubelet.service",)`, which the kubelet then looks for in `/kubelet.service.slice`.

    Source: kubelet cm.ParseSystemdToCgroupName.
    """
    leaf = _go_base(path).removesuffix(SYSTEMD_SUFFIX)
    return tuple(map(unescape_systemd, leaf.split("-")))


def parse_path(path: str, driver: Driver) -> CgroupName:
    """Return the internal name of a path in a setting. Source: kubelet cgroupCommon.CgroupName."""
    return parse_systemd(path) if driver == "systemd" else parse_cgroupfs(path)


def is_systemd_style(path: str) -> bool:
    """Return whether the path ends in ".slice". Source: kubelet cm.IsSystemdStyleName."""
    return path.endswith(SYSTEMD_SUFFIX)


def node_allocatable_name(cgroup_root: str, cgroups_per_qos: bool) -> CgroupName:
    """Return the cgroup of all pods: "kubepods" below `--cgroup-root`; without QoS cgroups `--cgroup-root` itself."""
    root = parse_cgroupfs(cgroup_root)
    return new_cgroup_name(root, NODE_ALLOCATABLE_CGROUP) if cgroups_per_qos else root


def node_allocatable_root(cgroup_root: str, cgroups_per_qos: bool, driver: Driver) -> str:
    """Return the path of the cgroup of all pods.

    `--cgroup-root` is always parsed as a cgroupfs path, so `root.slice` becomes `/root.slice.slice` under systemd.

    Source: kubelet cm.NodeAllocatableRoot.
    """
    return to_path(node_allocatable_name(cgroup_root, cgroups_per_qos), driver)


def qos_cgroup_name(kubepods: CgroupName, qos_class: str) -> CgroupName:
    """Return the parent of the pod cgroups of a QoS class: kubepods itself for Guaranteed."""
    return new_cgroup_name(kubepods, *QOS_COMPONENTS[qos_class])


def pod_cgroup_name(kubepods: CgroupName, qos_class: str, uid: str) -> CgroupName:
    """Return the name of a pod's cgroup, `kubepods[/burstable|/besteffort]/pod<UID>`.

    Raises:
        CgroupNameError: the UID contains a character that is not allowed in the name of a cgroup.

    Source: kubelet podContainerManagerImpl.GetPodContainerName.
    """
    return new_cgroup_name(qos_cgroup_name(kubepods, qos_class), POD_PREFIX + uid)


def cgroup_parent_for_runtime(name: CgroupName, driver: Driver) -> str:
    """Return the CRI's cgroup_parent: the slice's name without its directory under systemd, else the path.

    Source: kubelet podContainerManagerImpl.GetPodContainerName, kuberuntime generatePodSandboxLinuxConfig.
    """
    return _go_base(to_systemd(name)) if driver == "systemd" else to_cgroupfs(name)


class OCIRuntime(NamedTuple):
    """The properties that differ between versions of the low-level runtime; each version has a fixed set of them.

    Attributes:
        label: the name in texts for readers.
        weight_formula: the conversion of shares to a weight on cgroup v2.
        rounds_quota: whether under systemd the scope gets the quota property of systemd, in whole percents of a CPU.
        nests: under systemd on cgroup v2 the processes are in a cgroup `container` of their own below the scope.
    """

    label: str
    weight_formula: Literal["quadratic", "linear"]
    rounds_quota: bool
    nests: bool


OCI_RUNTIMES: Mapping[str, OCIRuntime] = {
    "runc": OCIRuntime("runc 1.3.2 or later", "quadratic", rounds_quota=True, nests=False),
    "runc<1.3.2": OCIRuntime("runc before 1.3.2", "linear", rounds_quota=False, nests=False),
    "crun": OCIRuntime("crun 1.23 or later", "quadratic", rounds_quota=False, nests=True),
    "crun<1.23": OCIRuntime("crun 1.8 to 1.22", "linear", rounds_quota=False, nests=True),
}
"""Source: opencontainers/cgroups systemd.addCPUQuota (v0.0.2), ConvertCPUSharesToCgroupV2Value (v0.0.4; runc 1.3.2 has
both); crun cgroup-systemd.c append_resources, convert_shares_to_weight."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The container runtime: its names of container cgroups and its conversion of shares to a weight.

    Attributes:
        name: "containerd", "cri-o" or "docker" (dockershim, cri-dockerd).
        cgroup_driver: the runtime's own driver; "" = the kubelet's, which is the supported configuration.
        service_cgroup: the cgroup in which the runtime's own process runs.
        oci: the low-level runtime, a key of `OCI_RUNTIMES`.
        disable_hugetlb_controller: containerd's setting, true by default: it drops the huge page limits of containers.
    """

    name: str = "containerd"
    cgroup_driver: str = ""
    service_cgroup: str = "/system.slice/containerd.service"
    oci: str = "runc"
    disable_hugetlb_controller: bool = True

    @property
    def low_level(self) -> OCIRuntime:
        """The properties of the low-level runtime."""
        return OCI_RUNTIMES[self.oci]

    @property
    def limits_huge_pages(self) -> bool:
        """Whether containers get the huge page limits that the kubelet requests.

        Source: containerd internal/cri/config (DisableHugetlbController), customopts.WithResources.
        """
        return self.name != "containerd" or not self.disable_hugetlb_controller


_SCOPE_PREFIX = {"containerd": "cri-containerd", "cri-o": "crio", "docker": "docker"}


def container_cgroup(parent: str, container_id: str, driver: Driver, runtime: Runtime) -> str:
    """Return the path of a container's own cgroup below `parent`, the pod's cgroup.

    | runtime | both drivers cgroupfs | both drivers systemd |
    |---|---|---|
    | containerd | `<pod>/<id>` | `<pod>/cri-containerd-<id>.scope` |
    | CRI-O | `<pod>/crio-<id>` | `<pod>/crio-<id>.scope` |
    | Docker | `<pod>/<id>` | `<pod>/docker-<id>.scope` |

    If the kubelet uses systemd and containerd does not (`SystemdCgroup = false`), containerd still passes
    `<slice>:cri-containerd:<id>` to runc. runc's cgroupfs manager interprets that as a relative path and makes one
    directory of this name below the cgroup of containerd's own service: the container is outside its pod, and the
    limits of pod, class and node do not apply to it.

    Args:
        parent: path of the pod's cgroup; "" = the kubelet sets no parent (`--cgroups-per-qos=false`).
        container_id: 64 hexadecimal digits.
        driver: the kubelet's cgroup driver.
        runtime: the container runtime, which determines the name.

    Raises:
        CgroupNameError: the kubelet uses cgroupfs and the runtime systemd; runc rejects such a container.

    Source: containerd internal/cri getCgroupsPath; runc libcontainer/specconv CreateCgroupConfig.
    """
    prefix = _SCOPE_PREFIX[runtime.name]
    runtime_driver = runtime.cgroup_driver or driver
    if not parent:
        if runtime_driver == "systemd":
            return f"/system.slice/{prefix}-{container_id}.scope"
        return f"/k8s.io/{container_id}" if runtime.name == "containerd" else f"/{runtime.name}/{container_id}"
    leaf = _go_base(parent)
    if runtime_driver == "systemd":
        if not leaf.endswith(SYSTEMD_SUFFIX):
            raise CgroupNameError(
                f'expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, '
                f'got "{parent}/{container_id}" instead'
            )
        return f"{parent}/{prefix}-{container_id}.scope"
    if leaf.endswith(SYSTEMD_SUFFIX):
        return f"{runtime.service_cgroup}/{leaf}:{prefix}:{container_id}"
    return f"{parent}/crio-{container_id}" if runtime.name == "cri-o" else f"{parent}/{container_id}"


def _go_base(path: str) -> str:
    """Return the last element of a path, as Go's path.Base: "." for "", "/" for slashes only."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"

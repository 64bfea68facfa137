"""The properties of an engine, and what its host withholds from the nodes: for `kitlib doctor` and messages.

The engine reports most of it; a node reports in `fidelity` what only a node can find out (capabilities, missing
cgroup files).

Source: Docker Engine API SystemInfo and SystemVersion; Podman pkg/api/handlers/compat GetInfo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kitlib.node.real.engine import EngineEndpoint, asking

PODMAN = "Podman"
_CONTROLLERS = {
    "MemoryLimit": "memory limits",
    "PidsLimit": "limits of process numbers",
    "CPUShares": "CPU shares",
    "CpuCfsQuota": "CPU quotas",
    "CPUSet": "CPU sets",
}
"""Missing features of the host's cgroups by field of SystemInfo that is false."""
_FILES_OF_V1 = ("CPUShares", "CpuCfsQuota", "CPUSet")
"""Fields for which Podman searches cpu.shares, cpu.cfs_quota_us and the root's cpuset.cpus, which cgroup v2 does not
have: on v2 a false value means nothing, and a node finds what is missing. Source: containers/common pkg/sysinfo
checkCgroupCPU, checkCgroupCpusetInfo."""


@dataclass(frozen=True)
class Host:
    """An engine and its machine.

    Attributes:
        name: "Docker Engine", "Docker Desktop", "Podman".
        version: version of the engine.
        found: description of how it was found.
        system: the machine's operating system.
        cgroup: cgroup version of the machine, 1 or 2.
        driver: cgroup driver of the engine.
        refuses: sentences about features that nodes will not get.
        hindrance: why no node can start; "" = nodes may start.
        maps_root: whether root of a node is an ordinary user of the machine: a rootless engine creates a user namespace
            for every container. Otherwise it is the machine's root, since a node needs CAP_SYS_ADMIN to own cgroups.
    """

    name: str
    version: str
    found: str
    system: str
    cgroup: int
    driver: str
    refuses: tuple[str, ...]
    hindrance: str = ""
    maps_root: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version} on {self.system}, cgroup v{self.cgroup}, driver {self.driver}"


def host_of(client: Any, endpoint: EngineEndpoint) -> Host:
    """Return the properties of an engine and its machine.

    Raises:
        EngineError: the engine does not answer.
    """
    with asking("the engine says nothing of itself"):
        version, info = client.version(), client.info()
    name = name_of(version, info)
    return Host(
        name=name,
        version=str(version.get("Version", "?")),
        found=endpoint.found,
        system=str(info.get("OperatingSystem", "?")),
        cgroup=int(info.get("CgroupVersion") or 1),
        driver=str(info.get("CgroupDriver", "?")),
        refuses=tuple(refusals(info, name)),
        hindrance=hindrance(info),
        maps_root=rootless(info),
    )


def name_of(version: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    """Return the product's name, from the engine's answers to /version and /info."""
    components = {str(one.get("Name", "")) for one in version.get("Components") or ()}
    if any("Podman" in name for name in components):
        return PODMAN
    platform = str((version.get("Platform") or {}).get("Name", ""))
    if "Docker Desktop" in f"{platform} {info.get('OperatingSystem', '')}":
        return "Docker Desktop"
    return "Docker Engine"


def refusals(info: Mapping[str, Any], product: str = "") -> list[str]:
    """Return the features that nodes will not get on that host, from the engine's answer to /info.

    Args:
        info: the answer.
        product: the product, a result of `name_of`.
    """
    guessed = _FILES_OF_V1 if product == PODMAN and str(info.get("CgroupVersion")) == "2" else ()
    missing = (what for name, what in _CONTROLLERS.items() if info.get(name) is False and name not in guessed)
    found = [f"its host has no {what}" for what in missing]
    if rootless(info) and not hindrance(info):
        found.append("it runs without root: nodes get only the cgroup controllers that were delegated to its user")
    if any(one.startswith("name=userns") for one in _security(info)):
        found.append("it maps users: nodes may not own cgroups there (start it without userns-remap)")
    return [*found, hindrance(info)] if hindrance(info) else found


def hindrance(info: Mapping[str, Any]) -> str:
    """Return why no node can start on that host, and the remedy, from the answer to /info; "" = nodes may start.

    Source: KEP-2033 (rootless mode needs cgroup v2 and delegation); kernel admin-guide/cgroup-v1 knows no delegation.
    """
    if str(info.get("OSType") or "linux") != "linux":
        return f"it runs {info['OSType']} containers, nodes are Linux (switch it to Linux containers)"
    if rootless(info) and str(info.get("CgroupVersion") or 1) == "1":
        return (
            "it runs without root, and on cgroup v1 only root may own cgroups: nodes cannot start "
            "(use an engine that root has started, or a host with cgroup v2)"
        )
    return ""


def rootless(info: Mapping[str, Any]) -> bool:
    """Return whether the engine runs without root, from its answer to /info."""
    return bool(info.get("Rootless")) or any(one.startswith("name=rootless") for one in _security(info))


def _security(info: Mapping[str, Any]) -> list[str]:
    return [str(one) for one in info.get("SecurityOptions") or ()]

"""The kubelet's report of a container: state, resources, mounts, and the user that it runs as.

Source: k8s.io/api/core/v1/types.go ContainerStatus.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.container import ResourceList, ResourceRequirements
from kitlib.api.meta import KubeStruct
from kitlib.api.numbers import Int64


class VolumeMountStatus(KubeStruct):
    name: str = ""
    mount_path: str = ""
    read_only: bool = False
    recursive_read_only: str | None = None


class LinuxContainerUser(KubeStruct):
    uid: Int64 = 0
    gid: Int64 = 0
    supplemental_groups: list[Int64] = []


class ContainerUser(KubeStruct):
    """The user identity that a container's first process started with."""

    linux: LinuxContainerUser | None = None


class ContainerStatus(KubeStruct):
    name: str = ""
    state: dict[str, Any] = {}
    last_state: dict[str, Any] = {}
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    container_id: str = msgspec.field(name="containerID", default="")
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    volume_mounts: list[VolumeMountStatus] = []
    user: ContainerUser | None = None
    allocated_resources_status: list[dict[str, Any]] = []
    stop_signal: str | None = None

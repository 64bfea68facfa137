"""The files of volumes whose content comes from the API server: configMap, secret, downwardAPI, projected.

Source: pkg/volume/configmap MakePayload, pkg/volume/secret MakePayload, pkg/volume/downwardapi CollectData,
pkg/volume/projected collectData.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kitlib.api.container import VolumeMount
from kitlib.api.core import Container, Pod
from kitlib.api.volume import Volume
from kitlib.api.volume_files import DownwardAPIVolumeFile, KeyToPath, ServiceAccountTokenProjection
from kitlib.kubelet.pods.environment import expand
from kitlib.kubelet.pods.fieldpath import field_value, resource_value
from kitlib.kubelet.pods.objects import CONFIG_MAP, SECRET, MissingObject, Objects, content, token_of

DEFAULT_MODE = 0o644
_KINDS = {CONFIG_MAP: "configmap", SECRET: "secret"}


class VolumeFile(NamedTuple):
    """A file of a volume.

    Attributes:
        data: the content.
        mode: the permission bits.
    """

    data: bytes
    mode: int


Files = dict[str, VolumeFile]
"""Path in the volume -> file."""


def makes_files(volume: Volume) -> bool:
    """Return whether the kubelet writes a volume's files."""
    sources = (volume.config_map, volume.secret, volume.downward_api, volume.projected)
    return any(source is not None for source in sources)


def volume_files(pod: Pod, volume: Volume, objects: Objects, allocatable: Mapping[str, int]) -> Files:
    """Return the files of a volume; {} if the kubelet does not write it.

    Args:
        pod: the volume's pod.
        volume: the volume in the manifest.
        objects: the ConfigMaps and Secrets that the kubelet may read.
        allocatable: resource -> allocatable amount of the node, in thousandths.

    Raises:
        KitError: an object, a key or a field does not exist; the message is the kubelet's.
    """
    if volume.config_map is not None:
        one, mode = volume.config_map, _mode(volume.config_map.default_mode)
        return _payload(pod, CONFIG_MAP, one.name, one.items, mode, bool(one.optional), objects)
    if volume.secret is not None:
        secret, mode = volume.secret, _mode(volume.secret.default_mode)
        return _payload(pod, SECRET, secret.secret_name, secret.items, mode, bool(secret.optional), objects)
    if volume.downward_api is not None:
        return _downward(pod, volume.downward_api.items, _mode(volume.downward_api.default_mode), allocatable)
    made: Files = {}
    if volume.projected is None:
        return made
    mode = _mode(volume.projected.default_mode)
    for source in volume.projected.sources:
        for kind, part in ((CONFIG_MAP, source.config_map), (SECRET, source.secret)):
            if part is not None:
                made |= _payload(pod, kind, part.name, part.items, mode, bool(part.optional), objects)
        if source.downward_api is not None:
            made |= _downward(pod, source.downward_api.items, mode, allocatable)
        if source.service_account_token is not None:
            made |= _token(pod, source.service_account_token, mode, objects)
    return made


def mounted(container: Container, volume: Callable[[str], Files], env: Mapping[str, str]) -> Files:
    """Return path in a container -> file, for all of its mounts.

    Args:
        container: the container with the mounts.
        volume: returns the files of a volume by its name.
        env: the container's variables, for `subPathExpr`.
    """
    made: Files = {}
    for mount in container.volume_mounts:
        place, below = mount.mount_path.rstrip("/"), sub_path(mount, env)
        for path, file in volume(mount.name).items():
            if not below:
                made[f"{place}/{path}"] = file
            elif path == below:
                made[place] = file
            elif path.startswith(f"{below}/"):
                made[f"{place}/{path.removeprefix(f'{below}/')}"] = file
    return made


def sub_path(mount: VolumeMount, env: Mapping[str, str]) -> str:
    """Return the path in a volume that is mounted; "" = the whole volume. Source: kubelet makeMounts."""
    return (expand(mount.sub_path_expr, env) if mount.sub_path_expr else mount.sub_path).strip("/")


def _mode(declared: int | None) -> int:
    return DEFAULT_MODE if declared is None else declared


def _payload(
    pod: Pod, kind: str, name: str, items: list[KeyToPath], mode: int, optional: bool, objects: Objects
) -> Files:
    try:
        data = objects.data(kind, pod.namespace, name)
    except MissingObject:
        if optional:
            return {}
        raise
    if not items:
        return {key: VolumeFile(value, mode) for key, value in data.items()}
    made: Files = {}
    for item in items:
        if item.key in data:
            made[item.path] = VolumeFile(data[item.key], mode if item.mode is None else item.mode)
        elif not optional:
            what = "config" if kind == CONFIG_MAP else "secret"
            raise MissingObject(f"{_KINDS[kind]} references non-existent {what} key: {item.key}")
    return made


def _token(pod: Pod, wanted: ServiceAccountTokenProjection, mode: int, objects: Objects) -> Files:
    """Return the file of a service account's token; {} without an API server, which issues the tokens.

    Source: projectedVolumeMounter.collectData.
    """
    found = objects.find(token_of(pod, wanted))
    if found is None:
        return {}
    context = pod.spec.security_context
    # If the pod names a user or a group, upstream writes the file for its owner only. With a group, SetVolumeOwnership
    # then changes the mode to 0640, which is not modelled here.
    own = context is not None and (context.fs_group is not None or context.run_as_user is not None)
    return {wanted.path: VolumeFile(content(found)["token"], 0o600 if own else mode)}


def _downward(pod: Pod, items: Iterable[DownwardAPIVolumeFile], mode: int, allocatable: Mapping[str, int]) -> Files:
    made: Files = {}
    for item in items:
        text = ""
        if item.field_ref is not None:
            text = field_value(pod, item.field_ref)
        elif item.resource_field_ref is not None:  # the item of a volume always names its container
            text = resource_value(pod, pod.spec.containers[0], item.resource_field_ref, allocatable)
        made[item.path] = VolumeFile(text.encode(), mode if item.mode is None else item.mode)
    return made

"""The files of volumes that the API server's objects make: configMap, secret, downwardAPI, projected.

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
        data: its content.
        mode: permission bits.
    """

    data: bytes
    mode: int


Files = dict[str, VolumeFile]
"""Path below the volume -> file."""


def makes_files(volume: Volume) -> bool:
    """Whether the kubelet writes a volume's files."""
    sources = (volume.config_map, volume.secret, volume.downward_api, volume.projected)
    return any(source is not None for source in sources)


def volume_files(pod: Pod, volume: Volume, objects: Objects, allocatable: Mapping[str, int]) -> Files:
    """The files of a volume.

    Args:
        pod, volume: whose.
        objects: the ConfigMaps and Secrets.
        allocatable: of the node, in thousandths.

    Raises:
        KitError: in the kubelet's words, where an object, a key or a field is not there.
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
    """Path in a container -> the file that a volume puts there.

    Args:
        container: whose mounts.
        volume: the files of a volume by its name.
        env: of the container, for `subPathExpr`.
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
    """The part of a volume that is mounted; "" = all. Source: kubelet makeMounts."""
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
    """A service account's token; its user's alone where the pod names one. A cluster that is not served has none.

    Source: projectedVolumeMounter.collectData.
    """
    found = objects.find(token_of(pod, wanted))
    if found is None:
        return {}
    context = pod.spec.security_context
    own = context is not None and (context.fs_group is not None or context.run_as_user is not None)
    return {wanted.path: VolumeFile(content(found)["token"], 0o600 if own else mode)}


def _downward(pod: Pod, items: Iterable[DownwardAPIVolumeFile], mode: int, allocatable: Mapping[str, int]) -> Files:
    made: Files = {}
    for item in items:
        text = ""
        if item.field_ref is not None:
            text = field_value(pod, item.field_ref)
        elif item.resource_field_ref is not None:  # a volume's item always names its container
            text = resource_value(pod, pod.spec.containers[0], item.resource_field_ref, allocatable)
        made[item.path] = VolumeFile(text.encode(), mode if item.mode is None else item.mode)
    return made

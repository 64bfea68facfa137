"""Warnings about overlapping paths of files in one volume.

Source: pkg/api/pod/warnings.go warningsForOverlappingVirtualPaths, checkForOverlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kitlib.api.core import Volume
from kitlib.api.field_errors import shown
from kitlib.api.volume_files import ProjectedVolumeSource, VolumeProjection


def overlapping_paths(volumes: Iterable[Volume]) -> Iterator[str]:
    """Yield a warning for each path that equals, or is a prefix of, another one of the same volume."""
    for volume in volumes:
        name = shown(volume.name)
        for kind, source, owner in (
            ("ConfigMap", volume.config_map, volume.config_map.name if volume.config_map is not None else ""),
            ("Secret", volume.secret, volume.secret.secret_name if volume.secret is not None else ""),
        ):
            if source is not None:
                text = f"volume {name} ({kind} {shown(owner)}): overlapping paths"
                yield from _check([item.path for item in source.items], text)
        if volume.downward_api is not None:
            text = f"volume {name} (DownwardAPI): overlapping paths"
            yield from _check([item.path for item in volume.downward_api.items], text)
        if volume.projected is not None:
            yield from _projected(volume.projected, name)


def _projected(source: ProjectedVolumeSource, name: str) -> Iterator[str]:
    everything: set[str] = set()
    for one in source.sources:
        if one == VolumeProjection():
            yield f"volume {name} (Projected) has no sources provided"
            continue
        paths, what = _paths(one)
        if paths:
            text = f"volume {name} (Projected {what}): overlapping paths"
            yield from _check(paths, text)
            yield from _check(sorted([*set(paths), *everything]), text)
            everything.update(paths)


def _paths(volume_projection: VolumeProjection) -> tuple[list[str], str]:
    if volume_projection.config_map is not None and volume_projection.config_map.items:
        return [
            item.path for item in volume_projection.config_map.items
        ], f"ConfigMap {shown(volume_projection.config_map.name)}"
    if volume_projection.secret is not None and volume_projection.secret.items:
        return [item.path for item in volume_projection.secret.items], f"Secret {shown(volume_projection.secret.name)}"
    if volume_projection.downward_api is not None and volume_projection.downward_api.items:
        return [item.path for item in volume_projection.downward_api.items], "DownwardAPI"
    if volume_projection.service_account_token is not None:
        return [volume_projection.service_account_token.path], "ServiceAccountToken"
    if volume_projection.cluster_trust_bundle is not None:
        bundle = volume_projection.cluster_trust_bundle
        owner = bundle.name if bundle.name is not None else bundle.signer_name or ""
        return [bundle.path], f"ClusterTrustBundle {shown(owner)}"
    return [], ""


def _check(paths: Iterable[str], text: str) -> Iterator[str]:
    known: list[str] = []
    for path in paths:
        path = path.rstrip("/")
        other = next((one for one in known if _overlap(one, path)), "")
        if other:
            yield f"{text}: {shown(path)} with {shown(other)}"
        if path not in known:
            known.append(path)


def _overlap(one: str, other: str) -> bool:
    """Return whether paths overlap by characters, as upstream compares them: `conf` and `config` do."""
    return bool(one and other) and (f"{one}/".startswith(other) or f"{other}/".startswith(one))

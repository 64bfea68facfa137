"""Volumes of files that the API server has: ConfigMaps, Secrets, the pod's own fields, tokens, certificates.

Source: pkg/apis/core/validation validateSecretVolumeSource, validateConfigMapVolumeSource,
validateDownwardAPIVolumeSource, validateProjectedVolumeSource.
"""

from __future__ import annotations

from kitlib.api import volume_files as types
from kitlib.api.validation.env import (
    VOLUME_FIELDS,
    validate_container_resource_field_selector,
    validate_object_field_selector,
)
from kitlib.api.validation.fields import (
    Errors,
    forbidden,
    invalid,
    required,
)
from kitlib.api.validation.paths import (
    validate_local_non_reserved_path,
)

MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def _mode(mode: int | None, field: str) -> Errors:
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(field, mode, MODE_TEXT)]


def _key_to_path(item: types.KeyToPath, field: str) -> Errors:
    """Source: validateKeyToPath."""
    found = [required(f"{field}.{name}") for name in ("key", "path") if not getattr(item, name)]
    found += validate_local_non_reserved_path(item.path, f"{field}.path")
    return found + _mode(item.mode, f"{field}.mode")


def validate_secret_volume_source(source: types.SecretVolumeSource, field: str) -> Errors:
    found = [] if source.secret_name else [required(f"{field}.secretName")]
    return found + _files(source, field)


def validate_config_map_volume_source(source: types.ConfigMapVolumeSource, field: str) -> Errors:
    found = [] if source.name else [required(f"{field}.name")]
    return found + _files(source, field)


def _files(source: types.SecretVolumeSource | types.ConfigMapVolumeSource, field: str) -> Errors:
    found = _mode(source.default_mode, f"{field}.defaultMode")
    for i, item in enumerate(source.items):
        found += _key_to_path(item, f"{field}.items[{i}]")
    return found


def validate_downward_api_volume_source(source: types.DownwardAPIVolumeSource, field: str) -> Errors:
    found = _mode(source.default_mode, f"{field}.defaultMode")
    for file in source.items:
        found += _downward_api_file(file, field)
    return found


def _downward_api_file(file: types.DownwardAPIVolumeFile, field: str) -> Errors:
    """Source: validateDownwardAPIVolumeFile."""
    found = [] if file.path else [required(f"{field}.path")]
    found += validate_local_non_reserved_path(file.path, f"{field}.path")
    if file.field_ref is not None:
        found += validate_object_field_selector(file.field_ref, VOLUME_FIELDS, f"{field}.fieldRef")
        if file.resource_field_ref is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid(field, "resource", detail))
    elif file.resource_field_ref is not None:
        place = f"{field}.resourceFieldRef"
        found += validate_container_resource_field_selector(file.resource_field_ref, place, volume=True)
    else:
        found.append(required(field, "one of fieldRef and resourceFieldRef is required"))
    return found + _mode(file.mode, f"{field}.mode")


def validate_projected_volume_source(source: types.ProjectedVolumeSource, field: str) -> Errors:
    """Source: validateProjectedVolumeSource, validateProjectionSources."""
    found = _mode(source.default_mode, f"{field}.defaultMode")
    paths: set[str] = set()

    def once(path: str, owner: str) -> Errors:
        if path in paths:
            return [invalid(field, owner, "conflicting duplicate paths")]
        paths.add(path)
        return []

    for i, one in enumerate(source.sources):
        place = f"{field}.sources[{i}]"
        for name, files in (("secret", one.secret), ("configMap", one.config_map)):
            if files is None:
                continue
            if not files.name:
                found.append(required(f"{place}.{name}.name"))
            for j, item in enumerate(files.items):
                found += _key_to_path(item, f"{place}.{name}.items[{j}]")
                found += once(item.path, files.name) if item.path else []
        if one.downward_api is not None:
            for file in one.downward_api.items:
                found += _downward_api_file(file, f"{place}.downwardAPI")
                found += once(file.path, file.path) if file.path else []
        if one.service_account_token is not None:
            found += _token(one.service_account_token, f"{place}.serviceAccountToken", field)
        if one.cluster_trust_bundle is not None:
            found += _trust_bundle(one.cluster_trust_bundle, f"{place}.clusterTrustBundle")
            found += once(one.cluster_trust_bundle.path, one.cluster_trust_bundle.path)
        read = one.secret, one.config_map, one.downward_api
        made = one.service_account_token, one.cluster_trust_bundle, one.pod_certificate
        if sum(kind is not None for kind in (*read, *made)) > 1:
            found.append(forbidden(place, "may not specify more than 1 volume type per source"))
    return found


def _token(token: types.ServiceAccountTokenProjection, field: str, volume: str) -> Errors:
    found: Errors = []
    seconds = token.expiration_seconds or 0
    if seconds < 600:
        found.append(invalid(f"{field}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        found.append(invalid(f"{field}.expirationSeconds", seconds, detail))
    if not token.path:
        return [*found, required(f"{volume}.path")]
    return found + validate_local_non_reserved_path(token.path, f"{volume}.path")


def _trust_bundle(bundle: types.ClusterTrustBundleProjection, field: str) -> Errors:
    found: Errors = []
    if bundle.name is not None and bundle.signer_name is not None:
        found.append(invalid(field, bundle, "only one of name and signerName may be used"))
    elif bundle.name is not None:
        if not bundle.name:
            found.append(required(f"{field}.name", "must be a valid object name"))
        if bundle.label_selector is not None:
            detail = "labelSelector must be unset if name is specified"
            found.append(invalid(f"{field}.labelSelector", bundle.label_selector, detail))
    elif bundle.signer_name is None:
        found.append(required(field, "either name or signerName must be specified"))
    elif not bundle.signer_name:
        found.append(required(f"{field}.signerName", "must be a valid signer name"))
    if not bundle.path:
        found.append(required(f"{field}.path"))
    return found + validate_local_non_reserved_path(bundle.path, f"{field}.path")

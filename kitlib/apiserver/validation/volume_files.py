"""Validation of file volumes: ConfigMaps, Secrets, downward API, service account tokens, certificates.

Source: pkg/apis/core/validation validateSecretVolumeSource, validateConfigMapVolumeSource,
validateDownwardAPIVolumeSource, validateProjectedVolumeSource.
"""

from __future__ import annotations

from kitlib.api import volume_files as types
from kitlib.api.field_errors import (
    Errors,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kitlib.apiserver.validation.env import (
    VOLUME_FIELDS,
    validate_container_resource_field_selector,
    validate_object_field_selector,
)
from kitlib.apiserver.validation.object_meta import validate_label_selector
from kitlib.apiserver.validation.paths import (
    validate_local_non_reserved_path,
)
from kitlib.apiserver.validation.signer_names import (
    is_kubernetes_signer_name,
    validate_cluster_trust_bundle_name,
    validate_signer_name,
    validate_user_annotations,
)

MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"
KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
MIN_SECONDS, MAX_SECONDS = 3600, 91 * 86400
"""The range of a pod certificate's maxExpirationSeconds: an hour to 91 days."""
KUBERNETES_MAX_SECONDS = 86400
"""The maximum of maxExpirationSeconds for Kubernetes' own signers: a day."""


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

    for i, volume_projection in enumerate(source.sources):
        place = f"{field}.sources[{i}]"
        for name, files in (("secret", volume_projection.secret), ("configMap", volume_projection.config_map)):
            if files is None:
                continue
            if not files.name:
                found.append(required(f"{place}.{name}.name"))
            for j, item in enumerate(files.items):
                found += _key_to_path(item, f"{place}.{name}.items[{j}]")
                found += once(item.path, files.name) if item.path else []
        if volume_projection.downward_api is not None:
            for file in volume_projection.downward_api.items:
                found += _downward_api_file(file, f"{place}.downwardAPI")
                found += once(file.path, file.path) if file.path else []
        if volume_projection.service_account_token is not None:
            found += _token(volume_projection.service_account_token, f"{place}.serviceAccountToken", field)
        if volume_projection.cluster_trust_bundle is not None:
            found += _trust_bundle(volume_projection.cluster_trust_bundle, f"{place}.clusterTrustBundle")
            found += once(volume_projection.cluster_trust_bundle.path, volume_projection.cluster_trust_bundle.path)
        if volume_projection.pod_certificate is not None:
            place_of, made = f"{place}.podCertificate", volume_projection.pod_certificate
            found += _pod_certificate(made, place_of)
            for name, path in _certificate_paths(made):
                found += validate_local_non_reserved_path(path, f"{place_of}.{name}") + once(path, path)
            if not _certificate_paths(made):
                detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
                found.append(required(place_of, detail))
        kinds = (
            volume_projection.secret,
            volume_projection.config_map,
            volume_projection.downward_api,
            volume_projection.service_account_token,
            volume_projection.cluster_trust_bundle,
            volume_projection.pod_certificate,
        )
        if sum(kind is not None for kind in kinds) > 1:
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


def _pod_certificate(certificate: types.PodCertificateProjection, field: str) -> Errors:
    """Check a pod certificate except for its paths. Source: validateProjectionSources."""
    found = validate_signer_name(certificate.signer_name, f"{field}.signerName")
    found += validate_user_annotations(certificate.user_annotations, f"{field}.userAnnotations")
    if certificate.key_type not in KEY_TYPES:
        found.append(not_supported(f"{field}.keyType", certificate.key_type, KEY_TYPES))
    seconds, place = certificate.max_expiration_seconds, f"{field}.maxExpirationSeconds"
    if seconds is None:
        return found
    most = KUBERNETES_MAX_SECONDS if is_kubernetes_signer_name(certificate.signer_name) else MAX_SECONDS
    if seconds < MIN_SECONDS:
        found.append(invalid(place, seconds, f"if provided, maxExpirationSeconds must be >= {MIN_SECONDS}"))
    if seconds > most:
        found.append(invalid(place, seconds, f"if provided, maxExpirationSeconds must be <= {most}"))
    return found


def _certificate_paths(certificate: types.PodCertificateProjection) -> list[tuple[str, str]]:
    named = (
        ("credentialBundlePath", certificate.credential_bundle_path),
        ("keyPath", certificate.key_path),
        ("certificateChainPath", certificate.certificate_chain_path),
    )
    return [(name, path) for name, path in named if path]


def _trust_bundle(bundle: types.ClusterTrustBundleProjection, field: str) -> Errors:
    found: Errors = []
    if bundle.name is not None and bundle.signer_name is not None:
        found.append(invalid(field, bundle, "only one of name and signerName may be used"))
    elif bundle.name is not None:
        if not bundle.name:
            found.append(required(f"{field}.name", "must be a valid object name"))
        wrong = validate_cluster_trust_bundle_name(bundle.name)
        found += each(f"{field}.name", bundle.name, (f"not a valid clustertrustbundlename: {text}" for text in wrong))
        if bundle.label_selector is not None:
            detail = "labelSelector must be unset if name is specified"
            found.append(invalid(f"{field}.labelSelector", bundle.label_selector, detail))
    elif bundle.signer_name is None:
        found.append(required(field, "either name or signerName must be specified"))
    else:
        if not bundle.signer_name:
            found.append(required(f"{field}.signerName", "must be a valid signer name"))
        found += validate_signer_name(bundle.signer_name, f"{field}.signerName")
        found += validate_label_selector(bundle.label_selector, f"{field}.labelSelector")
    if not bundle.path:
        found.append(required(f"{field}.path"))
    return found + validate_local_non_reserved_path(bundle.path, f"{field}.path")

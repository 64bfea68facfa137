"""core/v1 volumes with files from the API server: ConfigMaps, Secrets, the pod's own fields, tokens.

Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.container import ObjectFieldSelector, ResourceFieldSelector
from kitlib.api.meta import KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, Int64


class KeyToPath(KubeStruct):
    key: str = ""
    path: str = ""
    mode: Int32 | None = None


class SecretVolumeSource(KubeStruct):
    secret_name: str = ""
    items: list[KeyToPath] = []
    default_mode: Int32 | None = None
    optional: bool | None = None


class DownwardAPIVolumeFile(KubeStruct):
    path: str = ""
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    mode: Int32 | None = None


class DownwardAPIVolumeSource(KubeStruct):
    items: list[DownwardAPIVolumeFile] = []
    default_mode: Int32 | None = None


class ConfigMapVolumeSource(KubeStruct):
    name: str = ""
    items: list[KeyToPath] = []
    default_mode: Int32 | None = None
    optional: bool | None = None


class SecretProjection(KubeStruct):
    name: str = ""
    items: list[KeyToPath] = []
    optional: bool | None = None


class ConfigMapProjection(KubeStruct):
    name: str = ""
    items: list[KeyToPath] = []
    optional: bool | None = None


class DownwardAPIProjection(KubeStruct):
    items: list[DownwardAPIVolumeFile] = []


class ServiceAccountTokenProjection(KubeStruct):
    audience: str = ""
    expiration_seconds: Int64 | None = None
    path: str = ""


class ClusterTrustBundleProjection(KubeStruct):
    name: str | None = None
    signer_name: str | None = None
    label_selector: LabelSelector | None = None
    optional: bool | None = None
    path: str = ""


class PodCertificateProjection(KubeStruct):
    signer_name: str = ""
    key_type: str = ""
    max_expiration_seconds: Int32 | None = None
    credential_bundle_path: str = ""
    key_path: str = ""
    certificate_chain_path: str = ""
    user_annotations: dict[str, str] = {}


class VolumeProjection(KubeStruct):
    secret: SecretProjection | None = None
    downward_api: DownwardAPIProjection | None = msgspec.field(name="downwardAPI", default=None)
    config_map: ConfigMapProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    pod_certificate: PodCertificateProjection | None = None


class ProjectedVolumeSource(KubeStruct):
    sources: list[VolumeProjection] = []
    default_mode: Int32 | None = None

"""certificates.k8s.io/v1 CertificateSigningRequest and apiregistration.k8s.io/v1 APIService; both are only stored.

Source: k8s.io/api/certificates/v1/types.go, k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct
from kitlib.api.numbers import Int32


class CertificateSigningRequestSpec(KubeStruct):
    request: bytes = b""
    signer_name: str = ""
    expiration_seconds: Int32 | None = None
    usages: list[str] = []
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class CertificateSigningRequestCondition(Condition):
    last_update_time: datetime | None = None


class CertificateSigningRequestStatus(KubeStruct):
    conditions: list[CertificateSigningRequestCondition] = []
    certificate: bytes = b""


class CertificateSigningRequest(KubeObject):
    api_version: str = "certificates.k8s.io/v1"
    kind: str = "CertificateSigningRequest"
    spec: CertificateSigningRequestSpec = msgspec.field(default_factory=CertificateSigningRequestSpec)
    status: CertificateSigningRequestStatus = msgspec.field(default_factory=CertificateSigningRequestStatus)


class APIServiceReference(KubeStruct):
    """Upstream: apiregistration ServiceReference."""

    namespace: str = ""
    name: str = ""
    port: Int32 | None = None


class APIServiceSpec(KubeStruct):
    service: APIServiceReference | None = None
    group: str = ""
    version: str = ""
    insecure_skip_tls_verify: bool = msgspec.field(name="insecureSkipTLSVerify", default=False)
    ca_bundle: bytes = b""
    group_priority_minimum: Int32 = 0
    version_priority: Int32 = 0


class APIServiceStatus(KubeStruct):
    conditions: list[Condition] = []


class APIService(KubeObject):
    api_version: str = "apiregistration.k8s.io/v1"
    kind: str = "APIService"
    spec: APIServiceSpec = msgspec.field(default_factory=APIServiceSpec)
    status: APIServiceStatus = msgspec.field(default_factory=APIServiceStatus)

"""CertificateSigningRequests and APIServices."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kitlib.api.certificates import APIService, CertificateSigningRequest
from kitlib.api.names import LABEL_1035_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import certificates
from tests.apiserver.validation.told import named, told

USAGES = ["client auth", "digital signature"]


def pem(kind: str = "CERTIFICATE REQUEST") -> str:
    return base64.b64encode(f"-----BEGIN {kind}-----\nx\n-----END {kind}-----\n".encode()).decode()


def request(name: str = "a", **spec: Any) -> CertificateSigningRequest:
    whole = {"request": pem(), "usages": USAGES, "signerName": "a.b/c", **spec}
    return named(CertificateSigningRequest, name, spec=whole)


LEGACY = "kubernetes.io/legacy-unknown"
NO_LEGACY = "spec.signerName Invalid the legacy signerName is not allowed via this API version"


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (request(), []),
        (request("A b/c"), []),
        (request(request=pem("CERTIFICATE")), ["spec.request Invalid PEM block type must be CERTIFICATE REQUEST"]),
        (request(request=""), ["spec.request Invalid PEM block type must be CERTIFICATE REQUEST"]),
        (request(usages=[]), ["spec.usages Required"]),
        (request(usages=["any", "client auth", "any"]), ["spec.usages[2] Duplicate"]),
        (request(signerName=""), ["spec.signerName Required"]),
        (request(signerName=LEGACY), [NO_LEGACY]),
        (request(expirationSeconds=600), []),
        (
            request(expirationSeconds=599),
            ["spec.expirationSeconds Invalid may not specify a duration less than 600 seconds (10 minutes)"],
        ),
    ],
)
def test_a_request(obj: CertificateSigningRequest, errors: list[str]) -> None:
    """Source: validateCertificateSigningRequest."""
    assert told(certificates.validate_certificate_signing_request(obj)) == errors
    old = request(obj.metadata.name)
    assert told(certificates.validate_certificate_signing_request_update(obj, old)) == errors


def test_a_usage_is_one_of_kubernetes() -> None:
    assert len(certificates.USAGES) == 23
    (error,) = certificates.validate_certificate_signing_request(request(usages=["any", "x"]))
    assert (error.field, error.value) == ("spec.usages[1]", "x")
    assert error.detail.startswith('supported values: "any", "cert sign", "client auth", "code signing"')


def test_a_stored_legacy_signer_stays() -> None:
    old = request(signerName=LEGACY)
    found = certificates.validate_certificate_signing_request_update(old, old)
    assert told(found) == []


def service(name: str = "v1.a.b", **spec: Any) -> APIService:
    whole = {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, **spec}
    return named(APIService, name, spec=whole)


REMOTE = {"namespace": "n", "name": "s"}


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (service(), []),
        (service(groupPriorityMinimum=20000, versionPriority=1000), []),
        (
            service(groupPriorityMinimum=20001, versionPriority=1001),
            [
                "spec.groupPriorityMinimum Invalid must be positive and less than 20000",
                "spec.versionPriority Invalid must be positive and less than 1000",
            ],
        ),
        (service(versionPriority=0), ["spec.versionPriority Invalid must be positive and less than 1000"]),
        (service("v2.a.b"), ['metadata.name Invalid must be `spec.version+"."+spec.group`: "v1.a.b"']),
        (service("v1.", group=""), []),
        (
            service("v2.", group="", version="v2"),
            ["spec.group Required only v1 may have an empty group and it better be legacy kube"],
        ),
        (service("v1.A", group="A"), [f"spec.group Invalid {SUBDOMAIN_TEXT}"]),
        (service("1.a.b", version="1"), [f"spec.version Invalid {LABEL_1035_TEXT}"]),
        (
            service(caBundle="eA==", insecureSkipTLSVerify=True),
            [
                "spec.caBundle Invalid local APIServices may not have a caBundle",
                "spec.insecureSkipTLSVerify Invalid local APIServices may not have insecureSkipTLSVerify",
            ],
        ),
        (service(service=REMOTE, caBundle="eA=="), []),
        (service(service=REMOTE, insecureSkipTLSVerify=True), []),
        (service(service={}), ["spec.service.namespace Required", "spec.service.name Required"]),
        (
            service(service=REMOTE, caBundle="eA==", insecureSkipTLSVerify=True),
            ["spec.insecureSkipTLSVerify Invalid may not be true if caBundle is present"],
        ),
    ],
)
def test_an_api_service(obj: APIService, errors: list[str]) -> None:
    """Source: ValidateAPIService."""
    assert told(certificates.validate_api_service(obj)) == errors
    assert told(certificates.validate_api_service_update(obj, obj)) == errors

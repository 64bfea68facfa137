"""Validation of CertificateSigningRequests and APIServices.

Only the PEM block of a request is checked, not its signature.

Source: pkg/apis/certificates/validation; kube-aggregator apiregistration/validation.
"""

from __future__ import annotations

import base64
import re

from kitlib.api.certificates import APIService, CertificateSigningRequest
from kitlib.api.field_errors import Errors, duplicate, each, invalid, not_supported, required
from kitlib.api.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_path_segment_name,
)
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.signer_names import validate_signer_name

USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_PEM = re.compile(rb"-----BEGIN ([^\n]*)-----\r?\n")
_MIN_SECONDS = 600


def validate_certificate_signing_request(obj: CertificateSigningRequest) -> Errors:
    """Source: ValidateCertificateSigningRequestCreate, validateCertificateSigningRequest."""
    return validate_object_meta(obj.metadata, namespaced=False, name_rule=lambda _: ()) + _request(obj, None)


def validate_certificate_signing_request_update(
    new: CertificateSigningRequest, old: CertificateSigningRequest
) -> Errors:
    """Source: ValidateCertificateSigningRequestUpdate."""
    return _request(new, old) + validate_object_meta_update(new.metadata, old.metadata)


def _request(obj: CertificateSigningRequest, old: CertificateSigningRequest | None) -> Errors:
    spec = obj.spec
    found: Errors = []
    block = _PEM.search(spec.request)
    if block is None or block[1] != b"CERTIFICATE REQUEST":
        shown = base64.b64encode(spec.request).decode()
        found.append(invalid("spec.request", shown, "PEM block type must be CERTIFICATE REQUEST"))
    if not spec.usages:
        found.append(required("spec.usages"))
    for i, usage in enumerate(spec.usages):
        if usage not in USAGES:
            found.append(not_supported(f"spec.usages[{i}]", usage, USAGES))
    seen: set[str] = set()
    for i, usage in enumerate(spec.usages):
        if usage in seen:
            found.append(duplicate(f"spec.usages[{i}]", usage))
        seen.add(usage)
    place, name = "spec.signerName", spec.signer_name
    if name == LEGACY_SIGNER and (old is None or old.spec.signer_name != LEGACY_SIGNER):
        found.append(invalid(place, name, "the legacy signerName is not allowed via this API version"))
    else:
        found += validate_signer_name(name, place)
    seconds = spec.expiration_seconds
    if seconds is not None and seconds < _MIN_SECONDS:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(invalid("spec.expirationSeconds", seconds, detail))
    return found


def validate_api_service(obj: APIService) -> Errors:
    """Source: ValidateAPIService."""
    spec = obj.spec
    wanted = f"{spec.version}.{spec.group}"

    def name_rule(name: str) -> tuple[str, ...]:
        wrong = is_path_segment_name(name)
        if wrong or name == wanted:
            return wrong
        return (f'must be `spec.version+"."+spec.group`: "{wanted}"',)

    found = validate_object_meta(obj.metadata, namespaced=False, name_rule=name_rule, known_finalizers=False)
    if spec.group:
        found += each("spec.group", spec.group, is_dns1123_subdomain(spec.group))
    elif spec.version != "v1":
        found.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    found += each("spec.version", spec.version, is_dns1035_label(spec.version))
    for name, value, limit in (
        ("groupPriorityMinimum", spec.group_priority_minimum, 20000),
        ("versionPriority", spec.version_priority, 1000),
    ):
        if not 0 < value <= limit:
            found.append(invalid(f"spec.{name}", value, f"must be positive and less than {limit}"))
    insecure = "spec.insecureSkipTLSVerify"
    if spec.service is None:
        if spec.ca_bundle:
            size = f"{len(spec.ca_bundle)} bytes"
            found.append(invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
        if spec.insecure_skip_tls_verify:
            found.append(invalid(insecure, True, "local APIServices may not have insecureSkipTLSVerify"))
        return found
    for name, text in (("namespace", spec.service.namespace), ("name", spec.service.name)):
        found += [] if text else [required(f"spec.service.{name}")]
    if spec.insecure_skip_tls_verify and spec.ca_bundle:
        found.append(invalid(insecure, True, "may not be true if caBundle is present"))
    return found


def validate_api_service_update(new: APIService, old: APIService) -> Errors:
    """Source: ValidateAPIServiceUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False) + validate_api_service(new)


KINDS: Rules = {
    CertificateSigningRequest: (validate_certificate_signing_request, validate_certificate_signing_request_update),
    APIService: (validate_api_service, validate_api_service_update),
}

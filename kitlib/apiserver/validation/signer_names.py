"""Validation of names of signers and of their certificate bundles, and of pods' annotations for signers.

Source: pkg/apis/core/validation names.go, ValidateUserAnnotations.
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.field_errors import Errors, each, invalid, required, too_long_value
from kitlib.api.go_values import go_quote
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from kitlib.apiserver.validation.object_meta import MAX_ANNOTATIONS

MAX_DOMAIN = 253
MAX_SIGNER_NAME = MAX_DOMAIN + 1 + (253 + 63 + 1)
"""The maximum length of a signer's name: a domain, a slash, and a path of namespace, dot and name."""


def is_kubernetes_signer_name(name: str) -> bool:
    """Return whether a signer belongs to Kubernetes. Source: IsKubernetesSignerName."""
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def validate_signer_name(name: str, field: str) -> Errors:
    """Check `example.com/signer`; only the first invalid label of each half is reported. Source: ValidateSignerName."""
    if not name:
        return [required(field)]
    domain, slash, path = name.partition("/")
    if not slash or "/" in path:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(field, name, detail)]
    found = [too_long_value(field, MAX_DOMAIN)] if len(domain.encode()) > MAX_DOMAIN else []
    labels = domain.split(".")
    bad = next((label for label in labels if is_dns1123_label(label)), None)
    if bad is not None:
        found += each(field, domain, (f"validating label {go_quote(bad)}: {text}" for text in is_dns1123_label(bad)))
    if len(labels) < 2:
        found.append(invalid(field, domain, "should be a domain with at least two segments separated by dots"))
    bad = next((label for label in path.split(".") if is_dns1123_subdomain(label)), None)
    if bad is not None:
        found += each(field, path, (f"validating label {go_quote(bad)}: {text}" for text in is_dns1123_subdomain(bad)))
    if len(name.encode()) > MAX_SIGNER_NAME:
        found.append(too_long_value(field, MAX_SIGNER_NAME))
    return found


def validate_cluster_trust_bundle_name(name: str) -> tuple[str, ...]:
    """Return the errors of a bundle's name: `domain:path:name`, or a name without colons.

    The signer is read from the name itself, so that its prefix always matches.

    Source: extractSignerNameFromClusterTrustBundleName, ValidateClusterTrustBundleName.
    """
    before, colon, rest = name.rpartition(":")
    if not colon:
        return is_dns1123_subdomain(name)
    if not before:
        return ('ClusterTrustBundle without signer name must not have ":" in its name',)
    return is_dns1123_subdomain(rest)


def validate_user_annotations(values: Mapping[str, str], field: str) -> Errors:
    """Check that every key has a domain, and the total size.

    Source: ValidateUserAnnotations, validation.IsDomainPrefixedKey.
    """
    found: Errors = []
    for key in map(str.lower, values):
        wrong = is_qualified_name(key)
        if not key:
            found.append(required(field))
        elif wrong:
            found += each(field, key, wrong)
        elif "/" not in key:
            found.append(invalid(field, key, 'must be a domain-prefixed key (such as "acme.io/foo")'))
    if sum(len(key.encode()) + len(value.encode()) for key, value in values.items()) > MAX_ANNOTATIONS:
        found.append(too_long_value(field, MAX_ANNOTATIONS))
    return found

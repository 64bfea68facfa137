"""Validation of parts of CustomResourceDefinitions: printer columns, scale subresource, conversion, API approval.

Source: apiextensions-apiserver validation ValidateCustomResourceColumnDefinition,
ValidateCustomResourceDefinitionSubresources, validateCustomResourceConversion, validateAPIApproval;
api-helpers GetAPIApprovalState.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from kitlib.api.apiextensions import (
    CustomResourceColumnDefinition,
    CustomResourceConversion,
    CustomResourceDefinition,
    CustomResourceSubresources,
)
from kitlib.api.field_errors import Errors, forbidden, invalid, not_supported, required
from kitlib.api.names import is_dns1035_label
from kitlib.apiserver.validation.webhook_clients import validate_client_config

_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
_NOT_WEBHOOK = "should not be set when strategy is not set to Webhook"
_APPROVAL = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def validate_column(column: CustomResourceColumnDefinition, path: str) -> Errors:
    """Source: ValidateCustomResourceColumnDefinition."""
    found = [] if column.name else [required(f"{path}.name")]
    listed = f"must be one of {','.join(_TYPES)}"
    if not column.type:
        found.append(required(f"{path}.type", listed))
    elif column.type not in _TYPES:
        found.append(invalid(f"{path}.type", column.type, listed))
    if column.format and column.format not in _FORMATS:
        found.append(invalid(f"{path}.format", column.format, f"must be one of {','.join(_FORMATS)}"))
    if not column.json_path:
        return [*found, required(f"{path}.JSONPath")]
    return found + _json_path(column.json_path, f"{path}.JSONPath")


def validate_subresources(given: CustomResourceSubresources | None, path: str) -> Errors:
    """Source: ValidateCustomResourceDefinitionSubresources."""
    scale = given.scale if given is not None else None
    if scale is None:
        return []
    found: Errors = []
    for name, text, root in (
        ("specReplicasPath", scale.spec_replicas_path, "spec"),
        ("statusReplicasPath", scale.status_replicas_path, "status"),
    ):
        place = f"{path}.scale.{name}"
        wrong = _json_path(text, place) if text else [required(place)]
        if not wrong and not text.startswith(f".{root}."):
            wrong = [invalid(place, text, f"should be a json path under .{root}")]
        found += wrong
    selector, place = scale.label_selector_path, f"{path}.scale.labelSelectorPath"
    if selector:
        wrong = _json_path(selector, place)
        if not wrong and not selector.startswith((".spec.", ".status.")):
            wrong = [invalid(place, selector, "should be a json path under either .spec or .status")]
        found += wrong
    return found


def _json_path(text: str, path: str) -> Errors:
    """Source: validateSimpleJSONPath."""
    return [] if text.startswith(".") else [invalid(path, text, "must be a simple json path starting with .")]


def validate_conversion(conversion: CustomResourceConversion | None, path: str) -> Errors:
    """Source: validateCustomResourceConversion."""
    if conversion is None:
        return []
    found: Errors = []
    if not conversion.strategy:
        found.append(required(f"{path}.strategy"))
    elif conversion.strategy not in _STRATEGIES:
        found.append(not_supported(f"{path}.strategy", conversion.strategy, _STRATEGIES))
    client = conversion.webhook.client_config if conversion.webhook is not None else None
    reviews = conversion.webhook.conversion_review_versions if conversion.webhook is not None else []
    place = f"{path}.webhookClientConfig"
    if conversion.strategy == "Webhook":
        wanted = "required when strategy is set to Webhook"
        found += validate_client_config(client, place) if client is not None else [required(place, wanted)]
        return found + _reviews(reviews, f"{path}.conversionReviewVersions")
    if client is not None:
        found.append(forbidden(place, _NOT_WEBHOOK))
    if reviews:
        found.append(forbidden(f"{path}.conversionReviewVersions", _NOT_WEBHOOK))
    return found


def _reviews(versions: Sequence[str], path: str) -> Errors:
    """Source: validateConversionReviewVersions."""
    if not versions:
        return [required(path)]
    found: Errors = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            found.append(invalid(f"{path}[{i}]", version, "duplicate version"))
            continue
        wrong = is_dns1035_label(version)
        if wrong:
            found.append(invalid(f"{path}[{i}]", version, ",".join(wrong)))
    if not set(versions) & set(_REVIEWS):
        found.append(invalid(path, list(versions), f"must include at least one of {', '.join(_REVIEWS)}"))
    return found


def validate_api_approval(obj: CustomResourceDefinition) -> Errors:
    """Check that a protected group of Kubernetes has an approval.

    Source: validateAPIApproval, IsProtectedCommunityGroup.
    """
    group, approval = obj.spec.group, obj.metadata.annotations.get(_APPROVAL, "")
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")) or approval.startswith("unapproved"):
        return []
    place, detail = (
        f"metadata.annotations[{_APPROVAL}]",
        f'protected groups must have approval annotation "{_APPROVAL}"',
    )
    if not approval:
        return [required(place, f"{detail}, {_SEE}")]
    url = urlsplit(approval)
    if url.scheme and url.netloc:
        return []
    return [invalid(place, approval, f'{detail} with either a URL or a reason starting with "unapproved", {_SEE}')]

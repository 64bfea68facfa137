"""Validation of ConfigMaps, Secrets, ServiceAccounts and Namespaces.

Source: pkg/apis/core/validation ValidateConfigMap, ValidateSecret, ValidateServiceAccount, ValidateNamespace.
"""

from __future__ import annotations

import json

from kitlib.api.core import ConfigMap, Namespace, Secret, ServiceAccount
from kitlib.api.field_errors import (
    Errors,
    each,
    forbidden,
    invalid,
    required,
    too_long_value,
    validate_immutable_field,
)
from kitlib.api.names import is_config_map_key, is_qualified_name
from kitlib.apiserver.validation.object_meta import (
    STANDARD_FINALIZERS,
    name_is_dns_label,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.rules import Rules

MAX_SIZE = 1024 * 1024
SERVICE_ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
_IMMUTABLE = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_DOCKER = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate_config_map(obj: ConfigMap) -> Errors:
    """Source: ValidateConfigMap."""
    found = validate_object_meta(obj.metadata, namespaced=True)
    for key in obj.data:
        found += each(f"data[{key}]", key, is_config_map_key(key))
        if key in obj.binary_data:
            found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in obj.binary_data:
        found += each(f"binaryData[{key}]", key, is_config_map_key(key))
    size = sum(len(text.encode()) for text in obj.data.values()) + sum(map(len, obj.binary_data.values()))
    return [*found, too_long_value("[]", MAX_SIZE)] if size > MAX_SIZE else found


def validate_config_map_update(new: ConfigMap, old: ConfigMap) -> Errors:
    """Source: ValidateConfigMapUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    if old.immutable:
        if not new.immutable:
            found.append(forbidden("immutable", _IMMUTABLE))
        if new.data != old.data:
            found.append(forbidden("data", _IMMUTABLE))
        if new.binary_data != old.binary_data:
            found.append(forbidden("binaryData", _IMMUTABLE))
    return found + validate_config_map(new)


def validate_secret(obj: Secret) -> Errors:
    """Source: ValidateSecret."""
    found = validate_object_meta(obj.metadata, namespaced=True)
    for key in obj.data:
        found += each(f"data[{key}]", key, is_config_map_key(key))
    if sum(map(len, obj.data.values())) > MAX_SIZE:
        found.append(too_long_value("data", MAX_SIZE))
    return found + _by_type(obj)


def _by_type(obj: Secret) -> Errors:
    """Check the keys that a Secret's type requires."""

    def needs(*keys: str) -> Errors:
        return [required(f"data[{key}]") for key in keys]

    if obj.type == "kubernetes.io/service-account-token":
        if obj.metadata.annotations.get(SERVICE_ACCOUNT_ANNOTATION):
            return []
        return [required(f"metadata.annotations[{SERVICE_ACCOUNT_ANNOTATION}]")]
    if obj.type in _DOCKER:
        key = _DOCKER[obj.type]
        if key not in obj.data:
            return needs(key)
        problem = _json_problem(obj.data[key])
        return [invalid(f"data[{key}]", _REDACTED, problem)] if problem else []
    if obj.type == "kubernetes.io/basic-auth":
        return needs("username", "password") if not obj.data.keys() & {"username", "password"} else []
    if obj.type == "kubernetes.io/ssh-auth":
        return [] if obj.data.get("ssh-privatekey") else needs("ssh-privatekey")
    if obj.type == "kubernetes.io/tls":
        return needs(*(key for key in ("tls.crt", "tls.key") if key not in obj.data))
    return []


def _json_problem(content: bytes) -> str:
    """Return the error message of Go's encoding/json for a text that is not a JSON object; "" if it is one."""
    from kitlib.api.go_json import syntax_error

    problem = syntax_error(content)
    if problem:
        return problem
    value = json.loads(content.decode(errors="replace"))
    if value is None or isinstance(value, dict):
        return ""
    kind = {str: "string", list: "array", bool: "bool"}.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def validate_secret_update(new: Secret, old: Secret) -> Errors:
    """Source: ValidateSecretUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    found += validate_immutable_field(new.type, old.type, "type")
    if old.immutable:
        if not new.immutable:
            found.append(forbidden("immutable", _IMMUTABLE))
        if new.data != old.data:
            found.append(forbidden("data", _IMMUTABLE))
    return found + validate_secret(new)


def validate_service_account(obj: ServiceAccount) -> Errors:
    """Source: ValidateServiceAccount."""
    return validate_object_meta(obj.metadata, namespaced=True)


def validate_service_account_update(new: ServiceAccount, old: ServiceAccount) -> Errors:
    """Source: ValidateServiceAccountUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + validate_service_account(new)


def validate_namespace(obj: Namespace) -> Errors:
    """Source: ValidateNamespace, validateFinalizerName."""
    found = validate_object_meta(obj.metadata, namespaced=False, name_rule=name_is_dns_label)
    for name in obj.spec.finalizers:
        found += each("spec.finalizers", name, is_qualified_name(name))
        if "/" not in name and name not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(invalid("spec.finalizers", name, detail))
    return found


def validate_namespace_update(new: Namespace, old: Namespace) -> Errors:
    """Source: ValidateNamespaceUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata)


KINDS: Rules = {
    ConfigMap: (validate_config_map, validate_config_map_update),
    Secret: (validate_secret, validate_secret_update),
    ServiceAccount: (validate_service_account, validate_service_account_update),
    Namespace: (validate_namespace, validate_namespace_update),
}

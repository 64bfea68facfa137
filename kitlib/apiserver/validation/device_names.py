"""Validation of names and lists that devices, pools and conditions have in common.

Source: pkg/apis/resource/validation validatePoolName, validateQualifiedName, validateCIdentifier,
validateDeviceBindingParameters, validateSet, validateSlice, validateMap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kitlib.api.field_errors import (
    Errors,
    duplicate,
    each,
    invalid,
    required,
    too_long_value,
    too_many,
)
from kitlib.api.names import (
    is_c_identifier,
    is_dns1123_label,
    is_dns1123_subdomain,
)
from kitlib.apiserver.validation.object_meta import validate_label_name
from kitlib.apiserver.validation.volume_sources import validate_csi_driver_name

MAX_POOL_NAME, MAX_ID, MAX_KEY, MAX_BINDING_CONDITIONS = 253, 32, 63 + 1 + 32, 4
_NO_DOMAIN = "a fully qualified name must be a domain and a name separated by a slash"
T = TypeVar("T")
Rule = Callable[[Any, str], Errors]

validate_driver_name = validate_csi_driver_name
"""DRA drivers follow the same naming rule as CSI drivers."""


def validate_device_name(name: str, path: str) -> Errors:
    """Check that the name of a device, request or counter is a DNS label. Source: ValidateDNS1123Label."""
    return each(path, name, is_dns1123_label(name))


def validate_pool_name(name: str, path: str) -> Errors:
    """Check that a name consists of DNS subdomains separated by slashes. Source: validatePoolName."""
    if not name:
        return [required(path)]
    found = [too_long_value(path, MAX_POOL_NAME)] if len(name) > MAX_POOL_NAME else []
    for part in name.split("/"):
        found += each(path, part, is_dns1123_subdomain(part))
    return found


def validate_qualified_name(name: str, path: str) -> Errors:
    """Check that a name is `name` or `domain/name`. Source: validateQualifiedName."""
    domain, *names = name.split("/")
    if not names:
        return _c_identifier(domain, path)
    if len(names) > 1:
        return [invalid(path, name, "must not contain more than one slash")]
    found = validate_driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return found + (_c_identifier(names[0], path) if names[0] else [invalid(path, "", "the name must not be empty")])


def validate_fully_qualified_name(name: str, path: str) -> Errors:
    """Source: validateFullyQualifiedName."""
    found = validate_qualified_name(name, path)
    return found if "/" in name else [*found, invalid(path, name, _NO_DOMAIN)]


def _c_identifier(name: str, path: str) -> Errors:
    found = [too_long_value(path, MAX_ID)] if len(name) > MAX_ID else []
    return found + each(path, name, is_c_identifier(name))


def validate_slice(values: Sequence[T], most: int, rule: Callable[[T, str], Errors], path: str) -> Errors:
    """Check a list's length and entries; the entries of a list that is too long are not checked."""
    if len(values) > most:
        return [too_many(path, len(values), most)]
    return [error for i, value in enumerate(values) for error in rule(value, f"{path}[{i}]")]


def validate_set(
    values: Sequence[T], most: int, rule: Callable[[T, str], Errors], key: Callable[[T], Any], path: str
) -> Errors:
    """Check a list as `validate_slice` does, and that its entries are unique."""
    found = validate_slice(values, most, rule, path)
    if len(values) > most:
        return found
    seen: set[Any] = set()
    for i, value in enumerate(values):
        if key(value) in seen:
            found.append(duplicate(f"{path}[{i}]", key(value)))
        seen.add(key(value))
    return found


def validate_map(values: Mapping[str, T], most: int | None, names: Rule, rule: Callable[[T, str], Errors],
                 path: str, longest: int = MAX_KEY) -> Errors:  # fmt: skip
    """Check the size, keys and values of a map; `most` None = any size."""
    if most is not None and len(values) > most:
        return [too_many(path, len(values), most)]
    found: Errors = []
    for name, value in values.items():
        found += names(name, path) + rule(value, f"{path}[{_truncated(name, longest)}]")
    return found


def _truncated(text: str, most: int) -> str:
    """Source: truncateIfTooLong."""
    if len(text) <= most:
        return text
    left = most - len("...")
    return f"{text[: (left + 1) // 2]}...{text[len(text) - left // 2 :]}"


def validate_binding_conditions(wanted: Sequence[str], failed: Sequence[str], path: str) -> Errors:
    """Check that success and failure conditions are set together and are disjoint.

    Source: validateDeviceBindingParameters.
    """
    found: Errors = []
    names = {"bindingConditions": wanted, "bindingFailureConditions": failed}
    for name, values in names.items():
        found += validate_slice(values, MAX_BINDING_CONDITIONS, validate_label_name, f"{path}.{name}")
    for name, values in names.items():
        for i, value in enumerate(values):
            place = f"{path}.{name}[{i}]"
            if value in values[:i]:
                found.append(duplicate(place, value))
            if values is failed and value in wanted:
                found.append(invalid(place, value, "bindingFailureConditions must not overlap with bindingConditions"))
    if failed and not wanted:
        detail = "bindingConditions are required to use bindingFailureConditions"
        found.append(invalid(f"{path}.bindingConditions", None, detail))
    if wanted and not failed:
        detail = "bindingFailureConditions are required to use bindingConditions"
        found.append(invalid(f"{path}.bindingFailureConditions", None, detail))
    return found

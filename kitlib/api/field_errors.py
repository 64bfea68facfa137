"""Field errors as Kubernetes prints them, and checks that many fields share.

Sources: apimachinery util/validation/field (errors.go), api/validation (ValidateNonnegativeField,
ValidateImmutableField).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal

import msgspec

from kitlib.api.go_values import go_quote
from kitlib.api.meta import KubeStruct, LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain, is_valid_percent
from kitlib.api.resource import Quantity

ErrorType = Literal[
    "FieldValueInvalid",
    "FieldValueRequired",
    "FieldValueNotSupported",
    "FieldValueForbidden",
    "FieldValueDuplicate",
    "FieldValueNotFound",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
    "InternalError",
]

_WORDS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueNotFound": "Not found",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE = ("FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError")

OMITTED = object()
"""A placeholder for a value that the message omits. Source: field.OmitValueType."""
NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
IMMUTABLE = "field is immutable"


@dataclass(frozen=True)
class FieldError:
    """One problem of one field.

    Attributes:
        type: the name of the error type, `FieldValueInvalid`.
        field: the field's path, `spec.containers[0].name`.
        value: the value of the field.
        detail: the rule that the value breaks.

    Source: field.Error.
    """

    type: ErrorType
    field: str
    value: Any = ""
    detail: str = ""

    @property
    def body(self) -> str:
        """The message without the path, as in the causes of a Status. Source: field.Error.ErrorBody."""
        text = _WORDS[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            text += f": {shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


Errors = list[FieldError]

_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_WITH_JSON_NAMES = (LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference)
_INITIALISMS = {
    name.lower(): name
    for name in [
        "API",
        "AWS",
        "CIDR",
        "CIDRs",
        "CSI",
        "DNS",
        "FC",
        "FQDN",
        "FS",
        "GCE",
        "GMSA",
        "GRPC",
        "HTTP",
        "ID",
        "IP",
        "IPC",
        "IPs",
        "NFS",
        "OS",
        "PD",
        "PID",
        "RBD",
        "TCP",
        "TLS",
        "TTY",
        "UID",
        "URL",
        "URLs",
    ]
}


class GoStruct(dict[str, Any]):
    """The fields, in Go's order, of a Go struct that the kit represents by another type."""


def shown(value: Any) -> str:
    """Return a value as messages show it: strings and quantities in quotes, everything else as Go's JSON."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, Quantity):
        return f'"{value}"'
    return _escaped(json.dumps(_go(value), ensure_ascii=False, separators=(",", ":"), default=str))


def _escaped(text: str) -> str:
    """Escape HTML characters as Go's JSON encoder does."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def diff(old: Any, new: Any) -> str:
    """Return the changed lines of Go's indented JSON with three lines around each change.

    Source: apimachinery util/diff.Diff, which is go-difflib, a port of Python's difflib.
    """
    from difflib import unified_diff

    def lines(value: Any) -> list[str]:
        text = json.dumps(_go(value), ensure_ascii=False, indent=1, default=str)
        return [f"{line}\n" for line in _escaped(text).split("\n")]

    return "".join(list(unified_diff(lines(old), lines(new)))[2:])


def _go(value: Any) -> Any:
    """Return the value as the server's internal types hold it: Go's field names, every field, null for unset ones."""
    if isinstance(value, _WITH_JSON_NAMES):
        from kitlib.api.serialize import to_dict

        return to_dict(value)
    if isinstance(value, KubeStruct):
        return {name: _go_field(getattr(value, attribute), empty) for name, attribute, empty in _go_fields(type(value))}
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, GoStruct):
        return {name: _go(field) for name, field in value.items()}
    if isinstance(value, Mapping):
        return {key: _go(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_go(item) for item in value]
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def _go_field(value: Any, empty: bool) -> Any:
    """Return the value of a field; None, Go's nil, for a list or map without entries."""
    return None if empty and not value else _go(value)


@cache
def _go_fields(type_: type[KubeStruct]) -> list[tuple[str, str, bool]]:
    """Return, for each field, Go's name, the attribute's name, and whether it is a list or map."""
    found = []
    for field in msgspec.structs.fields(type_):
        made = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        found.append((_go_name(field.name), field.name, isinstance(made, list | dict)))
    return found


def _go_name(attribute: str) -> str:
    words = attribute.rstrip("_").split("_")
    name = "".join(_INITIALISMS.get(word, word.capitalize()) for word in words)
    return name.replace("SeLinux", "SELinux")


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return the error `field: Invalid value: "x": detail`."""
    return FieldError("FieldValueInvalid", field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    """Return the error `field: Required value: detail`."""
    return FieldError("FieldValueRequired", field, "", detail)


def forbidden(field: str, detail: str) -> FieldError:
    """Return the error `field: Forbidden: detail`."""
    return FieldError("FieldValueForbidden", field, "", detail)


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    """Return the error `field: Duplicate value: "x"`."""
    return FieldError("FieldValueDuplicate", field, value, detail)


def not_found(field: str, value: Any, detail: str = "") -> FieldError:
    """Return the error `field: Not found: "x"`."""
    return FieldError("FieldValueNotFound", field, value, detail)


def too_long_value(field: str, limit: int) -> FieldError:
    """Return the error `field: Too long: may not be more than 63 bytes`."""
    return FieldError("FieldValueTooLong", field, "", f"may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> FieldError:
    """Return the error `field: Too many: 101: must have at most 100 items`."""
    return FieldError("FieldValueTooMany", field, count, f"must have at most {limit} items")


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Return the error `field: Unsupported value: "x": supported values: "a", "b"`."""
    listed = ", ".join(f'"{one}"' for one in supported)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {listed}")


def each(field: str, value: Any, problems: Iterable[str]) -> Errors:
    """Return one "Invalid value" per problem."""
    return [invalid(field, value, problem) for problem in problems]


def validate_domain_prefixed_path(path: str, field: str) -> Errors:
    """Check a path such as `acme.io/foo`; an error names the wrong half. Source: validation.IsDomainPrefixedPath."""
    if not path:
        return [required(field)]
    host, _, rest = path.partition("/")
    if not host or not rest:
        return [invalid(field, path, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = each(field, host, is_dns1123_subdomain(host))
    if not _HTTP_PATH.fullmatch(rest):
        found.append(invalid(field, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH.pattern}')"))
    return found


def validate_fully_qualified_domain_name(name: str, field: str) -> Errors:
    """Source: validation.IsFullyQualifiedDomainName."""
    if not name:
        return [required(field)]
    name = name.removesuffix(".")
    wrong = is_dns1123_subdomain(name)
    if wrong:
        return [invalid(field, name, ",".join(wrong))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid(field, name, "should be a domain with at least two segments separated by dots")]
    bad = next((label for label in labels if is_dns1123_label(label)), None)
    return [] if bad is None else [invalid(field, bad, ",".join(is_dns1123_label(bad)))]


def lone_wildcard(field: str, values: Sequence[str], others: str) -> Errors:
    """Check that `*` is the only value if it is present. Source: validation of webhooks' rules and of flow schemas."""
    if len(values) > 1 and "*" in values:
        return [invalid(field, values, f"if '*' is present, must not specify other {others}")]
    return []


def validate_nonnegative_field(value: int | None, field: str) -> Errors:
    """Source: ValidateNonnegativeField."""
    return [invalid(field, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def validate_immutable_field(new: Any, old: Any, field: str) -> Errors:
    """Source: ValidateImmutableField."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def validate_enum(value: str, field: str, supported: Iterable[str]) -> Errors:
    """Check a required value of an enumeration."""
    if not value:
        return [required(field)]
    listed = tuple(supported)
    return [] if value in listed else [not_supported(field, value, listed)]


def validate_positive_int_or_percent(value: int | str, field: str) -> Errors:
    """Source: appsvalidation.ValidatePositiveIntOrPercent."""
    if isinstance(value, str):
        return each(field, value, is_valid_percent(value))
    return validate_nonnegative_field(value, field)


def is_not_more_than_100_percent(value: int | str, field: str) -> Errors:
    """Source: appsvalidation.IsNotMoreThan100Percent."""
    if isinstance(value, str) and not is_valid_percent(value) and int(value[:-1]) > 100:
        return [invalid(field, value, "must not be greater than 100%")]
    return []

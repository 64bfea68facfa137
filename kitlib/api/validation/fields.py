"""Field errors as Kubernetes prints them, and what names and labels may look like.

Sources: apimachinery util/validation/field (errors.go), util/validation (validation.go), apis/meta/v1/validation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kitlib.api.meta import KubeStruct, LabelSelector
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
}
_WITHOUT_VALUE = ("FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong")


@dataclass(frozen=True)
class FieldError:
    """One thing that is wrong with one field.

    Attributes:
        type: `FieldValueInvalid` and so on.
        field: its path, `spec.containers[0].name`.
        value: what stands there.
        detail: the rule.

    Source: field.Error.
    """

    type: ErrorType
    field: str
    value: Any = ""
    detail: str = ""

    def __str__(self) -> str:
        text = f"{self.field}: {_WORDS[self.type]}"
        if self.type not in _WITHOUT_VALUE:
            text += f": {shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text


Errors = list[FieldError]


def shown(value: Any) -> str:
    """A value inside a message: texts and quantities in quotes, everything else as JSON."""
    if isinstance(value, Quantity):
        return f'"{value}"'
    if isinstance(value, KubeStruct):
        from kitlib.api.serialize import to_dict

        value = to_dict(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """`field: Invalid value: "x": detail`."""
    return FieldError("FieldValueInvalid", field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    """`field: Required value: detail`."""
    return FieldError("FieldValueRequired", field, "", detail)


def forbidden(field: str, detail: str) -> FieldError:
    """`field: Forbidden: detail`."""
    return FieldError("FieldValueForbidden", field, "", detail)


def duplicate(field: str, value: Any) -> FieldError:
    """`field: Duplicate value: "x"`."""
    return FieldError("FieldValueDuplicate", field, value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """`field: Unsupported value: "x": supported values: "a", "b"`."""
    listed = ", ".join(f'"{one}"' for one in supported)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {listed}")


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"[-a-z0-9]+")

_CONSIST = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
QUALIFIED_TEXT = (
    f"{_CONSIST} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def too_long(limit: int) -> str:
    """Source: validation.MaxLenError."""
    return f"must be no more than {limit} bytes"


def dns_label(name: str) -> list[str]:
    """What is wrong with a DNS label; [] = nothing. Source: validation.IsDNS1123Label."""
    found = [too_long(63)] if len(name) > 63 else []
    return found if _LABEL.fullmatch(name) else [*found, LABEL_TEXT]


def dns_subdomain(name: str) -> list[str]:
    """What is wrong with a DNS subdomain. Source: validation.IsDNS1123Subdomain."""
    found = [too_long(253)] if len(name) > 253 else []
    return found if _SUBDOMAIN.fullmatch(name) else [*found, SUBDOMAIN_TEXT]


def qualified_name(name: str) -> list[str]:
    """What is wrong with `[prefix/]name`. Source: validation.IsQualifiedName."""
    parts = name.split("/")
    found: list[str] = []
    if len(parts) > 2:
        return [
            f"a valid label key {QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    if len(parts) == 2:
        if not parts[0]:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {problem}" for problem in dns_subdomain(parts[0])]
    last = parts[-1]
    if not last:
        found.append("name part must be non-empty")
    elif len(last) > 63:
        found.append(f"name part {too_long(63)}")
    if not _QUALIFIED.fullmatch(last):
        found.append(f"name part {QUALIFIED_TEXT}")
    return found


def label_value(value: str) -> list[str]:
    """What is wrong with a label's value. Source: validation.IsValidLabelValue."""
    found = [too_long(63)] if len(value) > 63 else []
    return found if _VALUE.fullmatch(value) else [*found, VALUE_TEXT]


def port_name(name: str) -> list[str]:
    """What is wrong with a port's name. Source: validation.IsValidPortName."""
    found = [too_long(15)] if len(name) > 15 else []
    if not _PORT_NAME.fullmatch(name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any(c.isalpha() for c in name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        found.append("must not begin or end with a hyphen")
    return found


def each(field: str, value: Any, problems: Iterable[str]) -> Errors:
    """One "Invalid value" a problem."""
    return [invalid(field, value, problem) for problem in problems]


def labels(values: Mapping[str, str], field: str) -> Errors:
    """Keys and values of labels (or of a node selector). Source: metav1 ValidateLabels."""
    found: Errors = []
    for key, value in values.items():
        found += each(field, key, qualified_name(key))
        found += each(field, value, label_value(value))
    return found


def annotation_keys(values: Mapping[str, str], field: str) -> Errors:
    """Keys of annotations, and their size. Source: ValidateAnnotations."""
    found: Errors = []
    for key in values:
        found += each(field, key, qualified_name(key.lower()))
    if sum(len(k) + len(v) for k, v in values.items()) > 256 * 1024:
        found.append(FieldError("FieldValueTooLong", field, "", "may not be more than 262144 bytes"))
    return found


def label_selector(selector: LabelSelector | None, field: str) -> Errors:
    """Source: metav1 ValidateLabelSelector, ValidateLabelSelectorRequirement."""
    if selector is None:
        return []
    found = labels(selector.match_labels, f"{field}.matchLabels")
    for i, requirement in enumerate(selector.match_expressions):
        place = f"{field}.matchExpressions[{i}]"
        if requirement.operator in ("In", "NotIn"):
            if not requirement.values:
                found.append(required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif requirement.operator in ("Exists", "DoesNotExist"):
            if requirement.values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden(f"{place}.values", detail))
        else:
            found.append(invalid(f"{place}.operator", requirement.operator, "not a valid selector operator"))
        found += each(f"{place}.key", requirement.key, qualified_name(requirement.key))
        for j, value in enumerate(requirement.values):
            found += each(f"{place}.values[{j}]", value, label_value(value))
    return found

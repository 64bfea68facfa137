"""Formats of texts in custom objects, as far as the kit knows them; texts of others are not looked at.

Source: apiextensions-apiserver pkg/apiserver/validation/formats.go; kube-openapi pkg/validation/strfmt.
"""

from __future__ import annotations

import binascii
import ipaddress
import re
from base64 import b64decode
from collections.abc import Callable
from datetime import date
from typing import Any

from kitlib.api.cel_library import EvaluationError
from kitlib.api.cel_network import location

_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")


def has_format(text: str, name: str) -> bool:
    """Whether a text has a format; of a format that is not known every text has it."""
    known = _FORMATS.get(name)
    try:
        return known is None or bool(known(text))
    except (ValueError, EvaluationError):
        return False


def _is_date(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII)) and bool(date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    day, _, time = text.lower().partition("t")
    found = _TIME.fullmatch(time)
    return _is_date(day) and found is not None and (int(found[1]), int(found[2]), int(found[3])) <= (23, 59, 59)


def _is_base64(text: str) -> bool:
    try:
        b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], Any]:
    pattern = re.compile(_UUID % (version, variant), re.IGNORECASE)
    return pattern.fullmatch


_FORMATS: dict[str, Callable[[str], Any]] = {
    "date": _is_date,
    **dict.fromkeys(("date-time", "datetime"), _is_date_time),
    "byte": _is_base64,
    "uri": location,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": lambda text: "%" not in text and ipaddress.IPv6Address(text),
    "cidr": lambda text: "/" in text and ipaddress.ip_interface(text),
    "mac": lambda text: _MAC.fullmatch(text.lower()),
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}

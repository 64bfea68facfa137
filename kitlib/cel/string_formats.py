"""String formats such as `email` and `date-time` in schemas of custom resources and in CEL's `format`.

Source: apiextensions-apiserver pkg/apiserver/validation/formats.go; kube-openapi pkg/validation/strfmt; govalidator.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Any

from kitlib.api import names
from kitlib.api.go_durations import nanoseconds
from kitlib.cel.library import EvaluationError
from kitlib.cel.network import location

_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
_MAC_BYTES = (6, 8, 20)
_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_HOST = re.compile(r"[ls](?:-?[ls]{0,62})?|(?:[ls](?:[-ls]{0,61}[ls])?\.)+l{2,63}")
"""A host name after `_host_kind` replaced letters by `l`, digits and symbols by `s`, and other characters by `!`."""
_SHADE = r"\s*(?:0|[1-9][0-9]?|1[0-9]{1,2}|2[0-4][0-9]|25[0-5])\s*"

_SCALA = re.compile(r"\s*(?:[0-9]+\s*[A-Za-zµ]+\s*)+", re.ASCII)
_SCALA_PART = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)", re.ASCII)
_UNITS = ("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk")
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
"""Prefixes of units; `seconds` is accepted because of `sec`."""

_ATOM_CLASS = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t -~])*"'
_DOTTED = rf"[{_ATOM_CLASS}]+(?:\.[{_ATOM_CLASS}]+)*"
_ADDRESS = rf'(?:{_DOTTED}|(?!""){_QUOTED})@[ \t]*(?:{_DOTTED}|\[(?P<literal>[^][\\\x00-\x1f\x7f]*)\])'
_COMMENTS = r"(?:[ \t]*\([^()\\]*\))*[ \t]*"
_EMAIL = re.compile(rf"[ \t]*{_ADDRESS}{_COMMENTS}")
_NAMED_EMAIL = re.compile(rf"(?:[. \t{_ATOM_CLASS}]|{_QUOTED})*<{_ADDRESS}>{_COMMENTS}")


def has_format(text: str, name: str) -> bool:
    """Return whether a text has a format; unknown formats accept every text."""
    known = _FORMATS.get(_normal(name))
    try:
        return known is None or bool(known(text))
    except (ValueError, EvaluationError):
        return False


def is_known(name: str) -> bool:
    """Return whether texts are validated against a format of this name."""
    return _normal(name) in _FORMATS


def _normal(name: str) -> str:
    """Remove the dashes: `date-time` and `datetime` are the same format. Source: strfmt DefaultNameNormalizer."""
    return name.replace("-", "")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    return bool(date.fromisoformat("2000" + text[4:] if text.startswith("0000") else text))  # Go has a leap year 0


def _is_date_time(text: str) -> bool:
    day, *times = text.lower().split("t")
    found = _TIME.fullmatch(times[0]) if times and _is_date(day) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    """Return whether a text is a duration of Go or of Scala: `22 ns`, `3 weeks`. Source: strfmt ParseDuration."""
    try:
        nanoseconds(text)
    except ValueError:
        parts = _SCALA_PART.findall(text) if _SCALA.fullmatch(text) else []
        if any(int(number) >= 2**63 for number, _ in parts):
            return False
        units = [unit.lower() for _, unit in parts]
        return any(unit in _UNITS or unit.startswith(_LONG_UNITS) for unit in units)
    return True


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in text.split(".")):
        return False
    return _HOST.fullmatch("".join(map(_host_kind, text))) is not None


def _host_kind(letter: str) -> str:
    kind = unicodedata.category(letter)[0]
    if kind == "L":
        return "l"
    if kind == "S" or letter in "0123456789":
        return "s"
    return letter if letter in "-." else "!"


def _is_email(text: str) -> bool:
    """Return whether a text is one address, with or without a name and comments. Source: Go net/mail ParseAddress."""
    found = _EMAIL.fullmatch(text) or _NAMED_EMAIL.fullmatch(text)
    if found is None:
        return False
    literal = found["literal"]
    return literal is None or names.parse_ip(literal.removeprefix("IPv6:")) is not None


def _is_mac(text: str) -> bool:
    """Source: Go net.ParseMAC."""
    for mark, digits in ((":", 2), ("-", 2), (".", 4)):
        parts = text.split(mark)
        if len(parts) > 1:
            sizes = [count * 2 // digits for count in _MAC_BYTES]
            return len(parts) in sizes and all(re.fullmatch(f"[0-9A-Fa-f]{{{digits}}}", part) for part in parts)
    return False


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    return sum((i + 1) * (10 if one == "X" else int(one)) for i, one in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(one) * (3 if i % 2 else 1) for i, one in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    """Return whether a number has a valid check digit by Luhn's algorithm."""
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    return sum(sum(divmod(int(one) * (1 + i % 2), 10)) for i, one in enumerate(reversed(digits))) % 10 == 0


def _pattern(text: str, flags: int = 0) -> Callable[[str], Any]:
    return re.compile(text, re.ASCII | flags).fullmatch


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], Any]:
    return _pattern(_UUID % (version, variant), re.IGNORECASE)


_FORMATS: dict[str, Callable[[str], Any]] = {
    "bsonobjectid": _pattern("[0-9A-Fa-f]{24}"),
    "uri": location,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and names.parse_ip(text) is not None,
    "ipv6": lambda text: ":" in text and names.parse_ip(text) is not None,
    "cidr": lambda text: names.parse_cidr(text) is not None,
    "mac": _is_mac,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _pattern("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _pattern("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _pattern(rf"rgb\({_SHADE},{_SHADE},{_SHADE}\)"),
    "byte": _pattern(_BASE64),
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not names.is_dns1123_label(text),
    "k8slongname": lambda text: not names.is_dns1123_subdomain(text),
}
"""Format without dashes -> its check. `k8sshortname` and `k8slongname` were added in Kubernetes 1.34."""

"""Syntax of names, labels, ports and addresses: each function returns the messages of the rules that a text breaks.

Sources: apimachinery util/validation (validation.go, ip.go), api/validate/content, api/validation (generic.go, path).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from functools import lru_cache

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_UNDERSCORE = re.compile(r"[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*")
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"[-a-z0-9]+")
_CONFIG_MAP_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_RELAXED_ENV = re.compile(r"[ -<>-~]+")
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_PERCENT = re.compile(r"[0-9]+%")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

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
LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
SUBDOMAIN_UNDERSCORE_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_', or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*')"
)
WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
CONFIG_MAP_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
RELAXED_ENV_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"
HEADER_TEXT = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
C_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_TEXT = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def too_long(limit: int) -> str:
    """Source: validation.MaxLenError."""
    return f"must be no more than {limit} characters"


def in_range(low: int, high: int) -> str:
    """Source: validation.InclusiveRangeError."""
    return f"must be between {low} and {high}, inclusive"


@lru_cache(maxsize=4096)
def is_dns1123_label(name: str) -> tuple[str, ...]:
    """Source: content.IsDNS1123Label."""
    found = (too_long(63),) if len(name) > 63 else ()
    if _LABEL.fullmatch(name):
        return found
    return (*found, "must not contain dots") if _SUBDOMAIN.fullmatch(name) else (*found, LABEL_TEXT)


def is_dns1035_label(name: str) -> tuple[str, ...]:
    """Source: validation.IsDNS1035Label."""
    found = (too_long(63),) if len(name) > 63 else ()
    return found if _LABEL_1035.fullmatch(name) else (*found, LABEL_1035_TEXT)


@lru_cache(maxsize=4096)
def is_dns1123_subdomain(name: str) -> tuple[str, ...]:
    """Source: content.IsDNS1123Subdomain."""
    found = (too_long(253),) if len(name) > 253 else ()
    return found if _SUBDOMAIN.fullmatch(name) else (*found, SUBDOMAIN_TEXT)


def is_dns1123_subdomain_with_underscore(name: str) -> tuple[str, ...]:
    """Source: validation.IsDNS1123SubdomainWithUnderscore."""
    found = (too_long(253),) if len(name) > 253 else ()
    return found if _SUBDOMAIN_UNDERSCORE.fullmatch(name) else (*found, SUBDOMAIN_UNDERSCORE_TEXT)


def is_wildcard_dns1123_subdomain(name: str) -> tuple[str, ...]:
    """Source: validation.IsWildcardDNS1123Subdomain."""
    found = (too_long(253),) if len(name) > 253 else ()
    return found if _WILDCARD.fullmatch(name) else (*found, WILDCARD_TEXT)


@lru_cache(maxsize=4096)
def is_qualified_name(name: str) -> tuple[str, ...]:
    """Check `[prefix/]name`. Source: content.IsQualifiedName (IsLabelKey)."""
    parts = name.split("/")
    found: tuple[str, ...] = ()
    if len(parts) > 2:
        return (
            f"a valid label key {QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')",
        )
    if len(parts) == 2:
        if not parts[0]:
            found = ("prefix part must be non-empty",)
        else:
            found = tuple(f"prefix part {problem}" for problem in is_dns1123_subdomain(parts[0]))
    last = parts[-1]
    if not last:
        found = (*found, "name part must be non-empty")
    elif len(last) > 63:
        found = (*found, f"name part {too_long(63)}")
    return found if _QUALIFIED.fullmatch(last) else (*found, f"name part {QUALIFIED_TEXT}")


@lru_cache(maxsize=4096)
def is_valid_label_value(value: str) -> tuple[str, ...]:
    """Source: content.IsLabelValue."""
    found = (too_long(63),) if len(value) > 63 else ()
    return found if _VALUE.fullmatch(value) else (*found, VALUE_TEXT)


@lru_cache(maxsize=4096)
def is_c_identifier(name: str) -> tuple[str, ...]:
    """Source: content.IsCIdentifier."""
    return () if _C_IDENTIFIER.fullmatch(name) else (C_IDENTIFIER_TEXT,)


def is_valid_port_name(name: str) -> tuple[str, ...]:
    """Source: validation.IsValidPortName."""
    found = [too_long(15)] if len(name) > 15 else []
    if not _PORT_NAME.fullmatch(name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= c <= "z" for c in name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def is_valid_port_num(port: int) -> tuple[str, ...]:
    """Source: validation.IsValidPortNum."""
    return () if 1 <= port <= 65535 else (in_range(1, 65535),)


def is_valid_user_id(number: int) -> tuple[str, ...]:
    """Check the ID of a user or a group. Source: validation.IsValidUserID, IsValidGroupID."""
    return () if 0 <= number <= 2**31 - 1 else (in_range(0, 2**31 - 1),)


def is_config_map_key(key: str) -> tuple[str, ...]:
    """Source: validation.IsConfigMapKey."""
    found = [too_long(253)] if len(key) > 253 else []
    if not _CONFIG_MAP_KEY.fullmatch(key):
        found.append(CONFIG_MAP_KEY_TEXT)
    return (*found, *_dots(key))


def is_relaxed_env_var_name(name: str) -> tuple[str, ...]:
    """Source: validation.IsRelaxedEnvVarName."""
    if not name:
        return ("environment variable name must be non-empty",)
    return () if _RELAXED_ENV.fullmatch(name) else (RELAXED_ENV_TEXT,)


def is_http_header_name(name: str) -> tuple[str, ...]:
    """Source: validation.IsHTTPHeaderName."""
    return () if _HEADER.fullmatch(name) else (HEADER_TEXT,)


def is_valid_percent(text: str) -> tuple[str, ...]:
    """Source: validation.IsValidPercent."""
    return () if _PERCENT.fullmatch(text) else (PERCENT_TEXT,)


def _dots(text: str) -> tuple[str, ...]:
    """Source: validation.hasChDirPrefix."""
    if text == ".":
        return ("must not be '.'",)
    if text == "..":
        return ("must not be '..'",)
    return ("must not start with '..'",) if text.startswith("..") else ()


def is_path_segment_name(name: str) -> tuple[str, ...]:
    """Source: content.IsPathSegmentName."""
    if name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{bad}'" for bad in ("/", "%") if bad in name)


def parse_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address, with leading zeros read as decimal; None for other text. Source: netutils.ParseIPSloppy."""
    # Python's ipaddress rejects leading zeros; Go's sloppy parsers read "010.0.0.1" as 10.0.0.1.
    parts = text.split(".")
    if len(parts) == 4 and all(part.isascii() and part.isdigit() for part in parts):
        text = ".".join(str(int(part)) for part in parts)
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def parse_cidr(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """Parse an address with its prefix length; None for another text. Source: netutils.ParseCIDRSloppy."""
    address, slash, bits = text.partition("/")
    ip = parse_ip(address)
    if ip is None or not slash or not (bits.isascii() and bits.isdigit()) or int(bits) > ip.max_prefixlen:
        return None
    return ipaddress.ip_interface(f"{ip}/{int(bits)}")


def has_leading_zeros(text: str) -> bool:
    """Return whether an address or a prefix length has leading zeros, which some parsers read as octal."""
    return any(len(part) > 1 and part[0] == "0" for part in text.split(".") if part.isdigit())


def is_mapped(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether it is an IPv4-mapped IPv6 address. Source: netip.Addr.Is4In6."""
    return ip.version == 6 and ip.ipv4_mapped is not None


def is_valid_ip(text: str, existing: Collection[str] = ()) -> tuple[str, ...]:
    """Check an address strictly, except for `existing` values. Source: validation.IsValidIPForLegacyField, KEP-4858."""
    ip = parse_ip(text)
    if ip is None:
        return (IP_TEXT,)
    # Values that are stored already remain valid, so that an update of other fields is possible. KEP-4858.
    if text in existing:
        return ()
    if is_mapped(ip):
        return ("must not be an IPv4-mapped IPv6 address",)
    return ("must not have leading 0s",) if ip.version == 4 and has_leading_zeros(text) else ()


def is_valid_cidr(text: str, existing: Collection[str] = ()) -> tuple[str, ...]:
    """Check a CIDR strictly, except for `existing` values. Source: validation.IsValidCIDRForLegacyField, KEP-4858."""
    cidr = parse_cidr(text)
    if cidr is None:
        return (CIDR_TEXT,)
    if text in existing:
        return ()
    address, _, bits = text.partition("/")
    if has_leading_zeros(bits) or (cidr.version == 4 and has_leading_zeros(address)):
        return ("must not have leading 0s in IP or prefix length",)
    if is_mapped(cidr.ip):
        return ("must not have an IPv4-mapped IPv6 address",)
    return ("must not have bits set beyond the prefix length",) if cidr.ip != cidr.network.network_address else ()


def is_canonical_ip(text: str) -> tuple[str, ...]:
    """Source: validation.IsValidIP."""
    found, ip = is_valid_ip(text), parse_ip(text)
    return found if found or text == str(ip) else (f'must be in canonical form ("{ip}")',)


def is_canonical_cidr(text: str) -> tuple[str, ...]:
    """Source: validation.IsValidCIDR."""
    found, cidr = is_valid_cidr(text), parse_cidr(text)
    if found or cidr is None or text == str(cidr.network):
        return found
    return (f'must be in canonical form ("{cidr.network}")',)


def non_special_ip(text: str) -> tuple[str, ...]:
    """Source: ValidateNonSpecialIP."""
    ip = parse_ip(text)
    if ip is None:
        return ("must be a valid IP address",)
    ip, found = getattr(ip, "ipv4_mapped", None) or ip, []
    if ip.is_unspecified:
        found.append(f"may not be unspecified ({text})")
    if ip.is_loopback:
        found.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    link_local_multicast = (
        ip in ipaddress.ip_network("224.0.0.0/24") if ip.version == 4 else (ip.packed[0], ip.packed[1] & 15) == (255, 2)
    )
    if link_local_multicast:
        found.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return tuple(found)

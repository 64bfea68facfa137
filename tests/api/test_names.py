"""The syntax of names, ports and addresses: the longest and shortest valid texts, and the messages of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kitlib.api import names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ()),
        ("0", ()),
        ("a-b", ()),
        ("a" * 63, ()),
        ("a" * 64, ("must be no more than 63 characters",)),
        ("a.b", ("must not contain dots",)),
        ("", (names.LABEL_TEXT,)),
        ("-a", (names.LABEL_TEXT,)),
        ("a-", (names.LABEL_TEXT,)),
        ("A", (names.LABEL_TEXT,)),
        ("a_b", (names.LABEL_TEXT,)),
        ("a\n", (names.LABEL_TEXT,)),
        ("a..b", (names.LABEL_TEXT,)),
        (f"{'a' * 62}.b", ("must be no more than 63 characters", "must not contain dots")),
    ],
)
def test_a_dns_label(name: str, expected: tuple[str, ...]) -> None:
    """Source: content.IsDNS1123Label."""
    assert names.is_dns1123_label(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ()),
        ("a1", ()),
        ("a-1", ()),
        ("z" * 63, ()),
        ("1a", (names.LABEL_1035_TEXT,)),
        ("a.b", (names.LABEL_1035_TEXT,)),
        ("", (names.LABEL_1035_TEXT,)),
        ("1" * 64, ("must be no more than 63 characters", names.LABEL_1035_TEXT)),
    ],
)
def test_a_label_of_the_older_rule_begins_with_a_letter(name: str, expected: tuple[str, ...]) -> None:
    assert names.is_dns1035_label(name) == expected


LONG = ".".join(["a" * 62] * 4)
"""251 characters."""


@pytest.mark.parametrize("rule", [names.is_dns1123_subdomain, names.is_dns1123_subdomain_with_underscore])
def test_a_subdomain_has_at_most_253_characters(rule: Callable[[str], tuple[str, ...]]) -> None:
    assert rule(f"{LONG}.b") == ()
    assert rule(f"{LONG}.bc") == ("must be no more than 253 characters",)
    assert len(rule(f"{LONG}..b")) == 2


@pytest.mark.parametrize(
    ("name", "plain", "underscore", "wildcard"),
    [
        ("a.b-c.0", True, True, False),
        ("_a.b_", False, True, False),
        ("a.-b", False, False, False),
        ("a.", False, False, False),
        (".a", False, False, False),
        ("a..b", False, False, False),
        ("A.b", False, False, False),
        ("*.a", False, False, True),
        ("*.a.b", False, False, True),
        ("*", False, False, False),
        ("*.", False, False, False),
        ("*.*.a", False, False, False),
        ("a.*.b", False, False, False),
        ("*a.b", False, False, False),
    ],
)
def test_subdomains_with_underscores_and_with_a_wildcard(
    name: str, plain: bool, underscore: bool, wildcard: bool
) -> None:
    assert names.is_dns1123_subdomain(name) == (() if plain else (names.SUBDOMAIN_TEXT,))
    assert names.is_dns1123_subdomain_with_underscore(name) == (
        () if underscore else (names.SUBDOMAIN_UNDERSCORE_TEXT,)
    )
    assert names.is_wildcard_dns1123_subdomain(name) == (() if wildcard else (names.WILDCARD_TEXT,))


def test_a_wildcard_name_has_at_most_253_characters() -> None:
    assert names.is_wildcard_dns1123_subdomain(f"*.{LONG}") == ()
    assert names.is_wildcard_dns1123_subdomain(f"*.{LONG}a") == ("must be no more than 253 characters",)


NAME_PART = f"name part {names.QUALIFIED_TEXT}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ()),
        ("A.b_c-9", ()),
        ("x" * 63, ()),
        ("x" * 64, ("name part must be no more than 63 characters",)),
        ("example.com/a", ()),
        ("/a", ("prefix part must be non-empty",)),
        ("a/", ("name part must be non-empty", NAME_PART)),
        ("A/a", (f"prefix part {names.SUBDOMAIN_TEXT}",)),
        ("-a", (NAME_PART,)),
        ("a.", (NAME_PART,)),
        ("", ("name part must be non-empty", NAME_PART)),
        ("/", ("prefix part must be non-empty", "name part must be non-empty", NAME_PART)),
    ],
)
def test_a_qualified_name(name: str, expected: tuple[str, ...]) -> None:
    """Source: content.IsQualifiedName."""
    assert names.is_qualified_name(name) == expected


def test_a_qualified_name_has_one_slash() -> None:
    (problem,) = names.is_qualified_name("a/b/c")
    assert problem.startswith("a valid label key must consist of") and problem.endswith("(e.g. 'example.com/MyName')")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ()),
        ("A", ()),
        ("a.b_c-D", ()),
        ("v" * 63, ()),
        ("v" * 64, ("must be no more than 63 characters",)),
        ("a ", (names.VALUE_TEXT,)),
        ("-a", (names.VALUE_TEXT,)),
        ("_" * 64, ("must be no more than 63 characters", names.VALUE_TEXT)),
    ],
)
def test_a_label_value(value: str, expected: tuple[str, ...]) -> None:
    assert names.is_valid_label_value(value) == expected


@pytest.mark.parametrize(
    ("name", "valid"), [("a", True), ("_", True), ("A9_", True), ("9a", False), ("", False), ("a-b", False)]
)
def test_a_c_identifier(name: str, valid: bool) -> None:
    assert names.is_c_identifier(name) == (() if valid else (names.C_IDENTIFIER_TEXT,))


CHARACTERS = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
LETTER = "must contain at least one letter (a-z)"
CONSECUTIVE = "must not contain consecutive hyphens"
ENDS = "must not begin or end with a hyphen"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ()),
        ("a-1-b", ()),
        ("a" * 15, ()),
        ("a" * 16, ("must be no more than 15 characters",)),
        ("80", (LETTER,)),
        ("a--b", (CONSECUTIVE,)),
        ("-a", (ENDS,)),
        ("a-", (ENDS,)),
        ("A", (CHARACTERS, LETTER)),
        ("", (CHARACTERS, LETTER)),
        ("--", (LETTER, CONSECUTIVE, ENDS)),
    ],
)
def test_a_port_name(name: str, expected: tuple[str, ...]) -> None:
    """Source: validation.IsValidPortName."""
    assert names.is_valid_port_name(name) == expected


@pytest.mark.parametrize(("port", "valid"), [(0, False), (1, True), (65535, True), (65536, False), (-1, False)])
def test_a_port_number(port: int, valid: bool) -> None:
    assert names.is_valid_port_num(port) == (() if valid else ("must be between 1 and 65535, inclusive",))


@pytest.mark.parametrize(("number", "valid"), [(-1, False), (0, True), (2147483647, True), (2147483648, False)])
def test_the_id_of_a_user(number: int, valid: bool) -> None:
    assert names.is_valid_user_id(number) == (() if valid else ("must be between 0 and 2147483647, inclusive",))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("KEY_name.x-1", ()),
        (".a", ()),
        ("a..b", ()),
        (".", ("must not be '.'",)),
        ("..", ("must not be '..'",)),
        ("..a", ("must not start with '..'",)),
        ("", (names.CONFIG_MAP_KEY_TEXT,)),
        ("a/b", (names.CONFIG_MAP_KEY_TEXT,)),
        ("../a", (names.CONFIG_MAP_KEY_TEXT, "must not start with '..'")),
        ("k" * 253, ()),
        ("k" * 254, ("must be no more than 253 characters",)),
    ],
)
def test_a_key_of_a_config_map(key: str, expected: tuple[str, ...]) -> None:
    """Source: validation.IsConfigMapKey, hasChDirPrefix."""
    assert names.is_config_map_key(key) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A", ()),
        (" ", ()),
        ("~", ()),
        ("1 !", ()),
        ("a=b", (names.RELAXED_ENV_TEXT,)),
        ("ä", (names.RELAXED_ENV_TEXT,)),
        ("a\t", (names.RELAXED_ENV_TEXT,)),
        ("\x7f", (names.RELAXED_ENV_TEXT,)),
        ("", ("environment variable name must be non-empty",)),
    ],
)
def test_the_name_of_a_variable(name: str, expected: tuple[str, ...]) -> None:
    assert names.is_relaxed_env_var_name(name) == expected


@pytest.mark.parametrize(("name", "valid"), [("X-A", True), ("a_b", False), ("", False), ("a:", False)])
def test_the_name_of_a_header(name: str, valid: bool) -> None:
    assert names.is_http_header_name(name) == (() if valid else (names.HEADER_TEXT,))


@pytest.mark.parametrize(
    ("text", "valid"), [("0%", True), ("100%", True), ("%", False), ("1", False), ("-1%", False), ("1%%", False)]
)
def test_a_percentage(text: str, valid: bool) -> None:
    assert names.is_valid_percent(text) == (() if valid else (names.PERCENT_TEXT,))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", ()),
        ("A b:c", ()),
        ("...", ()),
        (".", ("may not be '.'",)),
        ("..", ("may not be '..'",)),
        ("a/b", ("may not contain '/'",)),
        ("a%", ("may not contain '%'",)),
        ("%/", ("may not contain '/'", "may not contain '%'")),
    ],
)
def test_the_segment_of_a_path(name: str, expected: tuple[str, ...]) -> None:
    assert names.is_path_segment_name(name) == expected


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("010.000.0.01", "10.0.0.1"),
        ("0.0.0.256", None),
        ("10.0.0", None),
        ("1.2.3.4.5", None),
        ("1.2.3.٤", None),
        ("::1", "::1"),
        ("fe80::1%eth0", None),
        ("", None),
    ],
)
def test_zeros_before_a_number_of_an_address_are_read_as_decimal(text: str, parsed: str | None) -> None:
    """Source: netutils.ParseIPSloppy."""
    found = names.parse_ip(text)
    assert (None if found is None else str(found)) == parsed


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("10.0.0.1/8", "10.0.0.1/8"),
        ("10.0.0.1/08", "10.0.0.1/8"),
        ("10.0.0.0/0", "10.0.0.0/0"),
        ("10.0.0.0/32", "10.0.0.0/32"),
        ("10.0.0.0/33", None),
        ("::/128", "::/128"),
        ("::/129", None),
        ("10.0.0.0", None),
        ("10.0.0.0/", None),
        ("10.0.0.0/-1", None),
        ("x/8", None),
    ],
)
def test_a_prefix_length_is_at_most_that_of_the_family(text: str, parsed: str | None) -> None:
    found = names.parse_cidr(text)
    assert (None if found is None else str(found)) == parsed


MAPPED = "must not be an IPv4-mapped IPv6 address"
ZEROS = "must not have leading 0s"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", ()),
        ("0.0.0.0", ()),
        ("2001:db8::0001", ()),
        ("010.0.0.1", (ZEROS,)),
        ("::ffff:1.2.3.4", (MAPPED,)),
        ("x", (names.IP_TEXT,)),
    ],
)
def test_an_address_of_an_older_field(text: str, expected: tuple[str, ...]) -> None:
    """Source: validation.IsValidIPForLegacyField."""
    assert names.is_valid_ip(text) == expected
    # A stored value remains valid, but only if it is an address.
    assert names.is_valid_ip(text, [text]) == (expected if text == "x" else ())
    assert names.is_valid_ip(text, ["10.9.9.9"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.0/8", ()),
        ("2001:db8::/64", ()),
        ("10.0.0.0/08", ("must not have leading 0s in IP or prefix length",)),
        ("010.0.0.0/8", ("must not have leading 0s in IP or prefix length",)),
        ("::ffff:1.2.3.0/120", ("must not have an IPv4-mapped IPv6 address",)),
        ("10.0.0.1/8", ("must not have bits set beyond the prefix length",)),
        ("10.0.0.1/32", ()),
        ("10.0.0.0", (names.CIDR_TEXT,)),
    ],
)
def test_a_network_of_an_older_field(text: str, expected: tuple[str, ...]) -> None:
    assert names.is_valid_cidr(text) == expected
    assert names.is_valid_cidr(text, [text]) == (expected if text == "10.0.0.0" else ())


def test_a_canonical_address_and_network() -> None:
    """Source: validation.IsValidIP, IsValidCIDR."""
    assert names.is_canonical_ip("2001:db8::1") == ()
    assert names.is_canonical_ip("2001:DB8::1") == ('must be in canonical form ("2001:db8::1")',)
    assert names.is_canonical_ip("01.2.3.4") == (ZEROS,)
    assert names.is_canonical_cidr("2001:db8::/64") == ()
    assert names.is_canonical_cidr("2001:db8:0::/64") == ('must be in canonical form ("2001:db8::/64")',)
    assert names.is_canonical_cidr("x") == (names.CIDR_TEXT,)


UNSPECIFIED = "may not be unspecified ({})"
LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
MULTICAST = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", ()),
        ("0.0.0.0", (UNSPECIFIED.format("0.0.0.0"),)),
        ("::", (UNSPECIFIED.format("::"),)),
        ("127.0.0.0", (LOOPBACK,)),
        ("127.255.255.255", (LOOPBACK,)),
        ("::1", (LOOPBACK,)),
        ("169.254.0.1", (LINK_LOCAL,)),
        ("169.255.0.1", ()),
        ("fe80::1", (LINK_LOCAL,)),
        ("febf::1", (LINK_LOCAL,)),
        ("fec0::1", ()),
        ("224.0.0.255", (MULTICAST,)),
        ("224.0.1.0", ()),
        ("ff02::1", (MULTICAST,)),
        ("ff12::1", (MULTICAST,)),
        ("ff01::1", ()),
        ("::ffff:127.0.0.1", (LOOPBACK,)),
        ("::ffff:169.254.0.1", (LINK_LOCAL,)),
        ("::ffff:224.0.0.1", (MULTICAST,)),
        ("x", ("must be a valid IP address",)),
    ],
)
def test_an_address_that_has_a_special_use(text: str, expected: tuple[str, ...]) -> None:
    """Source: ValidateNonSpecialIP; Go's net.IP looks at four bits of a multicast scope and at the address mapped."""
    assert names.non_special_ip(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("00.1", True), ("0.1", False), ("10.0", False), ("0x", False), ("08", True)]
)
def test_leading_zeros(text: str, expected: bool) -> None:
    assert names.has_leading_zeros(text) is expected

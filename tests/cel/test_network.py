"""URLs, addresses and networks."""

from __future__ import annotations

import pytest

from tests.cel.answers import answer


@pytest.mark.parametrize(
    "text",
    [
        "url('https://ada@Example.com:8080/a b?x=1&x=2#f').getHost() == 'Example.com:8080'",
        "url('HTTPS://a.b/c').getScheme() == 'https' && url('https://a.b/c d').getEscapedPath() == '/c%20d'",
        "url('https://[::1]:80/c').getHostname() == '::1' && url('https://[::1]:80/c').getPort() == '80'",
        "url('https://a.b?x=1&y=a%20b&x=2&z').getQuery() == {'x': ['1', '2'], 'y': ['a b'], 'z': ['']}",
        "isURL('/absolute') && !isURL('a.b/c') && !isURL('') && !isURL('https://a b/') && isURL('mailto:ada@a.b')",
        "url('https://a.b') == url('https://a.b')",
        "ip('1.2.3.4').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback()",
        "isIP('1.2.3.4') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('1.2.3')",
        "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')",
        "ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && ip('0.0.0.0').isUnspecified()",
        "ip('224.0.0.9').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
        "ip('169.254.1.1').isLinkLocalUnicast() && !ip('10.0.0.1').isLinkLocalUnicast()",
        "string(ip('::1')) == '::1' && ip('1.2.3.4') == ip('1.2.3.4')",
        "cidr('10.0.0.0/8').containsIP('10.1.1.1') && !cidr('10.0.0.0/8').containsIP(ip('::1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/7'))",
        "string(cidr('10.1.2.3/8').masked()) == '10.0.0.0/8' && string(cidr('10.1.2.3/8')) == '10.1.2.3/8'",
        "cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && cidr('::/0').prefixLength() == 0",
        "!isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08') && isCIDR('::1/128')",
    ],
)
def test_what_holds(text: str) -> None:
    assert answer(text) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("url('../a')", 'URL parse error during conversion from string: parse "../a": invalid URI for request'),
        ("url('https://a:b/')", 'parse "https://a:b/": invalid port ":b" after host'),
        ("url('https://a b/')", 'invalid character " " in host name'),
        ("url('https://[::1/')", "missing ']' in host"),
        ("url('/%zz')", 'invalid URL escape "%zz"'),
        ("url('\\n')", "invalid control character in URL"),
        ("url(':a')", "missing protocol scheme"),
        (
            "ip('1.2.3')",
            'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): unable to parse',
        ),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("cidr('10.0.0.0/33')", "network address parse error during conversion from string: netip.ParsePrefix"),
        ("cidr('1.2.3.4')", "no '/'"),
        ("ip(1)", "found no matching overload for 'ip' applied to '(int)'"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    assert words in answer(text)

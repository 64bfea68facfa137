"""URLs, IP addresses and networks in CEL.

Source: k8s.io/apiserver/pkg/cel/library (urls.go, ip.go, cidr.go); Go net/url, net/netip.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote_plus

from kitlib.cel.library import BOOL, INT, MAP, STRING, EvaluationError, Overload, charge, works

URL, IP, CIDR = "kubernetes.URL", "net.IP", "net.CIDR"
Any_IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_HOST = re.compile(r"[^\s\"<>\\^`{|}#/?]*")
_UNRESERVED = re.compile(r"[^A-Za-z0-9\-_.~$&+,/:;=@!'()*%\[\]]")


@dataclass(frozen=True)
class Location:
    """A URL.

    Attributes:
        scheme: the scheme in lower case.
        host: the host with its port.
        path: the path as written, escaped where required.
        query: the query without the question mark.
    """

    type_name: ClassVar[str] = URL
    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        """The host without brackets and port. Source: net/url stripPort."""
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.partition(":")[0]

    @property
    def port(self) -> str:
        rest = self.host.rpartition("]")[2] if self.host.startswith("[") else self.host
        return rest.rpartition(":")[2] if ":" in rest else ""

    def arguments(self) -> dict[str, list[str]]:
        """Parse the query to key -> values; invalid pairs are ignored. Source: net/url ParseQuery."""
        found: dict[str, list[str]] = {}
        for part in filter(None, self.query.split("&")):
            charge(1)
            if ";" in part or _BAD_ESCAPE.search(part):
                continue
            key, _, value = part.partition("=")
            found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
        return found


def location(text: str) -> Location:
    """Parse a URL, which must have a scheme or be an absolute path.

    Raises:
        EvaluationError: with the message of Go's net/url.
    """
    try:
        return _location(text)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _location(text: str) -> Location:
    start = f"parse {json.dumps(text, ensure_ascii=False)}: "
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ValueError(f"{start}net/url: invalid control character in URL")
    if not text:
        raise ValueError(f"{start}empty url")
    found = _SCHEME.fullmatch(text)
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text)
    if not found and text.startswith(":"):
        raise ValueError(f"{start}missing protocol scheme")
    if not rest.startswith("/"):
        if scheme and rest:
            # An opaque URL such as `mailto:a@b` has neither host nor path.
            return Location(scheme, "", "", rest.partition("?")[2].partition("#")[0])
        raise ValueError(f"{start}invalid URI for request")
    rest = rest.partition("#")[0]
    rest, _, query = rest.partition("?")
    host = ""
    if (scheme or not rest.startswith("///")) and rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _host(host.rpartition("@")[2], start)
    wrong = _BAD_ESCAPE.search(rest)
    if wrong:
        raise ValueError(f'{start}invalid URL escape "{wrong[0]}"')
    escaped = _UNRESERVED.sub(lambda one: "".join(f"%{byte:02X}" for byte in one[0].encode()), rest)
    return Location(scheme, host, escaped, query)


def _host(host: str, start: str) -> str:
    """Return the host if host and port are valid. Source: net/url parseHost, validOptionalPort."""
    good = _HOST.match(host)
    assert good is not None
    if good.end() < len(host):
        raise ValueError(f'{start}invalid character "{host[good.end()]}" in host name')
    if host.startswith("["):
        _, bracket, port = host.partition("]")
        if not bracket:
            raise ValueError(f"{start}missing ']' in host")
    else:
        port = host[host.index(":") :] if ":" in host else ""
    if port and not (port[0] == ":" and (port == ":" or port[1:].isdecimal())):
        raise ValueError(f'{start}invalid port "{port}" after host')
    return host


@dataclass(frozen=True)
class Address:
    """An IP address."""

    type_name: ClassVar[str] = IP
    ip: Any_IP

    def __str__(self) -> str:
        return str(self.ip)


@dataclass(frozen=True)
class Network:
    """A network: an address with a prefix length."""

    type_name: ClassVar[str] = CIDR
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    def __str__(self) -> str:
        return f"{self.interface.ip}/{self.length}"

    @property
    def length(self) -> int:
        return self.interface.network.prefixlen

    def holds(self, other: Any_IP) -> bool:
        return other.version == self.interface.version and other in self.interface.network


def address(text: str) -> Address:
    """Parse an IP address; zones and IPv4-mapped IPv6 addresses are rejected.

    Raises:
        EvaluationError: the text is not an accepted address.

    Source: parseIPAddr.
    """
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        why = f'ParseAddr("{text}"): unable to parse IP'
        raise EvaluationError(f'IP Address "{text}" parse error during conversion from string: {why}') from None
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
        if found.ipv4_mapped is not None:
            raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Address(found)


def network(text: str) -> Network:
    """Parse a network, e.g. `10.0.0.0/8`.

    Raises:
        EvaluationError: the text is not an address with a prefix length.

    Source: parseCIDR.
    """
    plain, slash, length = text.rpartition("/")
    start = f'network address parse error during conversion from string: netip.ParsePrefix("{text}"): '
    if not slash:
        raise EvaluationError(f"{start}no '/'")
    try:
        found = address(plain).ip
    except EvaluationError as error:
        if "parse error" in str(error):
            raise EvaluationError(f'{start}ParseAddr("{plain}"): unable to parse IP') from None
        raise
    if not length.isdecimal() or (length != "0" and length.startswith("0")):
        raise EvaluationError(f'{start}bad bits after slash: "{length}"')
    if int(length[:4]) > found.max_prefixlen:
        raise EvaluationError(f"{start}prefix length out of range")
    return Network(ipaddress.ip_interface((found, int(length))))


def _contains_network(network: Network, other: Network) -> bool:
    return network.holds(other.interface.ip) and network.length <= other.length


def _is_link_local_multicast(address: Address) -> bool:
    bytes_ = address.ip.packed
    return bytes_[:3] == b"\xe0\x00\x00" if len(bytes_) == 4 else bytes_[0] == 0xFF and bytes_[1] & 0x0F == 2


def _is_global_unicast(address: Address) -> bool:
    """Return whether an address is global unicast, private addresses included. Source: netip Addr.IsGlobalUnicast."""
    ip = address.ip
    broadcast = ip.packed == b"\xff\xff\xff\xff"
    return not (broadcast or ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local)


def _of_text(work: Callable[[Any, Any], bool], read: Callable[[str], Any]) -> Callable[[Any, str], bool]:
    return lambda one, text: work(one, read(text))


FUNCTIONS: dict[str, list[Overload]] = {
    "url": [Overload((STRING,), URL, location)],
    "isURL": [Overload((STRING,), BOOL, works(location))],
    "ip": [Overload((STRING,), IP, address)],
    "isIP": [Overload((STRING,), BOOL, works(address))],
    "ip.isCanonical": [Overload((STRING,), BOOL, lambda text: str(address(text)) == text)],
    "cidr": [Overload((STRING,), CIDR, network)],
    "isCIDR": [Overload((STRING,), BOOL, works(network))],
    "string": [Overload((kind,), STRING, str) for kind in (IP, CIDR)],
}
METHODS: dict[str, list[Overload]] = {
    "getScheme": [Overload((URL,), STRING, lambda one: one.scheme)],
    "getHost": [Overload((URL,), STRING, lambda one: one.host)],
    "getHostname": [Overload((URL,), STRING, lambda one: one.hostname)],
    "getPort": [Overload((URL,), STRING, lambda one: one.port)],
    "getEscapedPath": [Overload((URL,), STRING, lambda one: one.path)],
    "getQuery": [Overload((URL,), MAP, Location.arguments)],
    "family": [Overload((IP,), INT, lambda one: one.ip.version)],
    "isUnspecified": [Overload((IP,), BOOL, lambda one: one.ip.is_unspecified)],
    "isLoopback": [Overload((IP,), BOOL, lambda one: one.ip.is_loopback)],
    "isLinkLocalMulticast": [Overload((IP,), BOOL, _is_link_local_multicast)],
    "isLinkLocalUnicast": [Overload((IP,), BOOL, lambda one: one.ip.is_link_local)],
    "isGlobalUnicast": [Overload((IP,), BOOL, _is_global_unicast)],
    "containsIP": [
        Overload((CIDR, IP), BOOL, lambda one, other: one.holds(other.ip)),
        Overload((CIDR, STRING), BOOL, _of_text(lambda one, other: one.holds(other.ip), address)),
    ],
    "containsCIDR": [
        Overload((CIDR, CIDR), BOOL, _contains_network),
        Overload((CIDR, STRING), BOOL, _of_text(_contains_network, network)),
    ],
    "ip": [Overload((CIDR,), IP, lambda one: Address(one.interface.ip))],
    "masked": [
        Overload((CIDR,), CIDR, lambda one: Network(ipaddress.ip_interface((one.interface.network[0], one.length))))
    ],
    "prefixLength": [Overload((CIDR,), INT, lambda one: one.length)],
}

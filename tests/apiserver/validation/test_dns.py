"""A pod's DNS configuration, hostnames and host aliases."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PodSpec
from kitlib.api.names import IP_TEXT, LABEL_TEXT, SUBDOMAIN_TEXT, SUBDOMAIN_UNDERSCORE_TEXT
from kitlib.apiserver.validation import dns
from tests.apiserver.validation.told import part, told


@pytest.mark.parametrize(
    ("policy", "config", "errors"),
    [
        ("ClusterFirst", None, []),
        ("None", None, ["d Required must provide `dnsConfig` when `dnsPolicy` is None"]),
        ("None", {}, ["d.nameservers Required must provide at least one DNS nameserver when `dnsPolicy` is None"]),
        ("None", {"nameservers": ["1.1.1.1"]}, []),
        ("Default", {"nameservers": ["1.1.1.1", "::1", "2.2.2.2"]}, []),
        ("Default", {"nameservers": ["1.1.1.1"] * 4}, ["d.nameservers Invalid must not have more than 3 nameservers"]),
        ("Default", {"nameservers": ["1.1.1.1", "x"]}, [f"d.nameservers[1] Invalid {IP_TEXT}"]),
        ("Default", {"searches": ["a"] * 32}, []),
        ("Default", {"searches": ["a"] * 33}, ["d.searches Invalid must not have more than 32 search paths"]),
        ("Default", {"searches": [".", "_a.b.", "a"]}, []),
        ("Default", {"searches": ["A"]}, [f"d.searches[0] Invalid {SUBDOMAIN_UNDERSCORE_TEXT}"]),
        ("Default", {"searches": ["a.."]}, [f"d.searches[0] Invalid {SUBDOMAIN_UNDERSCORE_TEXT}"]),
        ("Default", {"options": [{"name": "n"}, {"value": "v"}]}, ["d.options[1] Required must not be empty"]),
    ],
)
def test_the_configuration(policy: str, config: Any, errors: list[str]) -> None:
    """Source: validatePodDNSConfig."""
    assert told(dns.validate_pod_dns_config(part(PodSpec, dnsPolicy=policy, dnsConfig=config), "d")) == errors


@pytest.mark.parametrize(("last", "valid"), [(2048 - 9 * 201, True), (2049 - 9 * 201, False)])
def test_the_characters_of_the_search_list(last: int, valid: bool) -> None:
    label = ".".join(["a" * 50] * 3 + ["b" * 47])
    assert len(label) == 200
    searches = [*[label] * 9, ".".join(["c" * 50] * 4 + ["d" * 60])[:last]]
    assert len(" ".join(searches)) == 2048 + (not valid)
    found = dns.validate_pod_dns_config(part(PodSpec, dnsConfig={"searches": searches}), "d")
    detail = "must not have more than 2048 characters (including spaces) in the search list"
    assert [error.detail for error in found] == ([] if valid else [detail])


def test_hostnames() -> None:
    assert told(dns.validate_hostnames(part(PodSpec, hostname="a", subdomain="b"), "s")) == []
    assert told(dns.validate_hostnames(part(PodSpec), "s")) == []
    found = told(dns.validate_hostnames(part(PodSpec, hostname="A", subdomain="a.b"), "s"))
    assert found == [f"s.hostname Invalid {LABEL_TEXT}", "s.subdomain Invalid must not contain dots"]


AT = "s.hostnameOverride"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"hostnameOverride": "a.b"}, []),
        ({"hostnameOverride": "a" * 64}, []),
        ({"hostnameOverride": "a" * 65}, [f"{AT} Invalid must be no more than 64 characters"]),
        ({"hostnameOverride": ""}, [f"{AT} Invalid {SUBDOMAIN_TEXT}"]),
        (
            {"hostnameOverride": "a", "setHostnameAsFQDN": True, "hostNetwork": True},
            [
                f"{AT} Forbidden may not be specified when `setHostnameAsFQDN` is true",
                f"{AT} Forbidden may not be specified when `hostNetwork` is true",
            ],
        ),
        ({"setHostnameAsFQDN": True, "hostNetwork": True}, []),
    ],
)
def test_a_hostname_override(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: validateHostnameOverride."""
    assert told(dns.validate_hostname_override(part(PodSpec, **spec), "s")) == errors


def test_host_aliases() -> None:
    aliases = [{"ip": "1.1.1.1", "hostnames": ["a", "A"]}, {"ip": "x"}]
    found = dns.validate_host_aliases(part(PodSpec, hostAliases=aliases).host_aliases, "h")
    assert told(found) == [f"h[0].hostnames[1] Invalid {SUBDOMAIN_TEXT}", f"h[1].ip Invalid {IP_TEXT}"]

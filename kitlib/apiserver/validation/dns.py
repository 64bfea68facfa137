"""Validation of a pod's hostname, host aliases and DNS configuration.

Source: pkg/apis/core/validation validatePodDNSConfig, ValidateHostAliases, ValidatePodSpec.
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.core import HostAlias, PodSpec
from kitlib.api.field_errors import Errors, each, forbidden, invalid, required
from kitlib.api.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_dns1123_subdomain_with_underscore,
    is_valid_ip,
)

MAX_NAMESERVERS, MAX_SEARCHES, MAX_SEARCH_CHARACTERS = 3, 32, 2048
MAX_HOSTNAME = 64


def validate_pod_dns_config(spec: PodSpec, field: str) -> Errors:
    """Source: validatePodDNSConfig."""
    config = spec.dns_config
    if spec.dns_policy == "None":
        if config is None:
            return [required(field, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{field}.nameservers", detail)]
    if config is None:
        return []
    found: Errors = []
    if len(config.nameservers) > MAX_NAMESERVERS:
        detail = f"must not have more than {MAX_NAMESERVERS} nameservers"
        found.append(invalid(f"{field}.nameservers", config.nameservers, detail))
    for i, address in enumerate(config.nameservers):
        found += each(f"{field}.nameservers[{i}]", address, is_valid_ip(address))
    if len(config.searches) > MAX_SEARCHES:
        detail = f"must not have more than {MAX_SEARCHES} search paths"
        found.append(invalid(f"{field}.searches", config.searches, detail))
    if len(" ".join(config.searches)) > MAX_SEARCH_CHARACTERS:
        detail = f"must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        found.append(invalid(f"{field}.searches", config.searches, detail))
    for i, search in enumerate(config.searches):
        if search != ".":
            name = search.removesuffix(".")
            found += each(f"{field}.searches[{i}]", name, is_dns1123_subdomain_with_underscore(name))
    for i, option in enumerate(config.options):
        if not option.name:
            found.append(required(f"{field}.options[{i}]", "must not be empty"))
    return found


def validate_hostnames(spec: PodSpec, field: str) -> Errors:
    """Check that `hostname` and `subdomain` are DNS labels."""
    found: Errors = []
    for name, value in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if value:
            found += each(f"{field}.{name}", value, is_dns1123_label(value))
    return found


def validate_hostname_override(spec: PodSpec, field: str) -> Errors:
    """Source: validateHostnameOverride, KEP-4762."""
    name = spec.hostname_override
    if name is None:
        return []
    found: Errors = []
    place = f"{field}.hostnameOverride"
    if len(name) > MAX_HOSTNAME:
        found.append(invalid(place, name, f"must be no more than {MAX_HOSTNAME} characters"))
    found += each(place, name, is_dns1123_subdomain(name))
    if spec.set_hostname_as_fqdn:
        found.append(forbidden(place, "may not be specified when `setHostnameAsFQDN` is true"))
    if spec.host_network:
        found.append(forbidden(place, "may not be specified when `hostNetwork` is true"))
    return found


def validate_host_aliases(aliases: Sequence[HostAlias], field: str) -> Errors:
    """Source: ValidateHostAliases."""
    found: Errors = []
    for i, alias in enumerate(aliases):
        found += each(f"{field}[{i}].ip", alias.ip, is_valid_ip(alias.ip))
        for j, name in enumerate(alias.hostnames):
            found += each(f"{field}[{i}].hostnames[{j}]", name, is_dns1123_subdomain(name))
    return found

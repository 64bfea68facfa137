"""Validation of Services' addresses and families, and of their changes in an update.

Source: pkg/apis/core/validation ValidateServiceClusterIPsRelatedFields, validateUpgradeDowngradeClusterIPs,
validateUpgradeDowngradeIPFamilies.
"""

from __future__ import annotations

from kitlib.api.core import Service
from kitlib.api.field_errors import Errors, duplicate, each, invalid, not_supported
from kitlib.api.names import is_valid_ip, parse_ip

FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
ONCE_SET = "may not change once set"


def cluster_ips(service: Service) -> list[str]:
    """Return the requested addresses, from either field. Source: normalizeClusterIPs."""
    spec = service.spec
    return spec.cluster_ips or ([spec.cluster_ip] if spec.cluster_ip else [])


def is_headless(service: Service) -> bool:
    """Source: isHeadlessService."""
    return cluster_ips(service) == ["None"]


def validate_service_cluster_ips_related_fields(service: Service, old: Service | None = None) -> Errors:
    """Source: ValidateServiceClusterIPsRelatedFields."""
    spec = service.spec
    if spec.type == "ExternalName":
        return []
    found: Errors = []
    place, addresses = "spec.clusterIPs", cluster_ips(service)
    if spec.cluster_ip:
        if addresses[0] != spec.cluster_ip:
            found.append(invalid(place, addresses, "first value must match `clusterIP`"))
    elif addresses:
        found.append(invalid(place, addresses, "must be empty when `clusterIP` is not specified"))
    seen: set[str] = set()
    for i, family in enumerate(spec.ip_families):
        if family not in FAMILIES:
            found.append(not_supported(f"spec.ipFamilies[{i}]", family, FAMILIES))
        if family in seen:
            found.append(duplicate(f"spec.ipFamilies[{i}]", family))
        seen.add(family)
    if spec.ip_family_policy is not None and spec.ip_family_policy not in FAMILY_POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", spec.ip_family_policy, FAMILY_POLICIES))
    wrong = False
    for i, address in enumerate(addresses):
        if i == 0 and address == "None":
            if len(addresses) > 1:
                wrong = True
                found.append(invalid(place, addresses, "'None' must be the first and only value"))
            continue
        problems = is_valid_ip(address, cluster_ips(old) if old is not None else ())
        wrong = wrong or bool(problems)
        found += each(f"{place}[{i}]", address, problems)
    if len(addresses) > 2:
        found.append(invalid(place, addresses, "may only hold up to 2 values"))
    if wrong:
        return found
    parsed = [parse_ip(address) for address in addresses if address != "None"]
    versions = [ip.version for ip in parsed if ip is not None]
    if len(addresses) > 1 and len(set(versions)) < 2:
        found.append(invalid(place, addresses, "may specify no more than one IP for each IP family"))
    if found:
        return found
    for i, (address, version, family) in enumerate(zip(addresses, versions, spec.ip_families, strict=False)):
        if family in FAMILIES and family != f"IPv{version}":
            detail = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            found.append(invalid(f"{place}[{i}]", address, detail))
    return found


def validate_upgrade_downgrade_cluster_ips(new: Service, old: Service) -> Errors:
    """Check that the first address is unchanged; the second may be added or released.

    Source: validateUpgradeDowngradeClusterIPs.
    """
    if "ExternalName" in (new.spec.type, old.spec.type):
        return []
    now, before, place = cluster_ips(new), cluster_ips(old), "spec.clusterIPs"
    if is_headless(new) and is_headless(old):
        return []
    if len(now) == len(before):
        pairs = enumerate(zip(now, before, strict=True))
        return [invalid(f"{place}[{i}]", now, ONCE_SET) for i, (address, was) in pairs if address != was]
    found: Errors = []
    if not now:
        found.append(invalid(f"{place}[0]", None, "primary clusterIP can not be unset"))
    if now and before and now[0] != before[0]:
        found.append(invalid(f"{place}[0]", now, ONCE_SET))
    if len(now) == 1 < len(before):
        found += _released(new, "clusterIP")
    return found


def validate_upgrade_downgrade_ip_families(new: Service, old: Service) -> Errors:
    """Check that the first family is unchanged, except of a headless Service.

    Source: validateUpgradeDowngradeIPFamilies.
    """
    if "ExternalName" in (new.spec.type, old.spec.type):
        return []
    now, before, place = new.spec.ip_families, old.spec.ip_families, "spec.ipFamilies[0]"
    if is_headless(new) or is_headless(old):
        return []
    if len(now) == len(before):
        return [invalid(place, now, ONCE_SET) for one, was in zip(now, before, strict=True) if one != was]
    found: Errors = []
    if len(now) < len(before) and not cluster_ips(new):
        found.append(invalid(place, now or None, "primary ipFamily can not be unset"))
    if now and before and now[0] != before[0]:
        found.append(invalid(place, cluster_ips(new) or None, ONCE_SET))
    if len(now) == 1 < len(before):
        found += _released(new, "ipFamily")
    return found


def _released(service: Service, what: str) -> Errors:
    policy = service.spec.ip_family_policy
    detail = f"must be set to 'SingleStack' when releasing the secondary {what}"
    return [] if policy == "SingleStack" else [invalid("spec.ipFamilyPolicy", policy, detail)]

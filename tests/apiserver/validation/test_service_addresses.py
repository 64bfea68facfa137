"""Addresses and families of Services, and their changes."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Service
from kitlib.api.names import IP_TEXT
from kitlib.apiserver.validation import service_addresses as addresses
from tests.apiserver.validation.told import named, told


def service(*ips: str, families: str = "", policy: str | None = None, **spec: Any) -> Service:
    one = {"clusterIP": ips[0]} if ips else {}
    listed = [f"IPv{family}" for family in families]
    whole = {"type": "ClusterIP", **one, "clusterIPs": list(ips), "ipFamilies": listed, "ipFamilyPolicy": policy}
    return named(Service, spec={**whole, **spec})


A4, B4, A6, B6 = "10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"
PLACE = "spec.clusterIPs"


@pytest.mark.parametrize(
    ("made", "expected", "headless"),
    [
        (service(), [], False),
        (service(A4), [A4], False),
        (service(clusterIP=A4), [A4], False),
        (service(A4, A6), [A4, A6], False),
        (service("None"), ["None"], True),
        (service("None", A4), ["None", A4], False),
    ],
)
def test_the_requested_addresses(made: Service, expected: list[str], headless: bool) -> None:
    assert (addresses.cluster_ips(made), addresses.is_headless(made)) == (expected, headless)


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (service(), []),
        (service(A4, A6, families="46"), []),
        (service("None"), []),
        (service(A4, A4, B4, type="ExternalName"), []),
        (service(A4, clusterIP=B4), [f"{PLACE} Invalid first value must match `clusterIP`"]),
        (service(A4, clusterIP=""), [f"{PLACE} Invalid must be empty when `clusterIP` is not specified"]),
        (service(families="5"), ['spec.ipFamilies[0] NotSupported supported values: "IPv4", "IPv6"']),
        (service(families="44"), ["spec.ipFamilies[1] Duplicate"]),
        (service(policy="x"), [
            'spec.ipFamilyPolicy NotSupported supported values: "PreferDualStack", "RequireDualStack", "SingleStack"'
        ]),
        (service("None", A4), [f"{PLACE} Invalid 'None' must be the first and only value"]),
        (service(A4, "None"), [f"{PLACE}[1] Invalid {IP_TEXT}"]),
        (service("010.0.0.1"), [f"{PLACE}[0] Invalid must not have leading 0s"]),
        (service(A4, A6, B4), [f"{PLACE} Invalid may only hold up to 2 values"]),
        (service(A4, B4), [f"{PLACE} Invalid may specify no more than one IP for each IP family"]),
        (service(A6, families="4"), [f"{PLACE}[0] Invalid expected an IPv4 value as indicated by `ipFamilies[0]`"]),
        (service(A4, A6, families="64"), [
            f"{PLACE}[0] Invalid expected an IPv6 value as indicated by `ipFamilies[0]`",
            f"{PLACE}[1] Invalid expected an IPv4 value as indicated by `ipFamilies[1]`",
        ]),
    ],
)  # fmt: skip
def test_the_fields_fit(made: Service, errors: list[str]) -> None:
    """Source: ValidateServiceClusterIPsRelatedFields."""
    assert told(addresses.validate_service_cluster_ips_related_fields(made)) == errors


def test_a_stored_address_stays_valid() -> None:
    old = service("010.0.0.1")
    assert told(addresses.validate_service_cluster_ips_related_fields(old, old)) == []


RELEASE = "spec.ipFamilyPolicy Invalid must be set to 'SingleStack' when releasing the secondary {}"


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        (service(A4), service(A4), []),
        (service(A4), service(A4, A6), []),
        (service(A4), service(B4), [f"{PLACE}[0] Invalid may not change once set"]),
        (service(A4, A6), service(A4, B6), [f"{PLACE}[1] Invalid may not change once set"]),
        (service(A4), service(), [f"{PLACE}[0] Invalid primary clusterIP can not be unset"]),
        (service(A4), service(B4, A6), [f"{PLACE}[0] Invalid may not change once set"]),
        (service(A4, A6), service(A4), [RELEASE.format("clusterIP")]),
        (service(A4, A6), service(A4, policy="SingleStack"), []),
        (service(), service(A4), []),
        (service(A4), service(type="ExternalName"), []),
        (service("None"), service("None"), []),
        (service("None"), service(A4), [f"{PLACE}[0] Invalid may not change once set"]),
    ],
)
def test_addresses_of_an_update(old: Service, new: Service, errors: list[str]) -> None:
    """Source: validateUpgradeDowngradeClusterIPs."""
    assert told(addresses.validate_upgrade_downgrade_cluster_ips(new, old)) == errors


FAMILY = "spec.ipFamilies[0] Invalid"


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        (service(A4, families="4"), service(A4, families="4"), []),
        (service(A4, families="4"), service(A4, families="46"), []),
        (service(A4, families="4"), service(A4, families="6"), [f"{FAMILY} may not change once set"]),
        (service(A4, families="4"), service(A4, families="64"), [f"{FAMILY} may not change once set"]),
        (service(A4, families="46"), service(A4, families="4"), [RELEASE.format("ipFamily")]),
        (service(A4, families="46"), service(A4, families="4", policy="SingleStack"), []),
        (service(families="4"), service(), [f"{FAMILY} primary ipFamily can not be unset"]),
        (service(A4, families="4"), service("None", families="6"), []),
        (service("None", families="4"), service(A4, families="6"), []),
        (service(A4, families="4"), service(families="6", type="ExternalName"), []),
    ],
)
def test_families_of_an_update(old: Service, new: Service, errors: list[str]) -> None:
    """Source: validateUpgradeDowngradeIPFamilies."""
    assert told(addresses.validate_upgrade_downgrade_ip_families(new, old)) == errors

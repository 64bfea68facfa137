"""The policy in a namespace's labels."""

from __future__ import annotations

import pytest

from kitlib.apiserver.admission.podsecurity.levels import LevelVersion, policy_to_evaluate, stricter

PREFIX = "pod-security.kubernetes.io/"
LEVEL, VERSION = "must be one of privileged, baseline, restricted", 'must be "latest" or "v1.x"'


@pytest.mark.parametrize(
    ("labels", "enforce", "audit", "warn", "problems"),
    [
        ({}, "privileged:latest", "privileged:latest", "privileged:latest", []),
        ({"enforce": "baseline"}, "baseline:latest", "privileged:latest", "baseline:latest", []),
        (
            {"enforce": "restricted", "enforce-version": "v1.25"},
            "restricted:v1.25",
            "privileged:latest",
            "restricted:v1.25",
            [],
        ),
        (
            {"enforce": "restricted", "enforce-version": "v1.25", "warn-version": "v1.20"},
            "restricted:v1.25",
            "privileged:latest",
            "restricted:v1.20",
            [],
        ),
        (
            {"enforce": "restricted", "warn": "baseline"},
            "restricted:latest",
            "privileged:latest",
            "baseline:latest",
            [],
        ),
        (
            {"enforce": "privileged", "audit": "baseline"},
            "privileged:latest",
            "baseline:latest",
            "privileged:latest",
            [],
        ),
        # An invalid level: the strictest one is enforced, and nothing is audited or warned of.
        ({"enforce": "x"}, "restricted:latest", "privileged:latest", "privileged:latest", [("enforce", "x", LEVEL)]),
        ({"enforce": ""}, "restricted:latest", "privileged:latest", "privileged:latest", [("enforce", "", LEVEL)]),
        (
            {"audit": "x", "warn": "y"},
            "privileged:latest",
            "privileged:latest",
            "privileged:latest",
            [("audit", "x", LEVEL), ("warn", "y", LEVEL)],
        ),
        (
            {"enforce": "baseline", "enforce-version": "1.25"},
            "baseline:latest",
            "privileged:latest",
            "baseline:latest",
            [("enforce-version", "1.25", VERSION)],
        ),
    ],
)
def test_the_policy_of_a_namespace(
    labels: dict[str, str], enforce: str, audit: str, warn: str, problems: list[tuple[str, str, str]]
) -> None:
    """Source: PolicyToEvaluate."""
    policy, errors = policy_to_evaluate({f"{PREFIX}{name}": value for name, value in labels.items()})
    assert (str(policy.enforce), str(policy.audit), str(policy.warn)) == (enforce, audit, warn)
    expected = [
        f'metadata.labels[{PREFIX}{name}]: Invalid value: "{value}": {detail}' for name, value, detail in problems
    ]
    assert [str(error) for error in errors] == expected


@pytest.mark.parametrize(
    ("version", "valid"),
    [
        ("latest", True),
        ("v1.0", True),
        ("v1.36", True),
        ("v1.01", False),
        ("v2.0", False),
        ("v1.", False),
        ("v1.2.3", False),
        ("V1.2", False),
        ("v1.٣", False),
        ("", False),
    ],
)
def test_versions(version: str, valid: bool) -> None:
    """Source: ParseVersion."""
    policy, errors = policy_to_evaluate({f"{PREFIX}audit-version": version})
    assert (errors == [], policy.audit.version) == (valid, version if valid else "latest")


@pytest.mark.parametrize(
    ("version", "minor"), [("latest", 36), ("v1.0", 0), ("v1.35", 35), ("v1.36", 36), ("v1.99", 36)]
)
def test_the_checks_of_a_version_are_at_most_the_servers(version: str, minor: int) -> None:
    assert LevelVersion("baseline", version).minor(36) == minor


@pytest.mark.parametrize(
    ("level", "than", "expected"),
    [
        ("restricted", "baseline", True),
        ("baseline", "privileged", True),
        ("restricted", "privileged", True),
        ("baseline", "baseline", False),
        ("privileged", "baseline", False),
        ("baseline", "restricted", False),
    ],
)
def test_the_order_of_the_levels(level: str, than: str, expected: bool) -> None:
    assert stricter(level, than) is expected

"""The checks of the level `restricted`, with upstream's messages."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.apiserver.admission.podsecurity import baseline, restricted
from tests.apiserver.admission.podsecurity.checks import answer, at, pod


def of(name: str, minor: int, made: Pod) -> str:
    return answer(at(restricted.CHECKS, name, minor), made)


WINDOWS: dict[str, Any] = {"os": {"name": "windows"}}
USER_NAMESPACE: dict[str, Any] = {"hostUsers": False}


@pytest.mark.parametrize(
    ("contexts", "bad"),
    [
        (({"allowPrivilegeEscalation": False},), ""),
        (({"allowPrivilegeEscalation": True}, {"allowPrivilegeEscalation": False}), 'container "a"'),
        (({}, None), 'containers "a", "b"'),
    ],
)
def test_privilege_escalation(contexts: tuple[Any, ...], bad: str) -> None:
    """Source: allowPrivilegeEscalationV1Dot8."""
    detail = "must set securityContext.allowPrivilegeEscalation=false"
    text = f"allowPrivilegeEscalation != false ({bad} {detail})" if bad else ""
    assert of("allowPrivilegeEscalation", 8, pod(*contexts)) == text
    assert of("allowPrivilegeEscalation", 24, pod(*contexts, **WINDOWS)) == text
    assert of("allowPrivilegeEscalation", 25, pod(*contexts, **WINDOWS)) == ""
    assert of("allowPrivilegeEscalation", 25, pod(*contexts)) == text


def caps(drop: tuple[str, ...] = (), add: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"capabilities": {"drop": list(drop), "add": list(add)}}


DROP = 'must set securityContext.capabilities.drop=["ALL"]'


@pytest.mark.parametrize(
    ("contexts", "details"),
    [
        ((caps(("ALL",)), caps(("X", "ALL"), ("NET_BIND_SERVICE",))), ""),
        ((caps(("all",)),), f'container "a" {DROP}'),
        ((caps(), None, {}), f'containers "a", "b", "c" {DROP}'),
        (
            (caps(("ALL",), ("KILL", "NET_BIND_SERVICE", "CHOWN")),),
            'container "a" must not include "CHOWN", "KILL" in securityContext.capabilities.add',
        ),
        (
            (caps((), ("KILL",)), caps(("ALL",), ("CHOWN",))),
            f'container "a" {DROP}; containers "a", "b" must not include "CHOWN", "KILL" in '
            "securityContext.capabilities.add",
        ),
    ],
)
def test_capabilities(contexts: tuple[Any, ...], details: str) -> None:
    """Source: capabilitiesRestrictedV1Dot22, V1Dot25."""
    text = f"unrestricted capabilities ({details})" if details else ""
    assert of("capabilities_restricted", 22, pod(*contexts)) == text
    assert of("capabilities_restricted", 24, pod(*contexts, **WINDOWS)) == text
    assert of("capabilities_restricted", 25, pod(*contexts, **WINDOWS)) == ""


@pytest.mark.parametrize(
    ("volumes", "text"),
    [
        ([], ""),
        (
            [
                {"name": "a", "configMap": {"name": "x"}},
                {"name": "b", "csi": {"driver": "x"}},
                {"name": "c", "downwardAPI": {}},
                {"name": "d", "emptyDir": {}},
                {"name": "e", "ephemeral": {}},
                {"name": "f", "persistentVolumeClaim": {"claimName": "x"}},
                {"name": "g", "projected": {}},
                {"name": "h", "secret": {}},
                {"name": "i", "image": {}},
            ],
            "",
        ),
        ([{"name": "a", "hostPath": {"path": "/"}}], 'volume "a" uses restricted volume type "hostPath"'),
        ([{"name": "a"}], 'volume "a" uses restricted volume type "unknown"'),
        (
            [{"name": "b", "nfs": {}}, {"name": "a", "hostPath": {"path": "/"}}, {"name": "c", "nfs": {}}],
            'volumes "b", "a", "c" use restricted volume types "hostPath", "nfs"',
        ),
        ([{"name": "b", "nfs": {}}, {"name": "a", "nfs": {}}], 'volumes "b", "a" use restricted volume type "nfs"'),
    ],
)
def test_volumes(volumes: list[dict[str, Any]], text: str) -> None:
    """Source: restrictedVolumesV1Dot0."""
    found = of("restrictedVolumes", 0, pod({}, volumes=volumes))
    assert found == (f"restricted volume types ({text})" if text else "")


def root(value: bool | None) -> dict[str, Any]:
    return {} if value is None else {"runAsNonRoot": value}


@pytest.mark.parametrize(
    ("own", "containers", "detail"),
    [
        (True, (None,), ""),
        (None, (True, True), ""),
        (True, (False, None), 'container "a" must not set securityContext.runAsNonRoot=false'),
        (False, (True,), "pod must not set securityContext.runAsNonRoot=false"),
        (False, (False,), 'pod and container "a" must not set securityContext.runAsNonRoot=false'),
        (None, (None, True), 'pod or container "a" must set securityContext.runAsNonRoot=true'),
        (None, (None, None), 'pod or containers "a", "b" must set securityContext.runAsNonRoot=true'),
        (None, (None, False), 'container "b" must not set securityContext.runAsNonRoot=false'),
    ],
)
def test_root(own: bool | None, containers: tuple[bool | None, ...], detail: str) -> None:
    """Source: runAsNonRootV1Dot0, V1Dot35."""
    made = [root(one) for one in containers]
    text = f"runAsNonRoot != true ({detail})" if detail else ""
    assert of("runAsNonRoot", 0, pod(*made, securityContext=root(own))) == text
    assert of("runAsNonRoot", 34, pod(*made, securityContext=root(own), **USER_NAMESPACE)) == text
    assert of("runAsNonRoot", 35, pod(*made, securityContext=root(own), **USER_NAMESPACE)) == ""
    assert of("runAsNonRoot", 35, pod(*made, securityContext=root(own))) == text


@pytest.mark.parametrize(
    ("own", "containers", "who"),
    [
        (1, (None, 1), ""),
        (0, (1,), "pod"),
        (None, (0, 1), 'container "a"'),
        (0, (0, 0), 'pod and containers "a", "b"'),
    ],
)
def test_the_user_0(own: int | None, containers: tuple[int | None, ...], who: str) -> None:
    """Source: runAsUserV1Dot23, V1Dot35."""
    made = [{"runAsUser": one} for one in containers]
    text = f"runAsUser=0 ({who} must not set runAsUser=0)" if who else ""
    assert of("runAsUser", 23, pod(*made, securityContext={"runAsUser": own})) == text
    assert of("runAsUser", 34, pod(*made, securityContext={"runAsUser": own}, **USER_NAMESPACE)) == text
    assert of("runAsUser", 35, pod(*made, securityContext={"runAsUser": own}, **USER_NAMESPACE)) == ""
    assert min(first for first, _ in restricted.CHECKS["runAsUser"]) == 23


def seccomp(name: str | None) -> dict[str, Any]:
    return {} if name is None else {"seccompProfile": {"type": name}}


@pytest.mark.parametrize(
    ("own", "containers", "detail"),
    [
        ("RuntimeDefault", (None,), ""),
        (None, ("Localhost", "RuntimeDefault"), ""),
        (
            None,
            ("Localhost", None),
            'pod or container "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"',
        ),
        (
            "RuntimeDefault",
            ("Unconfined",),
            'container "a" must not set securityContext.seccompProfile.type to "Unconfined"',
        ),
        ("Unconfined", ("Localhost",), 'pod must not set securityContext.seccompProfile.type to "Unconfined"'),
    ],
)
def test_seccomp(own: str | None, containers: tuple[str | None, ...], detail: str) -> None:
    """Source: seccompProfileRestrictedV1Dot19, V1Dot25."""
    made = [seccomp(one) for one in containers]
    text = f"seccompProfile ({detail})" if detail else ""
    assert of("seccompProfile_restricted", 19, pod(*made, securityContext=seccomp(own))) == text
    assert of("seccompProfile_restricted", 24, pod(*made, securityContext=seccomp(own), **WINDOWS)) == text
    assert of("seccompProfile_restricted", 25, pod(*made, securityContext=seccomp(own), **WINDOWS)) == ""


def test_proc_mount_is_checked_in_user_namespaces_too() -> None:
    """Source: procMountV1Dot35Restricted."""
    found = of("procMount_restricted", 35, pod({"procMount": "Unmasked"}, **USER_NAMESPACE))
    assert found == 'procMount (container "a" must not set securityContext.procMount to "Unmasked")'


def test_each_override_replaces_a_check_of_baseline() -> None:
    assert set(restricted.OVERRIDES) <= set(restricted.CHECKS)
    assert set(restricted.OVERRIDES.values()) <= set(baseline.CHECKS)
    for checks in (baseline.CHECKS, restricted.CHECKS):
        assert list(checks) == sorted(checks)
        assert all(
            [first for first, _ in versions] == sorted({first for first, _ in versions}) for versions in checks.values()
        )

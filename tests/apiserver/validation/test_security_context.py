"""Security contexts of containers and pods: users, profiles, sysctls, Windows, namespaces of the host."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.container import SecurityContext
from kitlib.api.core import PodSpec
from kitlib.api.names import SUBDOMAIN_TEXT
from kitlib.apiserver.validation import security_context as module
from tests.apiserver.validation.told import part, told

ID = "must be between 0 and 2147483647, inclusive"
PROFILES = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"'


def container(*, host_users: bool = True, **fields: Any) -> list[str]:
    made = part(SecurityContext, **fields)
    return told(module.validate_security_context(made, "s", host_users=host_users))


def pod(fields: dict[str, Any], **spec: Any) -> list[str]:
    return told(module.validate_pod_spec_security_context(part(PodSpec, securityContext=fields, **spec), "s"))


def test_none() -> None:
    assert module.validate_security_context(None, "s", host_users=True) == []
    assert module.validate_pod_spec_security_context(PodSpec(), "s") == []
    assert container() == pod({}) == []


def test_users_and_groups() -> None:
    """Source: IsValidUserID, IsValidGroupID."""
    most = 2**31 - 1
    assert container(runAsUser=0, runAsGroup=most) == []
    assert container(runAsUser=-1, runAsGroup=most + 1) == [f"s.runAsUser Invalid {ID}", f"s.runAsGroup Invalid {ID}"]
    assert pod({"fsGroup": 0, "runAsUser": most, "runAsGroup": 0, "supplementalGroups": [0, most]}) == []
    wrong = {"supplementalGroups": [-1, 1, most + 1], "runAsGroup": -1, "runAsUser": most + 1, "fsGroup": -1}
    names = ("fsGroup", "runAsUser", "runAsGroup", "supplementalGroups[0]", "supplementalGroups[2]")
    assert pod(wrong) == [f"s.{name} Invalid {ID}" for name in names]


@pytest.mark.parametrize(
    ("mount", "host_users", "expected"),
    [
        ("Default", True, []),
        ("Unmasked", False, []),
        ("Unmasked", True, ["Invalid `hostUsers` must be false to use `Unmasked`"]),
        ("x", True, ['NotSupported supported values: "Default", "Unmasked"']),
        ("", False, ['NotSupported supported values: "Default", "Unmasked"']),
    ],
)
def test_proc_mounts(mount: str, host_users: bool, expected: list[str]) -> None:
    """Source: ValidateSecurityContext."""
    assert container(procMount=mount, host_users=host_users) == [f"s.procMount {text}" for text in expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"allowPrivilegeEscalation": False}, []),
        ({"allowPrivilegeEscalation": True, "privileged": True}, []),
        ({"privileged": True, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}, []),
        ({"allowPrivilegeEscalation": False, "privileged": True}, ["`privileged` to true"]),
        (
            {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN", "SYS_ADMIN"]}},
            ["`capabilities.Add` CAP_SYS_ADMIN"],
        ),
        ({"allowPrivilegeEscalation": False, "capabilities": {"drop": ["CAP_SYS_ADMIN"]}}, []),
        (
            {"allowPrivilegeEscalation": False, "privileged": True, "capabilities": {"add": ["CAP_SYS_ADMIN"] * 2}},
            ["`privileged` to true", *["`capabilities.Add` CAP_SYS_ADMIN"] * 2],
        ),
    ],
)
def test_escalation(fields: dict[str, Any], expected: list[str]) -> None:
    assert container(**fields) == [
        f"s Invalid cannot set `allowPrivilegeEscalation` to false and {text}" for text in expected
    ]


SECCOMP_ONLY = "localhostProfile Invalid can only be set when seccomp type is Localhost"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"type": "RuntimeDefault"}, []),
        ({"type": "Unconfined"}, []),
        ({"type": "Localhost", "localhostProfile": "a/b.json"}, []),
        ({"type": "Localhost", "localhostProfile": ""}, []),
        ({"type": "Localhost"}, ["localhostProfile Required must be set when seccomp type is Localhost"]),
        (
            {"type": "Localhost", "localhostProfile": "/a/../b"},
            ["localhostProfile Invalid must be a relative path", "localhostProfile Invalid must not contain '..'"],
        ),
        ({"type": "RuntimeDefault", "localhostProfile": ""}, [SECCOMP_ONLY]),
        (
            {"localhostProfile": "a"},
            ["type Required type is required when seccompProfile is set", SECCOMP_ONLY],
        ),
        ({"type": "localhost", "localhostProfile": "a"}, [f"type NotSupported {PROFILES}", SECCOMP_ONLY]),
    ],
)
def test_seccomp(profile: dict[str, Any], expected: list[str]) -> None:
    """Source: validateSeccompProfileField."""
    texts = [f"s.seccompProfile.{text}" for text in expected]
    assert container(seccompProfile=profile) == pod({"seccompProfile": profile}) == texts


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"type": "RuntimeDefault"}, []),
        ({"type": "Unconfined"}, []),
        ({"type": "Localhost", "localhostProfile": "a" * 4095}, []),
        ({"type": "Localhost"}, ["localhostProfile Required must be set when AppArmor type is Localhost"]),
        (
            {"type": "Localhost", "localhostProfile": ""},
            ["localhostProfile Required must be set when AppArmor type is Localhost"],
        ),
        (
            {"type": "Localhost", "localhostProfile": " "},
            ["localhostProfile Invalid must not be padded with whitespace"],
        ),
        (
            {"type": "Localhost", "localhostProfile": "a" * 4095 + " "},
            [
                "localhostProfile Invalid must not be padded with whitespace",
                "localhostProfile TooLong may not be more than 4095 bytes",
            ],
        ),
        (
            {"type": "Localhost", "localhostProfile": "é" * 2048},
            ["localhostProfile TooLong may not be more than 4095 bytes"],
        ),
        (
            {"type": "Unconfined", "localhostProfile": ""},
            ["localhostProfile Invalid can only be set when AppArmor type is Localhost"],
        ),
        ({"localhostProfile": "a"}, ["type Required type is required when appArmorProfile is set"]),
        ({"type": "x", "localhostProfile": "a"}, [f"type NotSupported {PROFILES}"]),
    ],
)
def test_app_armor(profile: dict[str, Any], expected: list[str]) -> None:
    """Source: ValidateAppArmorProfileField."""
    texts = [f"s.appArmorProfile.{text}" for text in expected]
    assert container(appArmorProfile=profile) == pod({"appArmorProfile": profile}) == texts


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ada", []),
        ("CORP\\ada", []),
        ("corp.example.com\\ada", []),
        ("", [" cannot be an empty string"]),
        ("a\x1fb", [" cannot contain control characters"]),
        ("a\x7fb", [" cannot contain control characters"]),
        ("a\\b\\c", [" cannot contain more than one backslash"]),
        ("\\ada", ["'s Domain doesn't match the NetBios nor the DNS format"]),
        (".corp\\ada", ["'s Domain doesn't match the NetBios nor the DNS format"]),
        ("a" * 15 + "\\ada", []),
        ("a_" + "b" * 13 + "\\ada", []),
        ("a_" + "b" * 14 + "\\ada", ["'s Domain doesn't match the NetBios nor the DNS format"]),
        ("a" * 63 + "\\ada", []),
        ("a" * 64 + "\\ada", ["'s Domain doesn't match the NetBios nor the DNS format"]),
        (".".join(["a" * 50] * 4) + "." + "b" * 51 + "\\ada", []),
        (".".join(["a" * 50] * 4) + "." + "b" * 52 + "\\ada", ["'s Domain length must be under 256 characters"]),
        ("a.b\\", ["'s User cannot be empty"]),
        ("a.b\\" + "u" * 104, []),
        ("u" * 105, ["'s User length must not be longer than 104 characters"]),
        (". .", ["'s User cannot contain only periods or spaces"]),
        (". a", []),
        ("a@b", ["'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"]),
        (
            "x" * 256 + "\\" + "?" * 105,
            [
                "'s Domain length must be under 256 characters",
                "'s Domain doesn't match the NetBios nor the DNS format",
                "'s User length must not be longer than 104 characters",
                "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
            ],
        ),
    ],
)
def test_windows_users(name: str, expected: list[str]) -> None:
    """Source: validateWindowsSecurityContextOptions."""
    texts = [f"s.windowsOptions.runAsUserName Invalid runAsUserName{text}" for text in expected]
    options: dict[str, Any] = {"windowsOptions": {"runAsUserName": name}}
    assert container(**options) == pod(options) == texts


@pytest.mark.parametrize("character", list('"/:;|=,+*?<>@[]'))
def test_characters_of_windows_users(character: str) -> None:
    found = container(windowsOptions={"runAsUserName": f"a{character}"})
    assert len(found) == 1 and "following characters" in found[0]


def test_gmsa() -> None:
    """Source: validateWindowsSecurityContextOptions, maxGMSACredentialSpecLength."""
    for text, expected in (
        ("x" * 65536, ""),
        ("x" * 65537, "gmsaCredentialSpec size must be under 64 KiB"),
        ("é" * 32769, "gmsaCredentialSpec size must be under 64 KiB"),
        ("", "gmsaCredentialSpec cannot be an empty string"),
    ):
        found = container(windowsOptions={"gmsaCredentialSpecName": "a.b", "gmsaCredentialSpec": text})
        assert found == ([f"s.windowsOptions.gmsaCredentialSpec Invalid {expected}"] if expected else [])
    found = container(windowsOptions={"gmsaCredentialSpecName": "A"})
    assert found == [f"s.windowsOptions.gmsaCredentialSpecName Invalid {SUBDOMAIN_TEXT}"]


def test_policies_of_a_pod() -> None:
    valid = (
        ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    )
    for name, values in valid:
        for value in values:
            assert pod({name: value}) == []
    assert pod({name: "" for name, _ in reversed(valid)}) == [
        f's.{name} NotSupported supported values: "{first}", "{second}"' for name, (first, second) in valid
    ]


def test_a_shared_process_namespace() -> None:
    text = "s.shareProcessNamespace Invalid ShareProcessNamespace and HostPID cannot both be enabled"
    assert pod({}, shareProcessNamespace=True, hostPID=True) == [text]
    assert pod({}, shareProcessNamespace=True) == pod({}, shareProcessNamespace=False, hostPID=True) == []


SYSCTL = (
    "Invalid must have at most 253 characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["kernel.shm_rmid_forced", "net/ipv4/ip-forward", "a"], []),
        (["a." + "b" * 251], []),
        (["a." + "b" * 252], [f"[0].name {SYSCTL}"]),
        (["a", "", "B", "a..b", "_a", "a."], ["[1].name Required", *[f"[{i}].name {SYSCTL}" for i in range(2, 6)]]),
        (["a", "b", "a", "a"], ["[2].name Duplicate", "[3].name Duplicate"]),
        (["a.b", "a/b"], []),
    ],
)
def test_names_of_sysctls(names: list[str], expected: list[str]) -> None:
    """Source: validateSysctls, IsValidSysctlName."""
    found = pod({"sysctls": [{"name": name, "value": "1"} for name in names]})
    assert found == [f"s.sysctls{text}" for text in expected]


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("net.core.somaxconn", "net"),
        ("net/core/somaxconn", "net"),
        ("network", ""),
        ("kernel.shmmax", "ipc"),
        ("kernel/msgmax", "ipc"),
        ("kernel.sem", "ipc"),
        ("kernel.sem2", ""),
        ("fs.mqueue.msg_max", "ipc"),
        ("fs.mqueue", ""),
        ("net", ""),
        ("kernel.pid_max", ""),
    ],
)
def test_sysctls_of_the_hosts_namespaces(name: str, namespace: str) -> None:
    """Source: ValidateHostSysctl, sysctl GetNamespace."""
    fields = {"sysctls": [{"name": name, "value": "1"}]}
    assert pod(fields) == []
    text = "s.sysctls[0].name Invalid may not be specified when"
    assert pod(fields, hostNetwork=True) == ([f"{text} 'hostNetwork' is true"] if namespace == "net" else [])
    assert pod(fields, hostIPC=True) == ([f"{text} 'hostIPC' is true"] if namespace == "ipc" else [])


def windows(of_pod: bool | None, *containers: bool | None, network: bool = True, **more: Any) -> list[str]:
    def options(value: bool | None) -> dict[str, Any]:
        return {"securityContext": {"windowsOptions": {"hostProcess": value}}}

    listed = [{"name": f"c{i}", **options(one)} for i, one in enumerate(containers)]
    spec = part(PodSpec, containers=listed, hostNetwork=network, **options(of_pod), **more)
    return told(module.validate_windows_host_process_pod(spec, "p"))


ALL = "p Invalid If pod contains any hostProcess containers then all containers must be HostProcess containers"
NETWORK = "p.hostNetwork Invalid hostNetwork must be true if pod contains any hostProcess containers"


def differs(place: str, was: str) -> str:
    at = f"p.{place}.securityContext.windowsOptions.hostProcess"
    return f"{at} Invalid pod hostProcess value must be identical if both are specified, was {was}"


def test_windows_host_process_pods() -> None:
    """All containers are HostProcess ones or none. Source: validateWindowsHostProcessPod."""
    assert windows(None, None, False, network=False) == windows(False, None, False, network=False) == []
    assert windows(True, None, True) == windows(None, True, True) == windows(True) == []
    assert windows(None, True, None) == windows(None, False, True) == [ALL]
    assert windows(True, None, network=False) == [NETWORK]
    assert windows(True, None, False) == [differs("containers[1]", "true"), ALL]
    assert windows(False, True, network=False) == [differs("containers[0]", "false"), NETWORK]
    other: dict[str, Any] = {"securityContext": {"windowsOptions": {"hostProcess": False}}}
    more: dict[str, Any] = {
        "initContainers": [{"name": "i", **other}],
        "ephemeralContainers": [{"name": "e", **other}, {"name": "f"}],
    }
    assert windows(True, True, **more) == [
        differs("initContainers[0]", "true"),
        differs("ephemeralContainers[0]", "true"),
        ALL,
    ]
    assert windows(None, True, ephemeralContainers=[{"name": "e"}]) == [ALL]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"hostUsers": False}, []),
        ({"hostUsers": True, "hostNetwork": True, "hostPID": True, "hostIPC": True}, []),
        ({"hostNetwork": True, "hostPID": True, "hostIPC": True}, []),
        ({"hostUsers": False, "hostPID": True}, ["HostPID"]),
        (
            {"hostUsers": False, "hostIPC": True, "hostPID": True, "hostNetwork": True},
            ["hostNetwork", "HostPID", "HostIPC"],
        ),
    ],
)
def test_a_user_namespace_beside_the_hosts_others(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: validateHostUsers."""
    found = told(module.validate_host_users(part(PodSpec, **fields), "p"))
    assert found == [f"p.{name} Forbidden when `pod.Spec.HostUsers` is false" for name in expected]

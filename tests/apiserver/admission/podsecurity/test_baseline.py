"""The checks of the level `baseline`, with upstream's messages."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.apiserver.admission.podsecurity import baseline
from tests.apiserver.admission.podsecurity.checks import answer, at, pod

APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"


def of(name: str, minor: int, made: Pod) -> str:
    return answer(at(baseline.CHECKS, name, minor), made)


def profile(kind: str, name: str) -> dict[str, Any]:
    return {kind: {"type": name}}


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (pod({}, None), ""),
        (pod(profile("appArmorProfile", "RuntimeDefault"), profile("appArmorProfile", "Localhost")), ""),
        (
            pod(profile("appArmorProfile", "Unconfined")),
            'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
        ),
        (
            pod({}, securityContext=profile("appArmorProfile", "Unconfined")),
            'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
        ),
        (
            pod({}, annotations={f"{APPARMOR}x": "unconfined", f"{APPARMOR}a": "runtime/default"}),
            f'forbidden AppArmor profile (annotation must not set AppArmor profile type to "{APPARMOR}x="unconfined"")',
        ),
        (pod({}, annotations={f"{APPARMOR}a": "", f"{APPARMOR}b": "localhost/x", "other": "unconfined"}), ""),
        (
            pod(
                profile("appArmorProfile", "Z"),
                profile("appArmorProfile", "Y"),
                securityContext=profile("appArmorProfile", "Unconfined"),
                annotations={f"{APPARMOR}b": "x", f"{APPARMOR}a": "y"},
            ),
            'forbidden AppArmor profiles (pod and containers "a", "b" and annotations must not set AppArmor profile '
            f'type to "Unconfined", "Y", "Z", "{APPARMOR}a="y"", "{APPARMOR}b="x"")',
        ),
    ],
)
def test_app_armor(made: Pod, text: str) -> None:
    """Source: appArmorProfileV1Dot0."""
    assert of("appArmorProfile", 0, made) == text


def capabilities(*names: str) -> dict[str, Any]:
    return {"capabilities": {"add": list(names)}}


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (pod({}, None, capabilities("CHOWN", "NET_BIND_SERVICE", "SYS_CHROOT", "MKNOD", "AUDIT_WRITE")), ""),
        (pod({"capabilities": {"drop": ["SYS_ADMIN"]}}), ""),
        (
            pod(capabilities("SYS_TIME", "CHOWN"), {}, capabilities("NET_RAW", "SYS_TIME")),
            'non-default capabilities (containers "a", "c" must not include "NET_RAW", "SYS_TIME" in '
            "securityContext.capabilities.add)",
        ),
        (
            pod({}, init=capabilities("ALL")),
            'non-default capabilities (container "i" must not include "ALL" in securityContext.capabilities.add)',
        ),
    ],
)
def test_capabilities(made: Pod, text: str) -> None:
    assert of("capabilities_baseline", 0, made) == text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, ""),
        ({"hostNetwork": False}, ""),
        ({"hostIPC": True}, "host namespaces (hostIPC=true)"),
        (
            {"hostIPC": True, "hostPID": True, "hostNetwork": True},
            "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
        ),
    ],
)
def test_host_namespaces(spec: dict[str, Any], text: str) -> None:
    assert of("hostNamespaces", 0, pod({}, **spec)) == text


def test_host_path_volumes() -> None:
    path = {"hostPath": {"path": "/"}}
    assert of("hostPathVolumes", 0, pod({}, volumes=[{"name": "e", "emptyDir": {}}])) == ""
    one = pod({}, volumes=[{"name": "b", **path}, {"name": "e", "emptyDir": {}}])
    assert of("hostPathVolumes", 0, one) == 'hostPath volumes (volume "b")'
    two = pod({}, volumes=[{"name": "b", **path}, {"name": "a", **path}])
    assert of("hostPathVolumes", 0, two) == 'hostPath volumes (volumes "b", "a")'


def ports(name: str, *numbers: int) -> dict[str, Any]:
    return {"name": name, "ports": [{"containerPort": 1, "hostPort": number} for number in numbers]}


def test_host_ports_are_sorted_as_texts() -> None:
    assert of("hostPorts", 0, pod(containers=[ports("a", 0)])) == ""
    assert of("hostPorts", 0, pod(containers=[ports("a", 80)])) == 'hostPort (container "a" uses hostPort 80)'
    two = pod(containers=[ports("b", 80, 443), ports("a", 443)])
    assert of("hostPorts", 0, two) == 'hostPort (containers "b", "a" use hostPorts 443, 80)'


def test_hosts_of_probes_and_hooks() -> None:
    """Source: hostProbesAndHostLifecycleV1Dot34: the names are sorted."""
    get = {"httpGet": {"port": 1, "host": "h"}}
    tcp = {"tcpSocket": {"port": 1, "host": "g"}}
    plain = pod(
        containers=[{"name": "a", "livenessProbe": {"httpGet": {"port": 1}}, "lifecycle": {"preStop": {"exec": {}}}}]
    )
    assert of("hostProbesAndHostLifecycle", 34, plain) == ""
    for below in (
        {"livenessProbe": get},
        {"readinessProbe": get},
        {"startupProbe": get},
        {"lifecycle": {"postStart": get}},
        {"lifecycle": {"preStop": get}},
    ):
        made = pod(containers=[{"name": "a", **below}])
        assert of("hostProbesAndHostLifecycle", 34, made) == (
            'probe or lifecycle host (container "a" uses probe or lifecycle host "h")'
        )
    both = pod(containers=[{"name": "b", "livenessProbe": tcp}, {"name": "a", "readinessProbe": get}])
    assert of("hostProbesAndHostLifecycle", 34, both) == (
        'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "g", "h")'
    )
    assert min(first for first, _ in baseline.CHECKS["hostProbesAndHostLifecycle"]) == 34


def test_privileged_containers() -> None:
    assert of("privileged", 0, pod({"privileged": False}, None, {})) == ""
    found = of("privileged", 0, pod({"privileged": True}, init={"privileged": True}))
    assert found == 'privileged (containers "i", "a" must not set securityContext.privileged=true)'


@pytest.mark.parametrize(
    ("minor", "spec", "allowed"),
    [(0, {}, False), (34, {"hostUsers": False}, False), (35, {"hostUsers": False}, True), (35, {}, False)],
)
def test_proc_mount(minor: int, spec: dict[str, Any], allowed: bool) -> None:
    made = pod({"procMount": "Default"}, {"procMount": "Unmasked"}, {"procMount": "Other"}, {}, **spec)
    text = 'procMount (containers "b", "c" must not set securityContext.procMount to "Other", "Unmasked")'
    assert of("procMount", minor, made) == ("" if allowed else text)
    assert of("procMount", 0, pod({"procMount": "Default"}, {})) == ""


def selinux(**options: str) -> dict[str, Any]:
    return {"seLinuxOptions": options}


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (pod(selinux(type="container_t"), selinux(type="container_init_t"), selinux(type="container_kvm_t")), ""),
        (pod(selinux(level="s0"), {}, securityContext=selinux(type="")), ""),
        (
            pod(selinux(type="b"), securityContext=selinux(type="a")),
            'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: types "a", "b")',
        ),
        (
            pod(selinux(user="u")),
            'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: user may not be set)',
        ),
        (
            pod(selinux(type="x", role="r", user="u")),
            'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "x"; user may not be '
            "set; role may not be set)",
        ),
    ],
)
def test_selinux_options(made: Pod, text: str) -> None:
    """Source: seLinuxOptionsV1Dot0."""
    assert of("seLinuxOptions", 0, made) == text


@pytest.mark.parametrize(("minor", "allowed"), [(0, False), (30, False), (31, True), (36, True)])
def test_a_container_engine_is_allowed_since_31(minor: int, allowed: bool) -> None:
    assert (of("seLinuxOptions", minor, pod(selinux(type="container_engine_t"))) == "") is allowed


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({SECCOMP_POD: "runtime/default", f"{SECCOMP}a": "docker/default"}, ""),
        ({SECCOMP_POD: "localhost/x"}, ""),
        ({f"{SECCOMP}other": "unconfined"}, ""),
        (
            {f"{SECCOMP}a": "unconfined"},
            f'seccompProfile (forbidden annotation {SECCOMP}a="unconfined")',
        ),
        (
            {SECCOMP_POD: "unconfined", f"{SECCOMP}a": ""},
            f'seccompProfile (forbidden annotations {SECCOMP}a="", {SECCOMP_POD}="unconfined")',
        ),
    ],
)
def test_seccomp_annotations_before_19(annotations: dict[str, str], text: str) -> None:
    made = pod({}, annotations=annotations)
    assert of("seccompProfile_baseline", 18, made) == text
    assert of("seccompProfile_baseline", 19, made) == ""


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (pod({}, profile("seccompProfile", "RuntimeDefault"), profile("seccompProfile", "Localhost")), ""),
        (
            pod(profile("seccompProfile", "Unconfined"), {}),
            'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            pod(profile("seccompProfile", "Z"), {}, profile("seccompProfile", "Y"),
                securityContext=profile("seccompProfile", "Unconfined")),
            'seccompProfile (pod and containers "a", "c" must not set securityContext.seccompProfile.type to '
            '"Unconfined", "Y", "Z")',
        ),
    ],
)  # fmt: skip
def test_seccomp_profiles_since_19(made: Pod, text: str) -> None:
    assert of("seccompProfile_baseline", 19, made) == text
    assert of("seccompProfile_baseline", 18, made) == ""


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("kernel.shm_rmid_forced", 0),
        ("net.ipv4.ip_local_port_range", 0),
        ("net.ipv4.tcp_syncookies", 0),
        ("net.ipv4.ping_group_range", 0),
        ("net.ipv4.ip_unprivileged_port_start", 0),
        ("net.ipv4.ip_local_reserved_ports", 27),
        ("net.ipv4.tcp_keepalive_time", 29),
        ("net.ipv4.tcp_fin_timeout", 29),
        ("net.ipv4.tcp_keepalive_intvl", 29),
        ("net.ipv4.tcp_keepalive_probes", 29),
        ("net.ipv4.tcp_rmem", 32),
        ("net.ipv4.tcp_wmem", 32),
        ("kernel.msgmax", 99),
    ],
)
def test_safe_sysctls_of_each_version(name: str, since: int) -> None:
    made = pod({}, securityContext={"sysctls": [{"name": name, "value": "1"}]})
    for minor in (0, 26, 27, 28, 29, 31, 32, 36):
        assert of("sysctls", minor, made) == ("" if minor >= since else f"forbidden sysctls ({name})"), minor


def test_forbidden_sysctls_are_listed_in_the_order_of_the_pod() -> None:
    made = pod({}, securityContext={"sysctls": [{"name": "kernel.b"}, {"name": "kernel.a"}]})
    assert of("sysctls", 0, made) == "forbidden sysctls (kernel.b, kernel.a)"


def test_host_processes_of_windows() -> None:
    host = {"windowsOptions": {"hostProcess": True}}
    assert of("windowsHostProcess", 0, pod({"windowsOptions": {"hostProcess": False}}, {})) == ""
    detail = "must not set securityContext.windowsOptions.hostProcess=true"
    assert of("windowsHostProcess", 0, pod(host)) == f'hostProcess (container "a" {detail})'
    both = pod({}, host, securityContext=host)
    assert of("windowsHostProcess", 0, both) == f'hostProcess (pod and container "b" {detail})'

"""What the labels of a namespace refuse and warn of; the texts are those of pod-security-admission's own tests."""

import copy
from typing import Any

import pytest

from kitlib.api.errors import Forbidden, Invalid
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.podsecurity.admission import evaluate
from kitlib.apiserver.admission.podsecurity.levels import LevelVersion, policy_to_evaluate

HARDENED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
PREFIX = "pod-security.kubernetes.io/"


def pod(context: Any = None, *, annotations: Any = None, name: str = "p", **spec: Any) -> Any:
    """A pod with one container `a` with this security context."""
    containers = [{"name": "a", "image": "img", **({} if context is None else {"securityContext": context})}]
    meta = {"name": name, "namespace": "n", "annotations": annotations or {}}
    return from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}})


def api(release: str = "1.36", **labels: str) -> APIServer:
    """A cluster whose namespace `n` has these labels."""
    made = APIServer(release=Release(release))
    made.create(namespace(**labels))
    return made


def namespace(**labels: str) -> Any:
    named = {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}
    return from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": named}})


PLAIN = (
    'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
    '"Localhost")'
)
FORBIDDEN: list[tuple[str, str, Any, str]] = [
    ("a plain pod is not restricted", "restricted", pod(), PLAIN),
    ("a plain pod is baseline", "baseline", pod(), ""),
    ("a hardened pod is restricted", "restricted", pod(HARDENED), ""),
    ("privileged may do all", "privileged", pod({"privileged": True}, hostNetwork=True), ""),
    (
        "host namespaces and ports",
        "baseline",
        pod(
            hostPID=True,
            hostNetwork=True,
            containers=[{"name": "a", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 9}]}],
        ),
        'host namespaces (hostNetwork=true, hostPID=true), hostPort (container "a" uses hostPorts 80, 9)',
    ),
    (
        "privileged with a capability",
        "baseline",
        pod({"privileged": True, "capabilities": {"add": ["SYS_ADMIN", "KILL", "NET_RAW"]}}),
        'non-default capabilities (container "a" must not include "NET_RAW", "SYS_ADMIN" in '
        'securityContext.capabilities.add), privileged (container "a" must not set securityContext.privileged=true)',
    ),
    (
        "a capability counts once at restricted",
        "restricted",
        pod({**HARDENED, "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_BIND_SERVICE"]}}),
        'unrestricted capabilities (container "a" must not include "NET_ADMIN" in securityContext.capabilities.add)',
    ),
    (
        "hostPath at baseline",
        "baseline",
        pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "nfs": {"server": "s", "path": "/"}}]),
        'hostPath volumes (volume "v")',
    ),
    (
        "hostPath at restricted is a restricted type",
        "restricted",
        pod(
            HARDENED,
            volumes=[{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "nfs": {"server": "s", "path": "/"}}],
        ),
        'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
    ),
    ("an image volume is not restricted", "restricted", pod(HARDENED, volumes=[{"name": "v", "image": {}}]), ""),
    (
        "root by the pod and by a container",
        "restricted",
        pod({**HARDENED, "runAsUser": 0}, securityContext={"runAsUser": 0, "runAsNonRoot": False}),
        "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), "
        'runAsUser=0 (pod and container "a" must not set runAsUser=0)',
    ),
    (
        "a user namespace may have root",
        "restricted",
        pod({**HARDENED, "runAsUser": 0, "runAsNonRoot": False}, hostUsers=False),
        "",
    ),
    (
        "an unmasked /proc is restricted even in a user namespace",
        "restricted",
        pod({**HARDENED, "procMount": "Unmasked"}, hostUsers=False),
        'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
    ),
    ("and baseline there", "baseline", pod({"procMount": "Unmasked"}, hostUsers=False), ""),
    (
        "an unconfined profile",
        "baseline",
        pod({"seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}}),
        'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined"), '
        'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (
        "AppArmor by annotation",
        "baseline",
        pod(annotations={"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}),
        "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
        '"container.apparmor.security.beta.kubernetes.io/a="unconfined"")',
    ),
    (
        "SELinux",
        "baseline",
        pod({"seLinuxOptions": {"type": "spc_t", "user": "u"}}, securityContext={"seLinuxOptions": {"role": "r"}}),
        'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may '
        "not be set; role may not be set)",
    ),
    (
        "SELinux: only the user",
        "baseline",
        pod(securityContext={"seLinuxOptions": {"user": "bad"}}),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)",
    ),
    (
        "sysctls",
        "baseline",
        pod(securityContext={"sysctls": [{"name": n, "value": "1"} for n in ("a.b", "net.ipv4.tcp_rmem", "c")]}),
        "forbidden sysctls (a.b, c)",
    ),
    (
        "a host in probes and hooks",
        "baseline",
        pod(
            containers=[
                {
                    "name": "a",
                    "image": "i",
                    "livenessProbe": {"tcpSocket": {"port": 1, "host": "10.0.0.1"}},
                    "lifecycle": {"preStop": {"httpGet": {"port": 1, "host": "h"}}},
                }
            ]
        ),
        'probe or lifecycle host (container "a" uses probe or lifecycle hosts "10.0.0.1", "h")',
    ),
    (
        "Windows host processes",
        "baseline",
        pod(securityContext={"windowsOptions": {"hostProcess": True}}),
        "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
    ),
    (
        "Windows pods need no Linux settings",
        "restricted",
        pod(os={"name": "windows"}, securityContext={"runAsNonRoot": True}),
        "",
    ),
]


@pytest.mark.parametrize(("level", "given", "text"), [row[1:] for row in FORBIDDEN], ids=[row[0] for row in FORBIDDEN])
def test_what_a_level_forbids(level: str, given: Any, text: str) -> None:
    given = copy.deepcopy(given)
    if given.spec.host_network:  # the defaults of a pod in the node's network
        for port in given.spec.containers[0].ports:
            port.host_port = port.container_port
    found = evaluate(LevelVersion(level), given.metadata, given.spec, 36)
    assert ", ".join(map(str, found)) == text


VERSIONS: list[tuple[str, str, str, Any, str]] = [
    ("before 1.34 a probe may name a host", "baseline", "v1.33", FORBIDDEN[-3][2], ""),
    ("before 1.22 capabilities may stay", "restricted", "v1.21", pod({**HARDENED, "capabilities": None}), ""),
    (
        "before 1.35 a user namespace changes nothing",
        "baseline",
        "v1.34",
        pod({"procMount": "Unmasked"}, hostUsers=False),
        "procMount",
    ),
    ("before 1.31 container_engine_t is not allowed", "baseline", "v1.30",
     pod({"seLinuxOptions": {"type": "container_engine_t"}}), "seLinuxOptions"),
    ("since then it is", "baseline", "v1.31", pod({"seLinuxOptions": {"type": "container_engine_t"}}), ""),
    ("a later version is the server's own", "restricted", "v1.99", pod(HARDENED), ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "version", "given", "reason"), [row[1:] for row in VERSIONS], ids=[row[0] for row in VERSIONS]
)
def test_a_version_has_its_own_checks(level: str, version: str, given: Any, reason: str) -> None:
    found = evaluate(LevelVersion(level, version), given.metadata, given.spec, 36)
    assert [violation.reason for violation in found] == ([reason] if reason else [])


def test_a_pod_is_refused_and_a_workload_only_warned_about() -> None:
    server = api(enforce="restricted")
    with pytest.raises(Forbidden) as refused:
        server.create(pod())
    assert str(refused.value) == f'pods "p" is forbidden: violates PodSecurity "restricted:latest": {PLAIN}'
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": "d", "namespace": "n"}
    server.create(from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}))
    assert server.warnings == [f'would violate PodSecurity "restricted:latest": {PLAIN}']
    server.create(pod(HARDENED))
    assert server.warnings == []


def test_warnings_follow_their_own_label() -> None:
    server = api(enforce="baseline", warn="restricted", warn_version="v1.8")
    server.create(pod())
    assert [warning[:44] for warning in server.warnings] == ['would violate PodSecurity "restricted:v1.8":']


def test_an_update_counts_where_an_image_changes() -> None:
    server = api()
    server.create(pod())
    server.update(namespace(enforce="restricted"))
    standing = server.store.get("Pod", "p", "n")
    standing.metadata.labels = {"x": "y"}
    standing = server.update(standing)
    standing.spec.containers[0].image = "other"
    with pytest.raises(Forbidden, match="violates PodSecurity"):
        server.update(standing)


def test_pods_that_stand_when_the_level_rises_are_named() -> None:
    server = api()
    for name in ("b", "a", "c"):
        server.create(pod({"privileged": True} if name == "c" else None, name=name))
    server.update(namespace(enforce="restricted"))
    assert server.warnings == [
        'existing pods in namespace "n" violate the new PodSecurity enforce level "restricted:latest"',
        "a (and 1 other pod): allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, "
        "seccompProfile",
        "c: privileged, allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, "
        "seccompProfile",
    ]


def test_wrong_labels_are_refused_unless_they_stood_before() -> None:
    with pytest.raises(Invalid) as refused:
        api(enforce="strict", warn_version="1.2")
    assert str(refused.value) == (
        'Namespace "n" is invalid: ['
        f'metadata.labels[{PREFIX}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, '
        f'metadata.labels[{PREFIX}warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"]'
    )
    server = api()
    standing = server.store.get("Namespace", "n")
    standing.metadata.labels[f"{PREFIX}enforce"] = "strict"
    server.store.update(standing)
    changed = namespace(enforce="strict")
    changed.metadata.annotations = {"a": "b"}
    server.update(changed)
    with pytest.raises(Forbidden, match="restricted:latest"):
        server.create(pod())


@pytest.mark.parametrize(
    ("labels", "modes"),
    [
        ({"enforce": "baseline"}, "baseline:latest privileged:latest baseline:latest"),
        ({"enforce": "baseline", "enforce-version": "v1.22"}, "baseline:v1.22 privileged:latest baseline:v1.22"),
        ({"enforce": "baseline", "warn-version": "v1.23"}, "baseline:latest privileged:latest baseline:v1.23"),
        ({"enforce": "baseline", "warn": "privileged"}, "baseline:latest privileged:latest privileged:latest"),
        ({"enforce": "baseline", "warn": "foo"}, "baseline:latest privileged:latest privileged:latest"),
        ({"enforce": "foo"}, "restricted:latest privileged:latest privileged:latest"),
        ({"audit": "baseline"}, "privileged:latest baseline:latest privileged:latest"),
    ],
)
def test_the_policy_of_labels(labels: dict[str, str], modes: str) -> None:
    policy, _ = policy_to_evaluate({PREFIX + key: value for key, value in labels.items()})
    assert " ".join(map(str, policy)) == modes

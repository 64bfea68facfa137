"""Containers, init containers, sidecars and ephemeral containers: common fields, names, ports and restart rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.core import Container, PodSpec, Volume
from kitlib.api.field_errors import Errors
from kitlib.api.names import LABEL_TEXT
from kitlib.apiserver.validation.containers import (
    Surroundings,
    check_host_port_conflicts,
    validate_container_common,
    validate_container_only_for_pod,
    validate_container_ports,
    validate_container_restart_policy,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from tests.apiserver.validation.told import part, told

VOLUMES = {
    "v": part(Volume, name="v", emptyDir={}),
    "w": part(Volume, name="w", persistentVolumeClaim={"claimName": "c"}),
}
EXEC = {"exec": {"command": ["x"]}}
IN_RANGE = "must be between 1 and 65535, inclusive"


def raw(name: str = "c", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "x", "terminationMessagePolicy": "File", "imagePullPolicy": "Always", **fields}


def made(**fields: Any) -> Container:
    return part(Container, **raw(**fields))


def pod(**spec: Any) -> Surroundings:
    return Surroundings(part(PodSpec, **spec), VOLUMES, ("r",))


def common(container: Container, **spec: Any) -> list[str]:
    return [text.removeprefix("c.") for text in told(validate_container_common(container, pod(**spec), "c"))]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({}, []),
        ({"name": ""}, ["name Required"]),
        ({"name": "A"}, [f"name Invalid {LABEL_TEXT}"]),
        ({"image": ""}, ["image Required"]),
        ({"image": " "}, []),
        ({"terminationMessagePolicy": "FallbackToLogsOnError"}, []),
        ({"terminationMessagePolicy": ""}, ["terminationMessagePolicy Required"]),
        ({"terminationMessagePolicy": "x"},
         ['terminationMessagePolicy NotSupported supported values: "File", "FallbackToLogsOnError"']),
        ({"imagePullPolicy": "Never"}, []),
        ({"imagePullPolicy": "IfNotPresent"}, []),
        ({"imagePullPolicy": ""}, ["imagePullPolicy Required"]),
        ({"imagePullPolicy": "x"},
         ['imagePullPolicy NotSupported supported values: "Always", "IfNotPresent", "Never"']),
        ({"ports": [{"containerPort": 0, "protocol": "TCP"}]}, ["ports[0].containerPort Required"]),
        ({"env": [{"name": ""}]}, ["env[0].name Required"]),
        ({"volumeMounts": [{"name": "x", "mountPath": "/a"}]}, ["volumeMounts[0].name NotFound"]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/a"}]}, []),
        ({"volumeDevices": [{"name": "x", "devicePath": "/a"}]}, ["volumeDevices[0].name NotFound"]),
        ({"volumeDevices": [{"name": "w", "devicePath": "/a"}]}, []),
        ({"resources": {"claims": [{"name": "r"}]}}, []),
        ({"resources": {"claims": [{"name": "s"}]}},
         ["resources.claims[0] NotFound must be one of the names in pod.spec.resourceClaims: r"]),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "x"}]},
         ['resizePolicy NotSupported supported values: "NotRequired", "RestartContainer"']),
        ({"securityContext": {"runAsUser": -1}},
         ["securityContext.runAsUser Invalid must be between 0 and 2147483647, inclusive"]),
    ],
)  # fmt: skip
def test_fields_of_every_container(fields: dict[str, Any], errors: list[str]) -> None:
    """Source: validateContainerCommon."""
    assert common(made(**fields)) == errors


def test_sources_of_the_environment_are_checked() -> None:
    found = common(made(envFrom=[{}]))
    assert len(found) == 1
    assert found[0].startswith("envFrom")


def test_common_fields_are_checked_in_order() -> None:
    container = made(
        name="",
        image="",
        terminationMessagePolicy="",
        imagePullPolicy="",
        ports=[{"containerPort": 1}],
        env=[{"name": ""}],
        volumeMounts=[{"name": "x", "mountPath": "/a"}],
        volumeDevices=[{"name": "x", "devicePath": "/b"}],
        resources={"limits": {"cpu": "-1"}},
        resizePolicy=[{"resourceName": "", "restartPolicy": "NotRequired"}],
        securityContext={"procMount": "x"},
    )
    assert [text.split()[0] for text in common(container)] == [
        "name",
        "image",
        "terminationMessagePolicy",
        "ports[0].protocol",
        "env[0].name",
        "volumeMounts[0].name",
        "volumeMounts[0].name",
        "volumeDevices[0].name",
        "volumeDevices[0].name",
        "imagePullPolicy",
        "resources.limits[cpu]",
        "resizePolicy",
        "securityContext.procMount",
    ]


def test_the_pod_decides_what_its_containers_may_have() -> None:
    unmasked = made(securityContext={"procMount": "Unmasked"})
    needs = "securityContext.procMount Invalid `hostUsers` must be false to use `Unmasked`"
    assert common(unmasked) == [needs]
    assert common(unmasked, hostUsers=True) == [needs]
    assert common(unmasked, hostUsers=False) == []
    restarts = made(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}])
    assert common(restarts, restartPolicy="Always") == []
    assert common(restarts, restartPolicy="Never") == [
        "resizePolicy Invalid must be 'NotRequired' when `restartPolicy` is 'Never'"
    ]


@pytest.mark.parametrize(
    ("port", "errors"),
    [
        ({"containerPort": 1}, []),
        ({"containerPort": 65535, "hostPort": 65535}, []),
        ({"containerPort": 0}, ["containerPort Required"]),
        ({"containerPort": -1}, [f"containerPort Invalid {IN_RANGE}"]),
        ({"containerPort": 65536}, [f"containerPort Invalid {IN_RANGE}"]),
        ({"hostPort": 0}, []),
        ({"hostPort": -1}, [f"hostPort Invalid {IN_RANGE}"]),
        ({"hostPort": 65536}, [f"hostPort Invalid {IN_RANGE}"]),
        ({"hostIP": "10.0.0.1"}, []),
        ({"name": "a-b"}, []),
        ({"name": "1"}, ["name Invalid must contain at least one letter (a-z)"]),
        ({"name": "a--b-"},
         ["name Invalid must not contain consecutive hyphens", "name Invalid must not begin or end with a hyphen"]),
        ({"protocol": "UDP"}, []),
        ({"protocol": "SCTP"}, []),
        ({"protocol": ""}, ["protocol Required"]),
        ({"protocol": "tcp"}, ['protocol NotSupported supported values: "SCTP", "TCP", "UDP"']),
        ({"name": "1", "containerPort": 0, "hostPort": -1, "protocol": ""},
         ["name Invalid must contain at least one letter (a-z)", "containerPort Required",
          f"hostPort Invalid {IN_RANGE}", "protocol Required"]),
    ],
)  # fmt: skip
def test_a_port(port: dict[str, Any], errors: list[str]) -> None:
    """Source: validateContainerPorts."""
    container = made(ports=[{"containerPort": 80, "protocol": "TCP", **port}])
    assert told(validate_container_ports(container, "p")) == [f"p[0].{text}" for text in errors]


def test_names_of_ports_are_unique() -> None:
    names = ("a", "", "b", "", "a", "1", "1")
    ports = [{"name": name, "containerPort": 80, "protocol": "TCP"} for name in names]
    letter = "name Invalid must contain at least one letter (a-z)"
    found = told(validate_container_ports(made(ports=ports), "p"))
    assert found == ["p[4].name Duplicate", f"p[5].{letter}", f"p[6].{letter}"]


def port(host: int, protocol: str = "TCP", ip: str = "") -> dict[str, Any]:
    return {"containerPort": 80, "hostPort": host, "protocol": protocol, "hostIP": ip}


def test_a_host_port_is_used_once() -> None:
    """Source: AccumulateUniqueHostPorts."""
    free = [port(0), port(0), port(1), port(1, "UDP"), port(1, ip="10.0.0.1"), port(2)]
    assert check_host_port_conflicts([made(ports=free)], "f") == []
    found = check_host_port_conflicts([made(ports=free), made(), made(ports=[port(3), port(1, ip="10.0.0.1")])], "f")
    assert [str(error) for error in found] == ['f[2].ports[1].hostPort: Duplicate value: "TCP/10.0.0.1/1"']
    twice = check_host_port_conflicts([made(ports=[port(1), port(1), port(1)])], "f")
    assert told(twice) == ["f[0].ports[1].hostPort Duplicate", "f[0].ports[2].hostPort Duplicate"]


RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
POLICIES = 'restartPolicy NotSupported supported values: "Always", "Never", "OnFailure"'


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({}, []),
        ({"restartPolicy": "Always"}, []),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE]}, []),
        ({"restartPolicy": "OnFailure", "restartPolicyRules": [{**RULE, "action": "RestartAllContainers"}]}, []),
        ({"restartPolicy": "x"}, [POLICIES]),
        ({"restartPolicy": ""}, [POLICIES]),
        ({"restartPolicyRules": [RULE]},
         ["restartPolicy Required must specify restartPolicy when restart rules are used"]),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE] * 20}, []),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE] * 21},
         ["restartPolicyRules TooMany must have at most 20 items"]),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE, {"action": "x"}]},
         ['restartPolicyRules[1].action NotSupported supported values: "Restart", "RestartAllContainers"',
          "restartPolicyRules[1].exitCodes Required must be specified"]),
        ({"restartPolicy": "Never", "restartPolicyRules": [{**RULE, "exitCodes": {"operator": "x", "values": [1]}}]},
         ['restartPolicyRules[0].exitCodes.operator NotSupported supported values: "In", "NotIn"']),
        ({"restartPolicy": "Never",
          "restartPolicyRules": [{**RULE, "exitCodes": {"operator": "NotIn", "values": list(range(255))}}]}, []),
        ({"restartPolicy": "Never",
          "restartPolicyRules": [{**RULE, "exitCodes": {"operator": "NotIn", "values": list(range(256))}}]},
         ["restartPolicyRules[0].exitCodes.values TooMany must have at most 255 items"]),
    ],
)  # fmt: skip
def test_the_restart_policy_of_a_container(fields: dict[str, Any], errors: list[str]) -> None:
    """Source: validateContainerRestartPolicy."""
    expected = [f"f.{text}" for text in errors]
    assert told(validate_container_restart_policy(made(**fields), "f")) == expected
    listed = [text.replace("f.", "f[0].", 1) for text in expected]
    assert told(validate_containers(pod(containers=[raw(**fields)]), "f")) == listed
    assert told(validate_init_containers(pod(initContainers=[raw(**fields)]), "f")) == listed


def test_a_pod_needs_a_container() -> None:
    assert told(validate_containers(pod(), "f")) == ["f Required"]
    assert validate_init_containers(pod(), "f") == []
    assert validate_ephemeral_containers(pod(), "f") == []


KEPT: dict[str, Any] = {
    "lifecycle": {"preStop": {}},
    "livenessProbe": {**EXEC, "successThreshold": 2},
    "readinessProbe": {**EXEC, "successThreshold": 2, "terminationGracePeriodSeconds": 1},
    "startupProbe": {**EXEC, "successThreshold": 2},
}
KEPT_ERRORS = [
    "lifecycle.preStop Required must specify a handler type",
    "livenessProbe.successThreshold Invalid must be 1",
    "readinessProbe.terminationGracePeriodSeconds Invalid must not be set for readinessProbes",
    "startupProbe.successThreshold Invalid must be 1",
]
Check = Callable[[Surroundings, str], Errors]


@pytest.mark.parametrize(
    ("check", "kind", "fields"),
    [
        (validate_containers, "containers", {}),
        (validate_init_containers, "initContainers", {"restartPolicy": "Always"}),
    ],
)
def test_containers_and_sidecars_have_hooks_and_probes(check: Check, kind: str, fields: dict[str, Any]) -> None:
    assert told(check(pod(**{kind: [raw(**fields, **KEPT)]}), "f")) == [f"f[0].{text}" for text in KEPT_ERRORS]
    probes: dict[str, Any] = {name: {**EXEC, "successThreshold": 1} for name in KEPT if name != "lifecycle"}
    assert check(pod(**{kind: [raw(**fields, **probes)]}), "f") == []
    hooks = raw(**fields, lifecycle={"preStop": {"sleep": {"seconds": 31}}, "stopSignal": "SIGTERM"})
    linux = {"name": "linux"}
    assert check(pod(terminationGracePeriodSeconds=31, os=linux, **{kind: [hooks]}), "f") == []
    assert told(check(pod(terminationGracePeriodSeconds=30, **{kind: [hooks]}), "f")) == [
        "f[0].lifecycle.preStop.sleep Invalid must be non-negative and less than terminationGracePeriodSeconds (30)",
        "f[0].lifecycle.stopSignal Forbidden may not be set for containers with empty `spec.os.name`",
    ]
    found = told(check(pod(os={"name": "windows"}, **{kind: [raw(**fields, lifecycle={"stopSignal": "SIGHUP"})]}), "f"))
    assert found == ['f[0].lifecycle.stopSignal NotSupported supported values: "SIGKILL", "SIGTERM"']


@pytest.mark.parametrize("fields", [{}, {"restartPolicy": "Never"}, {"restartPolicy": "OnFailure"}])
def test_a_container_that_ends_has_no_hooks_and_no_probes(fields: dict[str, Any]) -> None:
    """Source: validateInitContainers."""
    why = "Forbidden may not be set for init containers without restartPolicy=Always"
    found = told(validate_init_containers(pod(initContainers=[raw("a"), raw("b", **fields, **KEPT)]), "f"))
    assert found == [f"f[1].{name} {why}" for name in KEPT]


def test_names_are_unique_in_a_list_and_the_lists_before() -> None:
    several = pod(
        containers=[raw("a"), raw("b"), raw("a")],
        initContainers=[raw("c"), raw("b"), raw("c")],
        ephemeralContainers=[raw("d"), raw("a"), raw("c"), raw("d")],
    )
    assert told(validate_containers(several, "f")) == ["f[2].name Duplicate"]
    assert told(validate_init_containers(several, "f")) == ["f[1].name Duplicate", "f[2].name Duplicate"]
    assert told(validate_ephemeral_containers(several, "f")) == [f"f[{i}].name Duplicate" for i in (1, 2, 3)]


def test_two_init_containers_without_a_name_are_no_duplicates() -> None:
    nameless = pod(containers=[raw("a")], initContainers=[raw(""), raw("")])
    assert told(validate_init_containers(nameless, "f")) == ["f[0].name Required", "f[1].name Required"]
    regular = pod(containers=[raw(""), raw("")])
    found = told(validate_containers(regular, "f"))
    assert found == ["f[0].name Required", "f[1].name Required", "f[1].name Duplicate"]


def test_host_ports_conflict_between_containers_that_run_together() -> None:
    """Init containers run one after the other; upstream's path has the index 0 for each of them."""
    both = [raw("a", ports=[port(1)]), raw("b", ports=[port(1)], restartPolicy="x")]
    assert told(validate_containers(pod(containers=both), "f")) == [
        f"f[1].{POLICIES}",
        "f[1].ports[0].hostPort Duplicate",
    ]
    inits = [raw("a", ports=[port(1)]), raw("b", ports=[port(1), port(1)])]
    assert told(validate_init_containers(pod(initContainers=inits), "f")) == ["f[0].ports[1].hostPort Duplicate"]


NOT_EPHEMERAL = "Forbidden cannot be set for an Ephemeral Container"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ports", [{"containerPort": 1, "protocol": "TCP"}]),
        ("resources", {"requests": {"cpu": "1"}}),
        ("resources", {"limits": {"cpu": "1"}}),
        ("resources", {"claims": [{"name": "r"}]}),
        ("resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
        ("restartPolicy", "Always"),
        ("restartPolicyRules", [RULE]),
        ("livenessProbe", EXEC),
        ("readinessProbe", EXEC),
        ("startupProbe", EXEC),
        ("lifecycle", {"preStop": EXEC}),
    ],
)
def test_a_field_that_ephemeral_containers_lack(field: str, value: Any) -> None:
    """Source: allowedEphemeralContainerFields."""
    assert told(validate_ephemeral_containers(pod(ephemeralContainers=[raw(**{field: value})]), "f")) == [
        f"f[0].{field} {NOT_EPHEMERAL}"
    ]


def test_an_ephemeral_container_has_the_other_fields() -> None:
    allowed = raw(
        command=["a"],
        args=["b"],
        workingDir="/",
        env=[{"name": "A", "value": "b"}],
        volumeMounts=[{"name": "v", "mountPath": "/a"}],
        stdin=True,
        tty=True,
        targetContainerName="i",
    )
    assert validate_ephemeral_containers(pod(ephemeralContainers=[allowed], initContainers=[raw("i")]), "f") == []


def test_an_ephemeral_container_as_a_whole() -> None:
    """Source: validateEphemeralContainers."""
    mounts = [
        {"name": "v", "mountPath": "/a", "subPath": "b"},
        {"name": "v", "mountPath": "/c"},
        {"name": "v", "mountPath": "/d", "subPathExpr": "e"},
    ]
    wrong = raw(
        "a",
        image=" x",
        imagePullPolicy="",
        targetContainerName="e",
        restartPolicy="Always",
        ports=[port(0)],
        volumeMounts=mounts,
    )
    several = pod(containers=[raw("a")], ephemeralContainers=[raw("e"), wrong])
    assert told(validate_ephemeral_containers(several, "f")) == [
        "f[1].imagePullPolicy Required",
        "f[1].image Invalid must not have leading or trailing whitespace",
        "f[1].name Duplicate",
        "f[1].targetContainerName NotFound",
        f"f[1].ports {NOT_EPHEMERAL}",
        f"f[1].restartPolicy {NOT_EPHEMERAL}",
        f"f[1].volumeMounts[0].subPath {NOT_EPHEMERAL}",
        f"f[1].volumeMounts[2].subPathExpr {NOT_EPHEMERAL}",
    ]


@pytest.mark.parametrize(("image", "valid"), [("x", True), ("a b", True), (" x", False), ("x ", False), ("x\n", False)])
def test_the_image_of_a_pod_has_no_outer_whitespace(image: str, valid: bool) -> None:
    """Source: validateContainerOnlyForPod."""
    wrong = [] if valid else ["f.image Invalid must not have leading or trailing whitespace"]
    assert told(validate_container_only_for_pod(made(image=image), "f")) == wrong

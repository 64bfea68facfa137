"""The policy of node pods: every field of a pod's schema that the kit does not set, and every value that it sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.cel.expression import Expression, compile_expression
from kitlib.cel.library import ANY
from kitlib.cluster import Cluster
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.kubernetes.manifest import CAPABILITIES, GRACE, PodOptions, PodOwner, control_pod, node_pod
from kitlib.workshop.nodes_namespace import NodesNamespace

IMAGE = "registry.example/kitlib-node:1"
NAMESPACE = NodesNamespace(image=IMAGE, nodes=2, cpus=2, memory="1Gi", deadline=3600, subjects=("user:ada",))
OPTIONS = PodOptions(image=IMAGE, deadline=3600, machines="required")
MACHINE = MachineInfo.declare(2, "1Gi")
OWNER = PodOwner("host/1:2", "run", {"apiVersion": "v1", "kind": "Pod", "name": "jupyter-ada", "uid": "1"})
PODS = {
    "a node": node_pod("p", "node-1", MACHINE, OPTIONS, OWNER),
    "a node with systemd": node_pod("p", "node-1", MACHINE, OPTIONS, OWNER, systemd=True),
    "a control plane": control_pod("p", OPTIONS, OWNER),
}


@cache
def compiled(text: str, *names: str) -> Expression:
    return compile_expression(text, dict.fromkeys(names, ANY), max_length=len(text))


def evaluate(text: str, **variables: Any) -> Any:
    try:
        return compiled(text, *variables).evaluate(variables, 100_000)
    except Exception as error:  # failurePolicy Fail: an error refuses too
        return error


def refusals(pod: dict[str, Any]) -> list[str]:
    """Return the messages of the rules that refuse a new pod."""
    return [message for text, message in NAMESPACE.rules() if evaluate(text, object=pod) is not True]


def as_the_server_stores_it(pod: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with the fields that defaulting and the server's own plugins add before policies see it."""
    made = deepcopy(pod)
    made["metadata"] |= {"namespace": "kitlib-nodes", "uid": "2", "creationTimestamp": None, "generation": 1}
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        del made["spec"][field]
    made["spec"] |= {
        "schedulerName": "default-scheduler",
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    made["spec"]["tolerations"] += [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for name in ("not-ready", "unreachable")
    ]
    made["spec"]["containers"][0] |= {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return {**made, "status": {"phase": "Pending", "qosClass": "Burstable"}}


@pytest.mark.parametrize("name", PODS)
def test_the_kits_own_pods_pass(name: str) -> None:
    assert refusals(PODS[name]) == []
    assert refusals(as_the_server_stores_it(PODS[name])) == []


def sample(kind: Any, depth: int = 0) -> Any:
    """Return a value of a field's type that differs from the zero value."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return sample(next(one for one in kind.types if not isinstance(one, msgspec.inspect.NoneType)), depth)
    if isinstance(kind, msgspec.inspect.StructType):
        fields = [one for one in kind.fields if depth < 3]
        return {one.encode_name: sample(one.type, depth + 1) for one in fields[:2]}
    if isinstance(kind, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType, msgspec.inspect.CollectionType)):
        return [sample(kind.item_type, depth + 1)]
    if isinstance(kind, msgspec.inspect.DictType):
        return {"example": sample(kind.value_type, depth + 1)}
    if isinstance(kind, msgspec.inspect.BoolType):
        return True
    if isinstance(kind, (msgspec.inspect.IntType, msgspec.inspect.FloatType)):
        return 7
    return "example"


def struct_of(kind: Any) -> Any:
    """Return the struct in a field's type, or in its items; None = neither has one."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((found for one in kind.types if (found := struct_of(one)) is not None), None)
    if isinstance(kind, msgspec.inspect.StructType):
        return kind
    item = getattr(kind, "item_type", None)
    return None if item is None else struct_of(item)


def changes(given: Any, kind: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Return the fields of the schema at and below a value: the path and another value than the kit sets."""
    if isinstance(given, list):
        last = given[-1]
        more = {name: other(value) for name, value in last.items()} if isinstance(last, dict) else other(last)
        yield (*path, len(given)), more
        for index, item in enumerate(given):
            yield from changes(item, kind, (*path, index))
        return
    if not isinstance(given, dict):
        yield path, other(given)
        return
    fields = {one.encode_name: one.type for one in kind.fields} if kind is not None else {}
    for name in {**fields, **given}:
        if name not in given:
            yield (*path, name), sample(fields[name])
        else:
            yield from changes(given[name], struct_of(fields.get(name)), (*path, name))
    yield (*path, "fieldOfALaterRelease"), "example"


def other(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 100_000
    return f"{value}x" if isinstance(value, str) else "example"


def changed(pod: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = deepcopy(pod)
    at: Any = made
    for step in path[:-1]:
        at = at[step]
    if isinstance(at, list) and path[-1] == len(at):
        at.append(value)
    else:
        at[path[-1]] = value
    return made


FREE = {
    *("metadata.name", "metadata.namespace", "metadata.uid", "metadata.creationTimestamp", "metadata.generation"),
    *("metadata.managedFields", "apiVersion", "kind", "status"),
    *(f"metadata.labels.{name}" for name in ("kitlib.dev/node", "kitlib.dev/owner", "kitlib.dev/run")),
    *("metadata.annotations.kitlib.dev/owned-by", "metadata.ownerReferences.0.name", "metadata.ownerReferences.0.uid"),
    "spec.imagePullSecrets",  # of the namespace, in which learners can make no secrets
}
"""Fields with other values that a node's pod may have."""


@pytest.mark.parametrize("name", PODS)
def test_each_field_of_the_schema_with_another_value_is_refused(name: str) -> None:
    pod, tried, passed = PODS[name], 0, []
    schema = msgspec.inspect.type_info(Pod)
    for path, value in changes(pod, schema, ()):
        field = ".".join(str(step) for step in path)
        if field in FREE or path[0] not in ("metadata", "spec"):
            continue
        tried += 1
        if not refusals(changed(pod, path, value)):
            passed.append(field)
    assert passed == []
    assert tried > 130, tried


def test_a_field_that_a_node_pod_needs_may_not_be_left_out() -> None:
    optional = {"volumes", "tolerations", "hostNetwork", "hostPID", "hostIPC"}
    for field in PODS["a node"]["spec"]:
        pod = deepcopy(PODS["a node"])
        del pod["spec"][field]
        assert bool(refusals(pod)) is (field not in optional), field


ATTACKS: dict[str, Any] = {
    "a hook runs a shell": (("spec", "containers", 0, "lifecycle"), {"postStart": {"exec": {"command": ["sh"]}}}),
    "a probe runs a shell": (("spec", "containers", 0, "livenessProbe"), {"exec": {"command": ["sh"]}}),
    "the interpreter's path": (("spec", "containers", 0, "env"), [{"name": "PYTHONPATH", "value": "/tmp"}]),
    "the control plane's machine": (("spec", "nodeName"), "control-plane"),
    "every taint": (("spec", "tolerations"), [{"operator": "Exists"}]),
    "any machine": (("spec", "affinity"), {}),
    "a critical class": (("spec", "priorityClassName"), "system-node-critical"),
    "a critical priority": (("spec", "priority"), 2_000_001_000),
    "a port of the machine": (("spec", "containers", 0, "ports"), [{"containerPort": 80, "hostPort": 80}]),
    "another account": (("spec", "serviceAccountName"), "admin"),
    "the control plane's arguments with a node's rights": (("spec", "containers", 0, "args"), ["control-plane"]),
    "another word among the arguments": (("spec", "containers", 0, "args"), ["--cpus=1", "--memory=1\n-c"]),
    **{
        f"the arguments {' '.join(words)}": (("spec", "containers", 0, "args"), words)
        for words in (
            *([], ["systemd"], ["--cpus=1"], ["--cpus=1"] * 3, ["--cpus=1", "--pids=9", "--memory=1"]),
            *(["--cpus=1", "--memory=1", f"--pids={pids}"] for pids in ("0", "00", "09", "", "-1", "1e3", "4000000")),
            *(["--cpus=3", "--memory=1", "--pids=9"], ["--cpus=1", "--memory=999999999999", "--pids=9"]),
            ["systemd", "--cpus=1", "--memory=1", "--pids=9", "--pids=0"],
            ["--cpus=1", "--memory=1", "--pids=9", "--pids=0"],
        )
    },
    "tolerations without number": (("spec", "tolerations"), PODS["a node"]["spec"]["tolerations"] * 4),
    "mounts without number": (
        ("spec", "containers", 0, "volumeMounts"),
        PODS["a node"]["spec"]["containers"][0]["volumeMounts"] * 2,
    ),
    "capabilities without number": (
        ("spec", "containers", 0, "securityContext", "capabilities", "add"),
        [CAPABILITIES[0]] * (len(CAPABILITIES) + 1),
    ),
    "managers without number": (("metadata", "managedFields"), [{"manager": "m"}] * 17),
    "no limit of memory": (("spec", "containers", 0, "resources", "limits"), {"cpu": "1"}),
    "more memory than allowed": (("spec", "containers", 0, "resources", "limits", "memory"), "900Gi"),
    **{
        f"{kind} of {zero} {name}": (("spec", "containers", 0, "resources", kind, name), zero)
        for kind in ("limits", "requests")
        for name in ("cpu", "memory")
        for zero in ("0", "-0", "+0", "0m", "0.0", "0e9", "0Ki", 0, "-1")
    },
    **{
        f"a volume of {size}": (("spec", "volumes", number, "emptyDir", "sizeLimit"), size)
        for number, size in ((0, "0"), (0, "-1"), (1, "0"), (1, "17Mi"))
    },
    "a device": (("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu"), "1"),
    "a volume of the host": (("spec", "volumes"), [{"name": "run", "hostPath": {"path": "/"}}]),
    "a large volume": (
        ("spec", "volumes"),
        [{"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": "900Gi"}}],
    ),
    "a mount with a sub path": (
        ("spec", "containers", 0, "volumeMounts"),
        [{"name": "run", "mountPath": "/run", "subPath": "../x"}],
    ),
    "a finalizer": (("metadata", "finalizers"), ["example.com/stay"]),
    "a static pod's annotation": (("metadata", "annotations", "kubernetes.io/config.source"), "file"),
    "a life without an end": (("spec", "activeDeadlineSeconds"), 10**9),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(name: str) -> None:
    assert refusals(changed(PODS["a node"], *ATTACKS[name]))


def test_each_list_has_a_bound() -> None:
    """A pod with one long list fills the cluster's store."""
    for text, message in NAMESPACE.rules():
        for path in re.findall(r"([\w.\[\]]+)\.all\(item", text):
            assert f"{path}.size() <= " in text, f"{message}: {path}"


def test_a_machine_with_an_unknown_number_of_process_ids_passes() -> None:
    machine = replace(MACHINE, max_pid=0)
    assert refusals(node_pod("p", "node-1", machine, OPTIONS, OWNER)) == []


def test_a_refusal_names_the_field() -> None:
    pod = changed(PODS["a node"], ("spec", "nodeName"), "n")
    assert [one.split(":")[0] for one in refusals(pod)] == ["spec"]
    pod = changed(PODS["a node"], ("spec", "containers", 0, "image"), "busybox")
    assert refusals(pod) == [f"spec.containers[0].image: only the image {IMAGE} runs here"]


def policy(name: str) -> list[tuple[str, str]]:
    found = next(one for one in NAMESPACE.manifests() if one["metadata"]["name"] == f"kitlib-nodes-{name}")
    return [(one["expression"], one["message"]) for one in found["spec"]["validations"]]


LEARNER = {"username": "ada", "groups": ["system:authenticated"]}
KUBELET = {"username": "system:node:n", "groups": ["system:nodes", "system:authenticated"]}
ADMINISTRATOR = {"username": "root", "groups": ["system:masters", "system:authenticated"]}


@pytest.mark.parametrize(
    ("path", "value", "learner", "kubelet"),
    [
        (("metadata", "resourceVersion"), "2", True, True),
        (("metadata", "annotations", "cni.example/address"), "10.1.0.1", False, True),
        (("metadata", "finalizers"), ["x"], False, True),
        (("spec", "activeDeadlineSeconds"), 1, False, True),
        (("spec", "containers", 0, "image"), "busybox", False, False),
    ],
)
def test_an_update_by_a_learner_changes_nothing(path: Any, value: Any, learner: bool, kubelet: bool) -> None:
    old = PODS["a node"]
    for user, expected in ((LEARNER, learner), (KUBELET, kubelet)):
        variables = {"object": changed(old, path, value), "oldObject": old, "request": {"userInfo": user}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("update")) is expected


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, True),
        ({"gracePeriodSeconds": 0}, True),
        ({"gracePeriodSeconds": GRACE}, True),
        ({"gracePeriodSeconds": -1}, True),  # one second to the server
        ({"gracePeriodSeconds": GRACE + 1}, False),
        ({"gracePeriodSeconds": 2**63 - 1}, False),
    ],
)
def test_a_deletion_does_not_prolong_a_life(options: dict[str, Any], passes: bool) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options}
    for user, expected in ((LEARNER, passes), (KUBELET, True), (ADMINISTRATOR, True)):
        variables = {"object": None, "oldObject": PODS["a node"], "request": {"userInfo": user, "options": options}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("delete")) is expected


@pytest.mark.parametrize(
    ("subresource", "options", "passes"),
    [
        ("attach", {"kind": "PodAttachOptions", "stdin": True, "stdout": True, "container": "node"}, True),
        ("attach", {"kind": "PodAttachOptions", "stdin": True, "tty": True, "container": "node"}, False),
        ("attach", {"kind": "PodAttachOptions", "container": "debugger"}, False),
        ("exec", {"kind": "PodExecOptions", "container": "node", "command": ["sh"]}, False),
        ("portforward", {"kind": "PodPortForwardOptions", "ports": [80]}, False),
        ("proxy", {"kind": "PodProxyOptions", "path": "/"}, False),
    ],
)
def test_a_node_pod_is_reached_by_attach_only(subresource: str, options: Any, passes: bool) -> None:
    for user, expected in ((LEARNER, passes), (ADMINISTRATOR, True)):
        variables = {"object": options, "request": {"userInfo": user, "subResource": subresource}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("connect")) is expected


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("Pod", [ADMINISTRATOR]),  # ephemeral containers and resize
        ("Binding", [ADMINISTRATOR, {"username": "system:kube-scheduler", "groups": ["system:authenticated"]}]),
    ],
)
def test_other_subresources_are_closed_to_learners(kind: str, who: list[Any]) -> None:
    for user in (LEARNER, *who):
        variables = {"object": {"kind": kind}, "request": {"userInfo": user}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("subresources")) is (user is not LEARNER)


def test_the_kits_own_api_server_obeys_the_policy() -> None:
    kinds = ("Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    with Cluster.simulated(0) as cluster:
        cluster.apply([one for one in NAMESPACE.manifests() if one["kind"] in kinds])
        for number, pod in enumerate(PODS.values()):
            made = changed(pod, ("metadata", "name"), f"kitlib-{number}")
            del made["metadata"]["ownerReferences"]  # an absent owner ends the pod
            cluster.apply(changed(made, ("metadata", "namespace"), NAMESPACE.name))
        evil = changed(PODS["a node"], ("metadata", "namespace"), NAMESPACE.name)
        for name, (path, value) in ATTACKS.items():
            with pytest.raises(KitError):
                cluster.apply(changed(evil, path, value))
                pytest.fail(f"{name}: passed")
        assert len(cluster.pods(NAMESPACE.name)) == len(PODS)

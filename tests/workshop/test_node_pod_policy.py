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
from kitlib.node.kubernetes.manifest import CAPABILITIES, PodOptions, PodOwner, control_pod, node_pod
from kitlib.workshop.cel_shape import CelRule
from kitlib.workshop.nodes_namespace import NodesNamespace

IMAGE = "registry.example/kitlib-node:1"
NAMESPACE = NodesNamespace(image=IMAGE, nodes=2, cpus=2, memory="1Gi", deadline=3600, subjects=("user:ada",))
OPTIONS = PodOptions(image=IMAGE, deadline=3600, machines="required")
MACHINE = MachineInfo.declare(2, "1Gi")
OWNER = PodOwner("host/1:2", "run", {"apiVersion": "v1", "kind": "Pod", "name": "jupyter-ada", "uid": "1"})
PODS = {
    "a node": node_pod("p", "node-1", MACHINE, OPTIONS, OWNER),
    "a node with systemd": node_pod("p", "node-1", MACHINE, OPTIONS, OWNER, systemd=True),
    "a node with a user namespace": node_pod(
        "p", "node-1", MACHINE, replace(OPTIONS, spec={"hostUsers": False}), OWNER
    ),
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


def said(rule: CelRule, **variables: Any) -> str:
    """Return the message of a refusal, as the server makes it."""
    text = evaluate(rule.message_expression, **variables) if rule.message_expression else rule.message
    return text if isinstance(text, str) else rule.message


def refusals(pod: dict[str, Any]) -> list[str]:
    """Return the messages of the rules that refuse a new pod."""
    return [said(one, object=pod) for one in NAMESPACE.rules() if evaluate(one.expression, object=pod) is not True]


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
    for rule in NAMESPACE.rules():
        for path in re.findall(r"([\w.\[\]]+)\.all\(item", rule.expression):
            assert f"{path}.size() <= " in rule.expression, f"{rule.message}: {path}"


def test_a_machine_with_an_unknown_number_of_process_ids_passes() -> None:
    machine = replace(MACHINE, max_pid=0)
    assert refusals(node_pod("p", "node-1", machine, OPTIONS, OWNER)) == []


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("spec", "nodeName"), "n", "spec: nodeName: only containers, restartPolicy, "),
        (("spec", "containers", 0, "image"), "busybox", f"spec.containers[0].image: only the image {IMAGE} runs here"),
        (("spec", "containers", 0, "stdin"), False, "spec.containers[0].stdin: must be true"),
        (
            ("spec", "containers", 0, "imagePullPolicy"),
            "Never",
            'spec.containers[0].imagePullPolicy: must be one of ["If',
        ),
        (("spec", "schedulerName"), "mine", 'spec.schedulerName: must be "default-scheduler"'),
        (("future",), {}, "object: future: only apiVersion, kind, metadata, spec, status may be set"),
        (("metadata", "generateName"), "x", "metadata: generateName: only name, labels, annotations, "),
    ],
)
def test_a_refusal_names_field_and_rule(path: Any, value: Any, sentence: str) -> None:
    (found,) = refusals(changed(PODS["a node"], path, value))
    assert found.startswith(sentence)


def test_a_missing_field_is_refused_with_a_sentence() -> None:
    for name, field in (("a node", "securityContext"), ("a control plane", "env"), ("a node", "resources")):
        pod = deepcopy(PODS[name])
        del pod["spec"]["containers"][0][field]
        assert [one.split(":")[0] for one in refusals(pod)] == [f"spec.containers[0].{field}"]


def test_the_resource_that_a_limit_range_adds_is_named_not_its_annotation() -> None:
    """Source: plugin/pkg/admission/limitranger mergePodResourceRequirements, which notes what it has set."""
    note = "LimitRanger plugin set: ephemeral-storage limit for container node"
    pod = changed(PODS["a node"], ("metadata", "annotations", "kubernetes.io/limit-ranger"), note)
    assert refusals(pod) == []
    (found,) = refusals(changed(pod, ("spec", "containers", 0, "resources", "limits", "ephemeral-storage"), "1Gi"))
    assert found.startswith("spec.containers[0].resources: ") and "default of a LimitRange" in found


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

"""The admission policies of a namespace for node pods: only the kit's own pods, and no access except attach.

A node's pod has CAP_SYS_ADMIN. One additional field is enough to run another program with it (a lifecycle hook, a
probe, an environment variable of the interpreter) or to run it on any machine (`nodeName`, a toleration, a priority
class). So the policy describes the pod of `kitlib.node.kubernetes.manifest` key by key. Other fields are rejected,
including those of later releases. Fields that the API server sets (defaults, the plugins ServiceAccount, Priority and
DefaultTolerationSeconds) may only have the value that it sets.

    create         the shape of the pod
    update         no change, unless a kubelet, a controller of kube-system or an administrator sends the request
    delete         with the pod's own grace period at most: a deletion in progress replaces the deadline
    subresources   attach to the node's own container, eviction like a deletion; nothing else, in later releases either

Source: admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy (1.30); core/v1 defaults.go SetDefaults_Pod and
SetDefaults_PodSpec; plugin/pkg/admission/{serviceaccount,priority,defaulttolerationseconds}.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.node.kubernetes import manifest
from kitlib.node.real.container import CONTROL_UID
from kitlib.workshop import node_pod_requests
from kitlib.workshop.cel_shape import CelRule, Either, Exactly, Items, Keys, OneOf, Shape, Where, literal

GROUP = "admissionregistration.k8s.io"
_TEXT = Where("{it}.size() <= 253")
_NOT = OneOf((False,))
_DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for name in ("not-ready", "unreachable")
]
"""The tolerations that DefaultTolerationSeconds adds."""


@dataclass(frozen=True, kw_only=True)
class NodePodLimits:
    """The numbers of a node's pod.

    Attributes:
        image: the only allowed image.
        cpus: the largest CPU limit, in cores.
        memory: the largest memory limit, in bytes.
        pids: the largest number of processes.
        deadline: the largest `activeDeadlineSeconds`, in seconds.
    """

    image: str
    cpus: int
    memory: int
    pids: int
    deadline: int


def rules(limits: NodePodLimits) -> Sequence[CelRule]:
    """Return the validations of a new pod."""
    return tuple(_validations(limits))


def _validations(limits: NodePodLimits) -> Iterator[CelRule]:
    # Parts with many fields have one rule per field, so that a rejection names the field.
    yield _only("object", _OBJECT)
    for path, shape in (
        ("metadata", _METADATA),
        ("spec", _spec(limits)),
        (_CONTAINER, _container(limits)),
    ):
        yield _only(f"object.{path}", shape)
        for key in (*shape.required, *shape.optional):
            if shape.expects(key) != _ANY:
                field = f"{path}.{key}"
                meaning = _meaning(field, shape.expects(key), limits)
                yield CelRule(shape.one(f"object.{path}", key), f"{field}: {meaning}")
    yield from _by_kind_of_pod()


def _only(path: str, shape: Keys) -> CelRule:
    """Return the rule that a map has no other keys than those of the shape; its message names them."""
    known = literal(sorted((*shape.required, *shape.optional)))
    meaning = f"only {', '.join((*shape.required, *shape.optional))} may be set"
    others = f"{path}.filter(key, !(key in {known})).join(', ')"
    name = path.removeprefix("object.")
    return CelRule(shape.only(path), f"{name}: {meaning}", f"'{name}: ' + {others} + ': {meaning}'")


def _by_kind_of_pod() -> Iterator[CelRule]:
    """Yield the rules in which a node and a control plane differ; their arguments tell them apart."""
    path, name = f"object.{_CONTAINER}", _CONTAINER
    node, context = f"{path}.args != ['control-plane']", f"{path}.securityContext"
    yield CelRule(
        f"has({context}) && ({node} ? ({_NODE_CONTEXT.cel(context)}) : ({_CONTROL_CONTEXT.cel(context)}))",
        f"{name}.securityContext: a node is not privileged, and has the user 0, a read-only root, no profiles and the "
        f"capabilities {', '.join(manifest.CAPABILITIES)} at most; a control plane has the user {CONTROL_UID} and no "
        "capabilities; no other field may be set",
    )
    yield CelRule(
        f"{node} ? !has({path}.env) : has({path}.env) && {path}.env == {literal(_CONTROL_ENVIRONMENT)}",
        f"{name}.env: a node has no environment variables, a control plane only OPENBLAS_NUM_THREADS",
    )


_ANY = Where("true")
"""A value that the server sets, or that another rule checks."""
_CONTAINER = "spec.containers[0]"
_OBJECT = Keys(dict.fromkeys(("apiVersion", "kind", "metadata", "spec"), _ANY), {"status": _ANY})
_METADATA = Keys(
    {
        "name": _TEXT,
        "labels": Keys(
            {
                "app.kubernetes.io/name": Exactly("kitlib-node"),
                manifest.NODE: _TEXT,
                manifest.OWNER: _TEXT,
            },
            {manifest.RUN: _TEXT},
        ),
        # a LimitRanger notes in its annotation what it adds to the resources, which have a rule of their own
        "annotations": Keys({manifest.OWNED_BY: _TEXT}, {"kubernetes.io/limit-ranger": Where("{it}.size() <= 1024")}),
    },
    {
        "namespace": _TEXT,
        "ownerReferences": Items(
            Keys(
                {
                    "apiVersion": Exactly("v1"),
                    "kind": Exactly("Pod"),
                    "name": _TEXT,
                    "uid": _TEXT,
                }
            ),
            1,
        ),
        "managedFields": Where(f"{{it}}.size() <= {node_pod_requests.MANAGERS}"),
        **dict.fromkeys(("uid", "creationTimestamp", "generation"), _ANY),
    },
)
_CONTROL_ENVIRONMENT = [{"name": "OPENBLAS_NUM_THREADS", "value": "1"}]
_CAPABILITIES = Keys({"drop": Exactly(["ALL"]), "add": Items(OneOf(manifest.CAPABILITIES), len(manifest.CAPABILITIES))})
_NODE_CONTEXT = Keys(
    {
        "privileged": Exactly(False),
        "capabilities": _CAPABILITIES,
        "seccompProfile": Exactly({"type": "Unconfined"}),
        "appArmorProfile": Exactly({"type": "Unconfined"}),
        "readOnlyRootFilesystem": Exactly(True),
        "runAsUser": Exactly(0),
        "runAsNonRoot": Exactly(False),
    }
)
_CONTROL_CONTEXT = Keys(
    {
        "allowPrivilegeEscalation": Exactly(False),
        "capabilities": Exactly({"drop": ["ALL"]}),
        "readOnlyRootFilesystem": Exactly(True),
        "runAsUser": Exactly(CONTROL_UID),
        "runAsGroup": Exactly(CONTROL_UID),
        "runAsNonRoot": Exactly(True),
        "seccompProfile": Exactly({"type": "RuntimeDefault"}),
    }
)


def _amount(most: str) -> Where:
    """Return the shape of a quantity above 0 and at most `most`.

    A limit of 0 is no limit to the kubelet. Source: kuberuntime calculateLinuxResources, cm.MilliCPUToQuota and
    cm.ResourceConfigForPod; volume/emptydir calculateEmptyDirMemorySize.
    """
    given = "quantity(string({it}))"
    return Where(f"{given}.compareTo(quantity('0')) > 0 && {given}.compareTo(quantity({literal(most)})) <= 0")


def _words(first: int, limits: NodePodLimits) -> str:
    """Return the expression about the three bounds of a node's program, in the order of the manifest.

    Source: kitlib.node.real.bounds, where 0 or a missing word is no bound, and the last of two words counts.
    """
    bounds = (("cpus", limits.cpus), ("memory", limits.memory), ("pids", limits.pids))
    parts = []
    for index, (name, most) in enumerate(bounds, first):
        word, start = f"{{it}}[{index}]", f"--{name}="
        parts.append(f"{word}.matches('^{start}[1-9][0-9]{{0,17}}$')")
        parts.append(f"int({word}.substring({len(start)})) <= {most}")
    return " && ".join(parts)


def _volume(name: str, most: str) -> Keys:
    return Keys(
        {"name": Exactly(name), "emptyDir": Keys({"medium": Exactly("Memory"), "sizeLimit": _amount(most)})},
    )


def _spec(limits: NodePodLimits) -> Keys:
    volume = Either((_volume("run", str(limits.memory)), _volume("tmp", manifest.TMP)))
    tolerations = [{"key": manifest.MACHINES, "operator": "Exists"}, *_DEFAULT_TOLERATIONS]
    return Keys(
        {
            "containers": Where("{it}.size() == 1"),
            "restartPolicy": Exactly("Never"),
            "activeDeadlineSeconds": Where(f"{{it}} >= 1 && {{it}} <= {limits.deadline}"),
            "terminationGracePeriodSeconds": Exactly(manifest.GRACE),
            "automountServiceAccountToken": Exactly(False),
            "enableServiceLinks": Exactly(False),
            "affinity": Exactly({"nodeAffinity": manifest.affinity("required")}),
        },
        {
            "volumes": Items(volume, 2),
            "tolerations": Items(OneOf(tolerations), len(tolerations)),
            "hostNetwork": _NOT,
            "hostPID": _NOT,
            "hostIPC": _NOT,
            manifest.HOST_USERS: _NOT,
            "schedulerName": Exactly("default-scheduler"),
            "dnsPolicy": Exactly("ClusterFirst"),
            "securityContext": Where("{it}.size() == 0"),
            "serviceAccountName": Exactly("default"),
            "serviceAccount": Exactly("default"),
            "priority": Exactly(0),
            "preemptionPolicy": Exactly("PreemptLowerPriority"),
            "imagePullSecrets": Items(Keys({"name": _TEXT}), 4),
        },
    )


def _container(limits: NodePodLimits) -> Keys:
    amounts = Keys({"cpu": _amount(str(limits.cpus)), "memory": _amount(str(limits.memory))})
    mounts = [{"name": "run", "mountPath": "/run"}, {"name": "tmp", "mountPath": "/tmp"}]
    return Keys(
        {
            "name": Exactly(manifest.CONTAINER),
            "image": Exactly(limits.image),
            "command": Exactly(list(manifest.COMMAND)),
            "args": Either(
                (
                    Exactly(["control-plane"]),
                    Where(f"{{it}}.size() == 3 && {_words(0, limits)}"),
                    Where(f"{{it}}.size() == 4 && {{it}}[0] == 'systemd' && {_words(1, limits)}"),
                )
            ),
            "resources": Keys({"limits": amounts, "requests": amounts}),
            "securityContext": _ANY,  # by kind of pod
            "stdin": Exactly(True),
            "stdinOnce": Exactly(True),
        },
        {
            "env": _ANY,  # by kind of pod
            "imagePullPolicy": OneOf(("IfNotPresent", "Always")),
            "volumeMounts": Items(OneOf(mounts), len(mounts)),
            "terminationMessagePath": Exactly("/dev/termination-log"),
            "terminationMessagePolicy": Exactly("File"),
        },
    )


_MEANING = {
    "metadata.labels": f"only app.kubernetes.io/name: kitlib-node, {manifest.NODE}, {manifest.OWNER}, {manifest.RUN}",
    "metadata.annotations": f"only {manifest.OWNED_BY} may be set (and is)",
    "metadata.managedFields": f"at most {node_pod_requests.MANAGERS} entries",
    "metadata.ownerReferences": "at most the pod of the notebook",
    "spec.securityContext": "must be empty",
    "spec.imagePullSecrets": "at most 4 names",
    "spec.containers": "a node pod has one container",
    "spec.restartPolicy": "a node pod is not restarted (Never)",
    "spec.terminationGracePeriodSeconds": f"must be {manifest.GRACE}",
    "spec.automountServiceAccountToken": "a node pod has no service account token (false)",
    "spec.enableServiceLinks": "must be false",
    "spec.affinity": f"a node pod requires a machine with the label {manifest.MACHINES} (machines='required')",
    "spec.tolerations": f"a node pod tolerates {manifest.MACHINES} and the default tolerations, nothing else",
    "spec.volumes": "a node pod has no volumes but `run` and `tmp` in memory, each with a sizeLimit of more than 0, "
    f"at most the pod's memory and {manifest.TMP}",
    "spec.hostNetwork": "a node pod has its own network namespace",
    "spec.hostPID": "a node pod has its own PID namespace",
    "spec.hostIPC": "a node pod has its own IPC namespace",
    "spec.hostUsers": "may be false (a user namespace)",
    "spec.priority": "a node pod has the priority 0",
    "spec.serviceAccountName": "a node pod has the service account `default`",
    f"{_CONTAINER}.command": "only the nodes' own program runs here",
    f"{_CONTAINER}.volumeMounts": "only /run and /tmp in memory",
}


def _meaning(field: str, shape: Shape, limits: NodePodLimits) -> str:
    if field == f"{_CONTAINER}.image":
        return f"only the image {limits.image} runs here"
    if field == "spec.activeDeadlineSeconds":
        return f"a node pod ends after {limits.deadline} seconds at the latest"
    if field == f"{_CONTAINER}.resources":
        return (
            f"limits and requests of CPU and memory, each more than 0, at most {limits.cpus} and {limits.memory}; "
            "no other resource, not by the default of a LimitRange either"
        )
    if field == f"{_CONTAINER}.args":
        bounds = f"--cpus, --memory and --pids once each, from 1 to {limits.cpus}, {limits.memory} and {limits.pids}"
        return f"control-plane, or (after `systemd`, if it is process 1) {bounds}"
    if field in _MEANING:
        return _MEANING[field]
    if isinstance(shape, Exactly):
        return f"must be {literal(shape.value)}"
    return f"must be one of {literal(list(shape.values))}" if isinstance(shape, OneOf) else "must be a short text"


def policies(name: str, limits: NodePodLimits, selector: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the policies and their bindings, as manifests.

    Args:
        name: the name of the first policy; the others begin with it.
        limits: the numbers of a node's pod.
        selector: the label selector of the namespaces to which the policies apply.
    """
    return [
        *_policy(name, selector, "CREATE", ["pods"], rules(limits)),
        *_policy(f"{name}-update", selector, "UPDATE", ["pods"], node_pod_requests.UPDATE),
        *_policy(f"{name}-delete", selector, "DELETE", ["pods"], node_pod_requests.DELETE),
        # `pods/*` matches the pods themselves too (rules.Matcher), hence the condition
        *_policy(
            f"{name}-subresources",
            selector,
            "*",
            ["pods/*", "bindings"],
            node_pod_requests.SUBRESOURCES,
            node_pod_requests.OF_SUBRESOURCE,
        ),
    ]


def _policy(
    name: str,
    selector: dict[str, Any],
    operation: str,
    resources: Sequence[str],
    validations: Sequence[CelRule],
    condition: str = "",
) -> list[dict[str, Any]]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": list(resources),
        "scope": "Namespaced",
    }
    policy = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"namespaceSelector": selector, "resourceRules": [rule]},
            **({"matchConditions": [{"name": "subresource", "expression": condition}]} if condition else {}),
            "validations": [validation.manifest() for validation in validations],
        },
    }
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }
    return [policy, binding]

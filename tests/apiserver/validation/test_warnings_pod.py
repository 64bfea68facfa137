"""Warnings about pods and templates: what each is about, in their order."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PodSpec
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.validation.warnings.pod import containers_with_paths, pod_warnings
from tests.apiserver.validation.told import part

OLD, NEW = "beta.kubernetes.io/os", "kubernetes.io/os"
DEPRECATED = f'deprecated since v1.14; use "{NEW}" instead'
NO_POD = "labelSelector: a null labelSelector results in matching no pod"


def warned(spec: dict[str, Any], notes: dict[str, str] | None = None, field: str = "") -> list[str]:
    made = part(PodSpec, **{"containers": [{"name": "c"}], **spec})
    return list(pod_warnings(made, part(ObjectMeta, annotations=notes or {}), field))


def test_a_pod_without_warnings() -> None:
    assert warned({}) == warned({}, field="spec.template.") == []


def test_deprecated_labels_of_nodes() -> None:
    """Source: warningsForPodSpecAndMeta, GetNodeLabelDeprecatedMessage."""
    expressions = {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": OLD, "operator": "Exists"}]}
    required = {"nodeSelectorTerms": [{}, expressions]}
    preferred = [{"weight": 1, "preference": {}}, {"weight": 1, "preference": expressions}]
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }
    spread = [{"topologyKey": key, "labelSelector": {}} for key in (NEW, OLD)]
    spec = {"nodeSelector": {NEW: "a", OLD: "b"}, "affinity": {"nodeAffinity": affinity}}
    at = "spec.affinity.nodeAffinity"
    assert warned({**spec, "topologySpreadConstraints": spread}) == [
        f"spec.nodeSelector[{OLD}]: {DEPRECATED}",
        f"{at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[1].key: "
        f"{OLD} is {DEPRECATED}",
        f"{at}.preferredDuringSchedulingIgnoredDuringExecution[1].preference.matchExpressions[1].key: "
        f"{OLD} is {DEPRECATED}",
        f"spec.topologySpreadConstraints[1].topologyKey: {OLD} is {DEPRECATED}",
    ]
    assert warned({"affinity": {"nodeAffinity": {}}}) == warned({"affinity": {}}) == []


def test_selectors_that_match_no_pod() -> None:
    """Source: warningsForPodAffinityTerms, warningsForWeightedPodAffinityTerms."""
    terms = [{"topologyKey": "a", "labelSelector": {}}, {"topologyKey": "a"}]
    weighted = [{"weight": 1, "podAffinityTerm": term} for term in terms]
    both = {
        "preferredDuringSchedulingIgnoredDuringExecution": weighted,
        "requiredDuringSchedulingIgnoredDuringExecution": terms,
    }
    spread = [{"topologyKey": OLD}, {"topologyKey": "a", "labelSelector": {}}]
    spec = {"affinity": {"podAntiAffinity": both, "podAffinity": both}, "topologySpreadConstraints": spread}
    expected = [
        f"spec.topologySpreadConstraints[0].topologyKey: {OLD} is {DEPRECATED}",
        f"spec.topologySpreadConstraints[0].{NO_POD}",
    ]
    for name in ("podAffinity", "podAntiAffinity"):
        expected += [
            f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution[1].{NO_POD}",
            f"spec.affinity.{name}.preferredDuringSchedulingIgnoredDuringExecution[1].podAffinityTerm.{NO_POD}",
        ]
    assert warned(spec) == expected


def test_annotations_without_effect() -> None:
    """Source: deprecatedAnnotations."""
    notes = {
        "security.alpha.kubernetes.io/unsafe-sysctls": "",
        "security.alpha.kubernetes.io/sysctls": "",
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "scheduler.alpha.kubernetes.io/critical-pod-2": "",
    }
    at = "spec.template.metadata.annotations"
    assert warned({}, notes, "spec.template.") == [
        f"{at}[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "
        '"priorityClassName" field instead',
        *(
            f'{at}[security.alpha.kubernetes.io/{name}]: non-functional in v1.11+; use the "sysctls" field instead'
            for name in ("sysctls", "unsafe-sysctls")
        ),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
        ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
        ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
        ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
        ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
        ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
        ("hostPath", ""),
        ("nfs", ""),
    ],
)
def test_volumes_that_have_been_removed(name: str, text: str) -> None:
    """StorageOS is written otherwise than in manifests."""
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", name: {}}]
    place = "storageOS" if name == "storageos" else name
    assert warned({"volumes": volumes}) == ([f"spec.volumes[1].{place}: {text}"] if text else [])
    assert warned({"volumes": volumes}, field="t.") == ([f"t.spec.volumes[1].{place}: {text}"] if text else [])


def test_volumes_with_claims_and_files() -> None:
    claim = {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1500m"}}}}}
    items = [{"key": "k", "path": "a"}, {"key": "l", "path": "a"}]
    volumes = [
        {"name": "a", "ephemeral": claim},
        {"name": "b", "configMap": {"name": "m", "items": items}},
        {"name": "d", "rbd": {}},
    ]
    place = "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]"
    assert warned({"volumes": volumes}) == [
        f'{place}: fractional byte value "1500m" is invalid, must be an integer',
        "spec.volumes[2].rbd: deprecated in v1.28, non-functional in v1.31+",
        'volume "b" (ConfigMap "m"): overlapping paths: "a" with "a"',
    ]
    assert warned({"volumes": [{"name": "a", "ephemeral": {}}]}) == []


def test_repeated_aliases_and_secrets() -> None:
    aliases = [{"ip": ip} for ip in ("10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1")]
    secrets = [{"name": name} for name in ("a", "", "b", "a", "")]
    assert warned({"hostAliases": aliases, "imagePullSecrets": secrets}) == [
        'spec.hostAliases[2].ip: duplicate ip "10.0.0.1"',
        'spec.hostAliases[3].ip: duplicate ip "10.0.0.1"',
        'spec.imagePullSecrets[3].name: duplicate name "a"',
        'spec.imagePullSecrets[4].name: duplicate name ""',
        'spec.imagePullSecrets[1].name: invalid empty name ""',
        'spec.imagePullSecrets[4].name: invalid empty name ""',
    ]


def test_fractions_of_bytes() -> None:
    amounts = {"cpu": "1m", "ephemeral-storage": "2500m", "memory": "1500m", "hugepages-2Mi": "500m"}
    resources = {"limits": amounts, "requests": amounts}
    spec = {
        "overhead": amounts,
        "containers": [{"name": "c"}, {"name": "d", "resources": resources}],
        "initContainers": [{"name": "i", "resources": {"limits": {"memory": "1m"}}}],
    }

    def text(place: str, name: str, amount: str) -> str:
        return f'spec.{place}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'

    assert warned(spec) == [
        text("overhead", "memory", "1500m"),
        text("overhead", "ephemeral-storage", "2500m"),
        text("initContainers[0].resources.limits", "memory", "1m"),
        *(
            text(f"containers[1].resources.{kind}", name, amount)
            for name, amount in (("memory", "1500m"), ("ephemeral-storage", "2500m"))
            for kind in ("limits", "requests")
        ),
    ]


SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
POD_NOTE, NOTE = "seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/"
PROFILE = {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}


def test_seccomp_annotations() -> None:
    """A field of the pod silences the pod's annotation, one of a container the container's."""
    notes = {POD_NOTE: "", f"{NOTE}c": "", f"{NOTE}d": "", f"{NOTE}x": ""}
    pod, first, second = (f"metadata.annotations[{key}]: {SECCOMP}" for key in (POD_NOTE, f"{NOTE}c", f"{NOTE}d"))
    both: dict[str, Any] = {"initContainers": [{"name": "d"}]}
    assert warned(both, notes) == [pod, second, first]
    assert warned({**both, "securityContext": {}}, notes) == [pod, second, first]
    assert warned({**both, **PROFILE}, notes) == [second, first]
    assert warned({**both, "containers": [{"name": "c", **PROFILE}]}, notes) == [pod, second]
    assert warned({**both, "containers": [{"name": "c", "securityContext": {}}]}, notes) == [pod, second, first]


def test_app_armor_annotations() -> None:
    """A pod's are the first of all warnings. Source: applyAppArmorVersionSkew, warningsForPodSpecAndMeta."""
    key = "container.apparmor.security.beta.kubernetes.io/c"
    text = f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    notes, label = {key: "runtime/default", f"{key}2": "runtime/default"}, {"nodeSelector": {OLD: "a"}}
    first = f"spec.nodeSelector[{OLD}]: {DEPRECATED}"
    assert warned(label, notes) == [text, first]
    assert warned(label, notes, "t.") == [f"t.{first}", f"t.{text}"]
    own = {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
    assert warned({"containers": [{"name": "c", **own}]}, notes) == []
    assert warned({"containers": [{"name": "c", **own}]}, notes, "t.") == []
    assert warned(own, notes) == warned(own, notes, "t.") == [], "the same profile"
    assert warned({"securityContext": {}}, notes) == [text]


FROM: dict[str, Any] = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


@pytest.mark.parametrize(
    ("env", "hidden"),
    [
        ([("A", "1"), ("B", "1")], []),
        ([("A", "1"), ("A", "$(A)2")], []),
        ([("A", "1"), ("A", "2")], [1]),
        ([("A", "1"), ("A", "$(B)")], [1]),
        ([("A", "1"), ("A", "$(A)")], [1]),
        ([("A", "1"), ("A", None)], [1]),
        ([("A", "1"), ("A", "$(A)2"), ("A", "")], [2]),
        ([("A", "$(A)")], []),
    ],
)
def test_hidden_variables(env: list[tuple[str, str | None]], hidden: list[int]) -> None:
    """A later value may only refer to the earlier one."""
    listed = [{"name": name, **(FROM if value is None else {"value": value})} for name, value in env]
    spec = {"containers": [{"name": "c"}, {"name": "d", "env": listed}]}
    text = 'hides previous definition of "A", which may be dropped when using apply'
    assert warned(spec) == [f"spec.containers[1].env[{i}]: {text}" for i in hidden]


def test_a_variable_from_elsewhere_hides_whatever_its_value_is() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2", **FROM}]
    assert len(warned({"containers": [{"name": "c", "env": env}]})) == 1


def test_equal_variables_of_two_containers() -> None:
    assert warned({"containers": [{"name": name, "env": [{"name": "A"}]} for name in "cd"]}) == []


def port(number: int = 80, protocol: str = "TCP", **fields: Any) -> dict[str, Any]:
    return {"containerPort": number, "protocol": protocol, **fields}


FIRST = "spec.containers[0].ports[0]"


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (port(), port(81), ""),
        (port(), port(protocol="UDP"), ""),
        (port(), port(), "duplicate port definition with"),
        (port(hostPort=1), port(hostPort=1), "duplicate port definition with"),
        (port(hostPort=1), port(), "overlapping port definition with"),
        (port(), port(hostPort=1), "overlapping port definition with"),
        (port(hostPort=1), port(hostPort=2), ""),
        (port(hostPort=1), port(hostPort=1, hostIP="1.1.1.1"), "dangerously ambiguous port definition with"),
        (port(hostPort=1, hostIP="1.1.1.1"), port(hostPort=1), "dangerously ambiguous port definition with"),
        (port(hostPort=1, hostIP="1.1.1.1"), port(hostPort=1, hostIP="1.1.1.2"), ""),
        (port(hostPort=1, hostIP="1.1.1.1"), port(hostPort=2), ""),
    ],
)
def test_ports_that_clash(one: dict[str, Any], other: dict[str, Any], text: str) -> None:
    """Ports clash in one container, between containers, and with those of init containers."""
    assert warned({"containers": [{"name": "c", "ports": [one, other]}]}) == (
        [f"spec.containers[0].ports[1]: {text} {FIRST}"] if text else []
    )
    containers = [{"name": "c", "ports": [one]}, {"name": "d", "ports": [port(9), other]}]
    expected = f"spec.containers[1].ports[1]: {text} {FIRST}"
    assert warned({"containers": containers}) == ([expected] if text else [])
    spec = {"initContainers": containers[:1], "containers": containers[1:]}
    expected = f"spec.containers[0].ports[1]: {text} spec.initContainers[0].ports[0]"
    assert warned(spec) == ([expected] if text else [])


def test_a_port_clashes_with_each_earlier_one() -> None:
    ports = [port(), port(hostPort=1), port()]
    assert warned({"containers": [{"name": "c", "ports": ports}]}) == [
        f"spec.containers[0].ports[1]: overlapping port definition with {FIRST}",
        f"spec.containers[0].ports[2]: duplicate port definition with {FIRST}",
        "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]",
    ]


def test_an_address_without_a_port_of_the_host() -> None:
    """The port is shown as Go's `%+v`."""
    ports = [port(name="web", hostIP="1.1.1.1"), port(81, hostIP="1.1.1.1", hostPort=1), port(82)]
    text = "hostIP set without hostPort: {Name:web HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}"
    assert warned({"containers": [{"name": "c", "ports": ports}]}) == [f"{FIRST}: {text}"]


@pytest.mark.parametrize(("seconds", "negative"), [(None, False), (0, False), (30, False), (-1, True)])
def test_a_negative_grace_period(seconds: int | None, negative: bool) -> None:
    text = "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    assert warned({"terminationGracePeriodSeconds": seconds}) == ([text] if negative else [])


def test_the_order_of_containers() -> None:
    """Init containers come first. Source: VisitContainersWithPath."""
    spec = part(PodSpec, containers=[{"name": "c"}, {"name": "d"}], initContainers=[{"name": "i"}])
    assert [(one.name, place) for one, place in containers_with_paths(spec, "s")] == [
        ("i", "s.initContainers[0]"),
        ("c", "s.containers[0]"),
        ("d", "s.containers[1]"),
    ]


def test_the_order_of_warnings() -> None:
    """Warnings about containers precede those about their ports, affinity is the last."""
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    containers = [{"name": "c", "ports": [port(), port()]}, {"name": "d", "env": env}]
    term = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}
    spec = {
        "affinity": {"podAffinity": term},
        "terminationGracePeriodSeconds": -1,
        "containers": containers,
        "imagePullSecrets": [{"name": ""}],
        "volumes": [{"name": "a", "rbd": {}}],
        "nodeSelector": {OLD: "a"},
    }
    places = [text.partition(": ")[0] for text in warned(spec, {POD_NOTE: ""}, "t.")]
    assert places == [
        f"t.spec.nodeSelector[{OLD}]",
        "t.spec.volumes[0].rbd",
        "t.spec.imagePullSecrets[0].name",
        f"t.metadata.annotations[{POD_NOTE}]",
        "t.spec.containers[1].env[1]",
        "t.spec.containers[0].ports[1]",
        "t.spec.terminationGracePeriodSeconds",
        f"t.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].{NO_POD.partition(':')[0]}",
    ]

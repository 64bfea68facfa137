"""What the resize subresource refuses, with the words of 1.36's ValidatePodResize."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.core import Node, NodeStatus, Pod
from kitlib.api.errors import Forbidden, Invalid
from kitlib.api.meta import ObjectMeta
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.pod_resize import check_features, resize_patch

CPU_MEMORY = {"cpu": "100m", "memory": "100Mi"}


def resources(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"requests": requests or {}, "limits": limits or {}}


def pod(**spec: Any) -> dict[str, Any]:
    """A burstable pod: two containers, an init container, a sidecar."""
    asked = resources(CPU_MEMORY)
    containers = [{"name": name, "image": "i", "resources": asked} for name in ("a", "b")]
    once = {"name": "once", "image": "i", "resources": asked}
    sidecar = {"name": "side", "image": "i", "resources": asked, "restartPolicy": "Always"}
    made = {"containers": containers, "initContainers": [once, sidecar], **spec}
    meta = {"name": "p", "namespace": "default"}
    return copy.deepcopy({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": made})


def container(index: int, **changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["spec"]["containers"][index].update(changes)


def init(index: int, **changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["spec"]["initContainers"][index].update(changes)


def spec(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["spec"].update(changes)


def reorder(data: dict[str, Any]) -> None:
    data["spec"]["containers"].reverse()


def fewer(data: dict[str, Any]) -> None:
    data["spec"]["containers"].pop()


MORE = resources({"cpu": "200m", "memory": "200Mi"})
WHOLE = resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"})
HUGE = {"cpu": "2", "memory": "2Gi", "hugepages-2Mi": "2Mi"}
MUTABLE = "only cpu and memory resources are mutable"
QOS = "Pod QOS Class may not change as a result of resizing"
RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]

CASES: list[tuple[str, dict[str, Any], Callable[[dict[str, Any]], None], list[str]]] = [
    ("more CPU and memory", pod(), container(0, resources=MORE), []),
    ("more for a sidecar", pod(), init(1, resources=MORE), []),
    ("more for an init container", pod(), init(0, resources=MORE), []),
    ("an image is not looked at", pod(), container(0, image="other", resources=MORE), []),
    (
        "a request less",
        pod(),
        container(1, resources=resources({"cpu": "1"})),
        ["spec.containers[1].resources.requests: Forbidden: resource requests cannot be removed"],
    ),
    (
        "another QoS class",
        pod(containers=[{"name": "a", "image": "i"}], initContainers=[]),
        container(0, resources=MORE),
        [f'spec: Invalid value: "BestEffort": {QOS}'],
    ),
    (
        "another resource",
        pod(),
        container(0, resources=resources({**CPU_MEMORY, "ephemeral-storage": "1Gi"})),
        [f"spec: Forbidden: {MUTABLE}"],
    ),
    (
        "another resource of a sidecar",
        pod(),
        init(1, resources=resources({**CPU_MEMORY, "ephemeral-storage": "1Gi"})),
        [
            "spec.initContainers[1]: Forbidden: only cpu and memory resources for init or sidecar containers are "
            "mutable"
        ],
    ),
    ("another resize policy", pod(), container(0, resizePolicy=RESTART), [f"spec: Forbidden: {MUTABLE}"]),
    (
        "containers in another order",
        pod(),
        reorder,
        [
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
            "spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize",
        ],
    ),
    (
        "a container less",
        pod(),
        fewer,
        ["spec.containers: Forbidden: containers may not be added or removed on resize"],
    ),
    (
        "more for the pod",
        pod(resources=WHOLE),
        spec(resources=resources({"cpu": "2", "memory": "1Gi"}, {"cpu": "4", "memory": "2Gi"})),
        [],
    ),
    ("pod-level resources come", pod(), spec(resources=WHOLE), []),
    (
        "pod-level resources go",
        pod(resources=WHOLE),
        spec(resources=None),
        ["spec.resources: Forbidden: pod-level resources cannot be removed"],
    ),
    (
        "a pod-level limit goes",
        pod(resources=WHOLE),
        spec(resources=resources(WHOLE["requests"], {"cpu": "2"})),
        ["spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"],
    ),
    (
        "another pod-level resource",
        pod(resources=WHOLE),
        spec(resources=resources({**WHOLE["requests"], "hugepages-2Mi": "2Mi"}, HUGE)),
        ["spec: Forbidden: only cpu and memory resources are mutable at pod-level"],
    ),
    (
        "a pod-level limit below a container's request",
        pod(resources=WHOLE, initContainers=[]),
        spec(resources=resources({"cpu": "150m", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"})),
        ['spec.resources.requests[cpu]: Invalid value: "150m": must be greater than or equal to aggregate container '
         "requests of 200m"],
    ),
]  # fmt: skip


def refused(release: Release, given: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> list[str]:
    api = APIServer(release=release)
    data = to_dict(api.create(from_dict(given)))
    change(data)
    try:
        api.resize(from_dict(data))
    except Invalid as error:
        return [str(one) for one in error.errors]
    return []


@pytest.mark.parametrize(("given", "change", "found"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_what_may_change_in_a_running_pod(
    given: dict[str, Any], change: Callable[[dict[str, Any]], None], found: list[str]
) -> None:
    assert refused(Release.latest(), copy.deepcopy(given), change) == found


@pytest.mark.parametrize(
    ("given", "change", "found"),
    [
        (pod(resources=WHOLE), container(0, resources=MORE), ["pods with pod-level resources cannot be resized"]),
        (pod(), init(0, resources=MORE), ["resources for non-sidecar init containers are immutable"]),
    ],
)
def test_before_1_36_less_may_change(
    given: dict[str, Any], change: Callable[[dict[str, Any]], None], found: list[str]
) -> None:
    texts = refused(Release("1.35"), copy.deepcopy(given), change)
    assert [text.rpartition("Forbidden: ")[2] for text in texts] == found


def test_static_and_windows_pods_are_not_resized() -> None:
    mirror = pod()
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    mirror["spec"]["nodeName"] = "n"
    assert refused(Release.latest(), mirror, container(0, resources=MORE)) == [
        "[]: Forbidden: static pods cannot be resized"
    ]
    windows = pod(os={"name": "windows"}, initContainers=[])
    assert refused(Release.latest(), windows, container(0, resources=MORE)) == [
        "[]: Forbidden: windows pods cannot be resized"
    ]


def with_resources(cpu: str, *, name: str = "n") -> Pod:
    spec = {"nodeName": name, "containers": [{"name": "c", "image": "i"}], "resources": {"limits": {"cpu": cpu}}}
    made: Pod = from_dict({"metadata": {"name": "p"}, "spec": spec}, Pod)
    return made


@pytest.mark.parametrize(
    ("node", "release", "said"),
    [
        (["InPlacePodLevelResourcesVerticalScaling"], "1.36", ""),
        ([], "1.35", ""),
        (
            ["ExtendWebSocketsToKubelet"],
            "1.36",
            'pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "n"',
        ),
        (None, "1.36", 'node "n" not found'),
    ],
)
def test_a_nodes_declared_features_allow_a_resize(node: list[str] | None, release: str, said: str) -> None:
    found = None if node is None else Node(metadata=ObjectMeta(name="n"), status=NodeStatus(declared_features=node))
    new, old = with_resources("2"), with_resources("1")
    if not said:
        check_features(new, old, found, Release(release))
        return
    with pytest.raises(Forbidden) as caught:
        check_features(new, old, found, Release(release))
    assert str(caught.value) == f'pods "p" is forbidden: {said}'


def test_containers_may_be_named_in_any_order() -> None:
    """Lists of a patch reorder those of the pod, which a resize refuses."""
    asked = {name: {"requests": {"cpu": "200m"}} for name in ("side", "b", "a")}
    patch = resize_patch(from_dict(pod(), Pod), asked)
    assert {field: [one["name"] for one in some] for field, some in patch["spec"].items()} == {
        "containers": ["a", "b"],
        "initContainers": ["side"],
    }

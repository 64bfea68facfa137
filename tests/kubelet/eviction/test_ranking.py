"""Who is evicted first, and what the evicted pod says about it."""

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.release import Release
from kitlib.api.serialize import load
from kitlib.kubelet.eviction.ranking import (
    ContainerStats,
    PodStats,
    eviction_message,
    rank_disk_pressure,
    rank_memory_pressure,
    rank_pid_pressure,
    resource_request,
)
from kitlib.kubelet.eviction.thresholds import Observation, parse_threshold_config

MI = 2**20


def pod(name, request="", priority=0, more=""):
    resources = f"{{requests: {{memory: {request}}}}}" if request else "{}"
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, uid: {name}}}
spec:
  priority: {priority}
  containers: [{{name: app, image: app, resources: {resources}}}]
{more}"""
    return set_defaults(load(text)[0])


def names(groups):
    return [[one.name for one in group] for group in groups]


def used(**by_pod):
    return {name: PodStats(memory=amount * MI) for name, amount in by_pod.items()}


MEMORY = [
    # sentence, pods, use in Mi, order
    ("above its request comes before below", [pod("a", "500Mi"), pod("b", "100Mi")], {"a": 400, "b": 150}, "b a"),
    ("then the lower priority", [pod("a", "1Mi", 10), pod("b", "1Mi", 5)], {"a": 900, "b": 2}, "b a"),
    ("then the larger excess", [pod("a", "100Mi"), pod("b", "200Mi")], {"a": 150, "b": 300}, "b a"),
    ("a pod without figures comes first", [pod("a"), pod("b", "1Gi", 1000)], {"a": 900}, "b a"),
    ("a pod that requests nothing exceeds with any use", [pod("a", "100Mi"), pod("b")], {"a": 99, "b": 1}, "b a"),
    (
        "overhead counts as requested",
        [pod("a", "100Mi", 0, "  overhead: {memory: 100Mi}"), pod("b", "100Mi")],
        {"a": 150, "b": 120},
        "b a",
    ),
]


@pytest.mark.parametrize(("sentence", "pods", "use", "order"), MEMORY, ids=[row[0] for row in MEMORY])
def test_under_memory_pressure(sentence, pods, use, order):
    assert [name for group in names(rank_memory_pressure(pods, used(**use))) for name in group] == order.split()


def test_equal_pods_are_one_group():
    pods = [pod("a"), pod("b")]
    assert names(rank_memory_pressure(pods, used(a=5, b=5))) == [["a", "b"]]


def test_under_pid_pressure_only_priority_and_processes_count():
    pods = [pod("a", priority=5), pod("b"), pod("c")]
    stats = {name: PodStats(processes=count) for name, count in (("a", 900), ("b", 10), ("c", 20))}
    assert names(rank_pid_pressure(pods, stats)) == [["c"], ["b"], ["a"]]


def test_under_disk_pressure_only_what_lies_on_that_disk_counts():
    stats = {
        "a": PodStats(containers=[ContainerStats("app", rootfs=100, logs=1)]),
        "b": PodStats(containers=[ContainerStats("app", rootfs=1, logs=50)]),
    }
    pods = [pod("a"), pod("b")]
    assert names(rank_disk_pressure(pods, stats)) == [["a"], ["b"]]
    assert names(rank_disk_pressure(pods, stats, rootfs=False)) == [["b"], ["a"]]


def test_the_message_names_what_was_short_and_who_used_too_much():
    stats = PodStats(memory=300 * MI, containers=[ContainerStats("app", memory=300 * MI)])
    message, annotations = eviction_message(
        "memory",
        pod("a", "100Mi"),
        stats,
        parse_threshold_config((), {"memory.available": "10%"}),
        {"memory.available": Observation(90 * MI, 1000 * MI)},
    )
    assert message == (
        "The node was low on resource: memory. Threshold quantity: 104857601, available: 90Mi. "
        "Container app was using 300Mi, request is 100Mi, has larger consumption of memory. "
    )
    assert annotations == {
        "offending_containers": "app",
        "offending_containers_usage": "300Mi",
        "starved_resource": "memory",
    }


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, 1111),
        ({"rootfs": False}, 1011),
        ({"logs": False}, 1100),
        ({"volumes": False}, 111),
        ({"rootfs": False, "logs": False}, 1000),
        ({"rootfs": False, "logs": False, "volumes": False}, 0),
    ],
)
def test_what_a_pod_uses_on_disk(parts, expected):
    """Source: kubelet eviction.podDiskUsage."""
    containers = [ContainerStats("a", rootfs=100, logs=10), ContainerStats("b", logs=1), ContainerStats("c")]
    assert PodStats(containers=containers, volumes=1000).disk(**parts) == expected
    assert PodStats(containers=containers[2:]).disk(**parts) == 0


@pytest.mark.parametrize(
    ("asked", "more", "expected"),
    [
        ("", "", "0"),
        ("100Mi", "", "100Mi"),
        ("100Mi", "  overhead: {memory: 1Mi}", "101Mi"),
        ("100Mi", "  overhead: {cpu: 1}", "100Mi"),
        ("", "  overhead: {memory: 1Mi}", "0"),
        ("100Mi", "  resources: {requests: {memory: 200Mi}}", "200Mi"),
        ("100Mi", "  resources: {requests: {cpu: 1}}", "0"),
        ("100Mi", "  resources: {requests: {memory: 200Mi}}\n  overhead: {memory: 1Mi}", "201Mi"),
    ],
)
def test_the_request_that_eviction_compares(asked, more, expected):
    """Source: v1resource.GetResourceRequestQuantity."""
    text = f"requests: {{memory: {asked}}}" if asked else ""
    made = load(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        f"  containers: [{{name: c, resources: {{{text}}}}}]\n{more}\n"
    )[0]
    assert str(resource_request(made, "memory", Release("1.36"))) == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("{}", 100 * MI),
        ("{requests: {memory: 300Mi}}", 300 * MI),
        ("{requests: {cpu: 1}}", 0),
    ],
)
def test_pod_level_resources_replace_the_containers_unless_they_are_empty(level, expected):
    """Source: v1resource.GetResourceRequestQuantity, IsPodLevelResourcesSet."""
    made = pod("a", "100Mi", more=f"  resources: {level}")
    made.spec.resources.requests = {name: one for name, one in made.spec.resources.requests.items() if name in level}
    assert resource_request(made, "memory", Release("1.36")).value() == expected

"""Pages of kubernetes.io about resources: each has its documented effect, with own manifests of the same amounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster

MI = 2**20
PAGES: dict[str, Callable[[], None]] = {}


def page(address: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register what a page of kubernetes.io/docs says."""

    def register(run: Callable[[], None]) -> Callable[[], None]:
        assert address not in PAGES
        PAGES[address] = run
        return run

    return register


def pod(name: str, *, limits: Any = None, requests: Any = None, spec: Any = None, **container: Any) -> dict[str, Any]:
    resources = {key: value for key, value in (("limits", limits), ("requests", requests)) if value}
    one = {"name": "c", "image": "nginx", "resources": resources, **container}
    body = {"containers": [one], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


def limit_range(**item: Any) -> dict[str, Any]:
    head = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"}}
    return head | {"spec": {"limits": [{"type": "Container", **item}]}}


def quota(**hard: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "demo"}, "spec": {"hard": hard}}


def cluster(*objects: dict[str, Any], nodes: Any = None, seconds: float = 2, **settings: Any) -> Any:
    made = Cluster.simulated(nodes or [{"name": "n", "cpus": 4, "memory": "8Gi"}], **settings)
    made.apply(list(objects))
    made.advance(seconds)
    return made


def amounts(made: Any, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the requests and limits of a pod's container."""
    resources = made.pod(name).spec.containers[0].resources
    return tuple({key: str(value) for key, value in one.items()} for one in (resources.requests, resources.limits))


def refused(made: Any, manifest: dict[str, Any], text: str) -> None:
    with pytest.raises(KitError) as error:
        made.apply(manifest)
    assert text in str(error.value)


def why_pending(made: Any, name: str) -> str:
    assert made.pod(name).status.phase == "Pending"
    return str([event.message for event in made.events(name) if event.reason == "FailedScheduling"][-1])


STRESS = {"image": "polinux/stress", "command": ["stress"]}


@page("tasks/configure-pod-container/assign-memory-resource")
def memory() -> None:
    within = pod("memory-demo", requests={"memory": "100Mi"}, limits={"memory": "200Mi"}, **STRESS)
    within["spec"]["containers"][0]["args"] = ["--vm", "1", "--vm-bytes", "150M", "--vm-hang", "1"]
    beyond = pod("memory-demo-2", requests={"memory": "50Mi"}, limits={"memory": "100Mi"}, **STRESS)
    beyond["spec"]["containers"][0]["args"] = ["--vm", "1", "--vm-bytes", "250M", "--vm-hang", "1"]
    too_large = pod("memory-demo-3", requests={"memory": "1000Gi"}, limits={"memory": "1000Gi"}, **STRESS)
    with cluster(within, beyond, too_large, seconds=45) as made:
        assert made.node().usages()["default", "memory-demo"]["c"][1] // MI == 153
        (status,) = made.pod("memory-demo-2").status.container_statuses
        assert status.last_state["terminated"]["reason"] == "OOMKilled"
        assert status.restart_count >= 2
        assert "BackOff" in {event.reason for event in made.events("memory-demo-2")}
        assert "1 Insufficient memory" in why_pending(made, "memory-demo-3")


@page("tasks/configure-pod-container/assign-cpu-resource")
def cpu() -> None:
    one = pod("cpu-demo", requests={"cpu": "0.5"}, limits={"cpu": "1"}, image="vish/stress", args=["-cpus", "2"])
    hundred = pod(
        "cpu-demo-2", requests={"cpu": "100"}, limits={"cpu": "100"}, image="vish/stress", args=["-cpus", "2"]
    )
    with cluster(one, hundred) as made:
        assert made.node().usages()["default", "cpu-demo"]["c"][0] == pytest.approx(1.0, abs=0.05)
        assert "1 Insufficient cpu" in why_pending(made, "cpu-demo-2")


@page("tasks/configure-pod-container/assign-pod-level-resources")
def pod_level() -> None:
    level = {"resources": {"requests": {"cpu": "1", "memory": "100Mi"}, "limits": {"cpu": "1", "memory": "200Mi"}}}
    busy = pod("pod-resources", image="vish/stress", args=["-cpus", "2"], spec=level)
    with cluster(busy) as made:
        assert made.node().usages()["default", "pod-resources"]["c"][0] == pytest.approx(1.0, abs=0.05)
        assert made.pod("pod-resources").status.qos_class == "Burstable"


@page("tasks/configure-pod-container/quality-service-pod")
def quality() -> None:
    both = {"cpu": "700m", "memory": "200Mi"}
    two = pod("qos-demo-4", requests={"memory": "200Mi"})
    two["spec"]["containers"].append({"name": "other", "image": "redis"})
    with cluster(
        pod("qos-demo", requests=both, limits=both),
        pod("qos-demo-2", requests={"memory": "100Mi"}, limits={"memory": "200Mi"}),
        pod("qos-demo-3"),
        two,
    ) as made:
        classes = {one.name: one.status.qos_class for one in made.pods()}
        assert [classes[name] for name in sorted(classes)] == ["Guaranteed", "Burstable", "BestEffort", "Burstable"]


@page("tasks/administer-cluster/manage-resources/memory-default-namespace")
def memory_default() -> None:
    limits = limit_range(default={"memory": "512Mi"}, defaultRequest={"memory": "256Mi"})
    with cluster(
        limits, pod("none"), pod("limit", limits={"memory": "1Gi"}), pod("request", requests={"memory": "128Mi"})
    ) as made:
        assert amounts(made, "none") == ({"memory": "256Mi"}, {"memory": "512Mi"})
        assert amounts(made, "limit") == ({"memory": "1Gi"}, {"memory": "1Gi"})
        assert amounts(made, "request") == ({"memory": "128Mi"}, {"memory": "512Mi"})


@page("tasks/administer-cluster/manage-resources/cpu-default-namespace")
def cpu_default() -> None:
    limits = limit_range(default={"cpu": 1}, defaultRequest={"cpu": 0.5})
    with cluster(
        limits, pod("none"), pod("limit", limits={"cpu": "1"}), pod("request", requests={"cpu": "0.75"})
    ) as made:
        assert amounts(made, "none") == ({"cpu": "500m"}, {"cpu": "1"})
        assert amounts(made, "limit") == ({"cpu": "1"}, {"cpu": "1"})
        assert amounts(made, "request") == ({"cpu": "750m"}, {"cpu": "1"})


@page("tasks/administer-cluster/manage-resources/memory-constraint-namespace")
def memory_constraint() -> None:
    limits = limit_range(max={"memory": "1Gi"}, min={"memory": "500Mi"})
    with cluster(limits, pod("good", requests={"memory": "600Mi"}, limits={"memory": "800Mi"}), pod("none")) as made:
        large = pod("large", requests={"memory": "800Mi"}, limits={"memory": "1.5Gi"})
        refused(made, large, "maximum memory usage per Container is 1Gi, but limit is 1536Mi")
        small = pod("small", requests={"memory": "100Mi"}, limits={"memory": "800Mi"})
        refused(made, small, "minimum memory usage per Container is 500Mi, but request is 100Mi")
        assert amounts(made, "none") == ({"memory": "1Gi"}, {"memory": "1Gi"})


@page("tasks/administer-cluster/manage-resources/cpu-constraint-namespace")
def cpu_constraint() -> None:
    limits = limit_range(max={"cpu": "800m"}, min={"cpu": "200m"})
    with cluster(limits, pod("good", requests={"cpu": "500m"}, limits={"cpu": "800m"}), pod("none")) as made:
        large = pod("large", requests={"cpu": "500m"}, limits={"cpu": "1.5"})
        refused(made, large, "maximum cpu usage per Container is 800m, but limit is 1500m")
        small = pod("small", requests={"cpu": "100m"}, limits={"cpu": "800m"})
        refused(made, small, "minimum cpu usage per Container is 200m, but request is 100m")
        assert amounts(made, "none") == ({"cpu": "800m"}, {"cpu": "800m"})


@page("tasks/administer-cluster/manage-resources/quota-memory-cpu-namespace")
def quota_of_amounts() -> None:
    hard = quota(**{"requests.cpu": "1", "requests.memory": "1Gi", "limits.cpu": "2", "limits.memory": "2Gi"})
    first = pod("first", requests={"cpu": "400m", "memory": "600Mi"}, limits={"cpu": "800m", "memory": "800Mi"})
    second = pod("second", requests={"cpu": "400m", "memory": "700Mi"}, limits={"cpu": "800m", "memory": "1Gi"})
    with cluster(hard, first) as made:
        text = "exceeded quota: demo, requested: requests.memory=700Mi, used: requests.memory=600Mi, limited: "
        refused(made, second, text + "requests.memory=1Gi")
        refused(made, pod("third"), "failed quota: demo: must specify limits.cpu for: c; limits.memory for: c")


@page("tasks/administer-cluster/manage-resources/quota-pod-namespace")
def quota_of_pods() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    wanted = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo"}, "spec": spec}
    with cluster(quota(pods="2"), wanted) as made:
        assert len(made.pods()) == 2
        assert sum(one.status.phase == "Running" for one in made.pods()) == 2


@page("tasks/administer-cluster/quota-api-object")
def quota_of_objects() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    with cluster(quota(persistentvolumeclaims="1"), head | {"metadata": {"name": "one"}, "spec": claim}) as made:
        refused(
            made, head | {"metadata": {"name": "two"}, "spec": claim}, "exceeded quota: demo, requested: persistentv"
        )


@page("tasks/configure-pod-container/extended-resource")
def extended() -> None:
    nodes = [{"name": "n", "resources": {"example.com/dongle": 4}}]
    with cluster(
        pod("first", limits={"example.com/dongle": 3}), pod("second", limits={"example.com/dongle": 2}), nodes=nodes
    ) as made:
        pending = [one.name for one in made.pods() if one.status.phase == "Pending"]
        assert len(pending) == 1
        assert "1 Insufficient example.com/dongle" in why_pending(made, pending[0])


@page("tasks/configure-pod-container/resize-container-resources")
def resize() -> None:
    both = {"cpu": "700m", "memory": "200Mi"}
    policy = [
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]
    with cluster(pod("resize-demo", requests=both, limits=both, image="pause:3.8", resizePolicy=policy)) as made:
        made.resize("resize-demo", {"c": {"requests": {"cpu": "800m"}, "limits": {"cpu": "800m"}}})
        made.advance(5)
        assert made.pod("resize-demo").status.container_statuses[0].restart_count == 0
        made.resize("resize-demo", {"c": {"requests": {"memory": "300Mi"}, "limits": {"memory": "300Mi"}}})
        made.advance(40)
        assert made.pod("resize-demo").status.container_statuses[0].restart_count == 1
        with pytest.raises(KitError, match="node didn't have enough allocatable resources: cpu, requested: 1000000"):
            made.resize("resize-demo", {"c": {"requests": {"cpu": "1000"}, "limits": {"cpu": "1000"}}})


@page("tasks/configure-pod-container/configure-liveness-readiness-startup-probes")
def probes() -> None:
    script = "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"
    probe = {"exec": {"command": ["cat", "/tmp/healthy"]}, "initialDelaySeconds": 5, "periodSeconds": 5}
    with cluster(
        pod(
            "liveness-exec", image="registry.k8s.io/busybox:1.27.2", args=["/bin/sh", "-c", script], livenessProbe=probe
        )
    ) as made:
        made.advance(28)
        assert made.pod("liveness-exec").status.container_statuses[0].restart_count == 0
        made.advance(60)
        texts = [event.message for event in made.events("liveness-exec") if event.reason == "Unhealthy"]
        assert texts[0] == "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory\n"
        assert made.pod("liveness-exec").status.container_statuses[0].restart_count >= 1


@page("concepts/storage/ephemeral-storage")
def ephemeral_storage() -> None:
    """Two containers with 4Gi each: 8Gi for the pod with its volumes."""
    script = "head -c 5G /dev/zero > /tmp/f; sleep inf"
    limits = {"ephemeral-storage": "4Gi"}
    made = pod("frontend", limits=limits, requests={"ephemeral-storage": "2Gi"}, command=["sh", "-c", script])
    with cluster(made, nodes=[{"name": "n", "ephemeral_storage": "50Gi"}], seconds=90) as one:
        assert one.pod("frontend").status.reason == "Evicted"
        assert "exceeds" in one.pod("frontend").status.message


@page("concepts/storage/volumes#emptydir")
def empty_dir() -> None:
    """A memory-backed volume of 500Mi takes no more; one on disk is evicted beyond its size."""
    volumes = [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "500Mi"}}]
    mounts = [{"name": "v", "mountPath": "/cache"}]
    script = ["sh", "-c", "head -c 600M /dev/zero > /cache/f || echo full; sleep inf"]
    memory_backed = pod("memory", command=script, volumeMounts=mounts, spec={"volumes": volumes})
    on_disk = pod("disk", command=script, volumeMounts=mounts)
    on_disk["spec"]["volumes"] = [{"name": "v", "emptyDir": {"sizeLimit": "500Mi"}}]
    with cluster(memory_backed, on_disk, nodes=[{"name": "n", "ephemeral_storage": "50Gi"}], seconds=40) as made:
        assert made.node().kernel.tmpfs.size("/") == 500 * MI
        assert made.pod("memory").status.phase == "Running"
        assert 'Usage of EmptyDir volume "v" exceeds the limit "500Mi"' in made.pod("disk").status.message


@page("concepts/policy/pid-limiting")
def pids() -> None:
    bomb = pod("bomb", image="bash", command=["bash", "-c", ":(){ :|:& };:"])
    nodes = [{"name": "n", "kubelet": {"podPidsLimit": 1024}}]
    with cluster(bomb, nodes=nodes) as made:
        assert made.node().process("bomb").tasks < 1024


@page("tasks/manage-hugepages/scheduling-hugepages")
def huge_pages() -> None:
    limits = {"hugepages-2Mi": "100Mi", "memory": "100Mi"}
    with cluster(pod("pages", limits=limits), nodes=[{"name": "n", "huge_pages": {"2Mi": 50}}]) as made:
        assert made.pod("pages").status.phase == "Running"
        made.apply(pod("more", limits=limits))
        assert "Insufficient hugepages-2Mi" in why_pending(made, "more")


@page("tasks/administer-cluster/cpu-management-policies")
def exclusive_cpus() -> None:
    """Guaranteed with a whole number: exclusive; 1.5 CPUs, or Burstable: the shared pool."""
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    whole, part = {"cpu": "2", "memory": "200Mi"}, {"cpu": "1.5", "memory": "200Mi"}
    with cluster(
        pod("exclusive", limits=whole),
        pod("fraction", limits=part),
        pod("burstable", requests={"cpu": "1"}, limits={"cpu": "2"}),
        nodes=[{"name": "n", "cpus": 8, "kubelet": flags}],
        seconds=15,
    ) as made:
        found = {one.name: made.node().proc(one.name)["Cpus_allowed_list"] for one in made.pods()}
        assert found == {"exclusive": "1-2", "fraction": "0,3-7", "burstable": "0,3-7"}


@page("concepts/scheduling-eviction/node-pressure-eviction")
def node_pressure() -> None:
    """10Gi, evicted when less than 1Gi is available: pods above their request go first."""
    nodes = [{"name": "n", "memory": "10Gi", "kubelet": {"evictionHard": {"memory.available": "1Gi"}}}]
    above = pod("above", requests={"memory": "1Gi"})
    above["metadata"]["annotations"] = {"kitlib.dev/workload.c": "memory=5Gi"}
    within = pod("within", requests={"memory": "6Gi"})
    within["metadata"]["annotations"] = {"kitlib.dev/workload.c": "memory=4500Mi"}
    with cluster(above, within, nodes=nodes, seconds=40) as made:
        assert made.pod("above").status.reason == "Evicted"
        assert made.pod("within").status.phase == "Running"


@page("concepts/scheduling-eviction/pod-priority-preemption")
def priority() -> None:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    high = head | {"metadata": {"name": "high-priority"}, "value": 1000000, "globalDefault": False}
    low = pod("low", requests={"cpu": "3"})
    with cluster(high, low) as made:
        made.apply(pod("high", requests={"cpu": "3"}, spec={"priorityClassName": "high-priority"}))
        made.advance(40)
        assert [one.name for one in made.pods() if one.status.phase == "Running"] == ["high"]


@page("concepts/scheduling-eviction/topology-spread-constraints")
def spread() -> None:
    """Zones A and B with two and one pods, maxSkew 1: the next one goes to B."""
    nodes = [{"name": f"n{i}", "labels": {"zone": "AABB"[i - 1]}} for i in range(1, 5)]
    rule = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"foo": "bar"}},
    }
    made = [pod(name, spec={"nodeName": node}) for name, node in (("p1", "n1"), ("p2", "n2"), ("p3", "n3"))]
    mine = pod("mypod", image="registry.k8s.io/pause:3.1", spec={"topologySpreadConstraints": [rule]})
    for one in (*made, mine):
        one["metadata"]["labels"] = {"foo": "bar"}
    with cluster(*made, mine, nodes=nodes) as found:
        assert found.pod("mypod").spec.node_name in ("n3", "n4")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_of_kubernetes_io_does_what_it_says(address: str) -> None:
    PAGES[address]()

"""Files of kubernetes/website's content/en/examples about resources: each does what its page says.

`FILES` has every such file by the page that shows it; the manifests here are the kit's own, with the same amounts. What
a page says of a file is asked of `test_kubernetes_io` or here. `OUT` has those that the kit does not run, with reasons.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kitlib.api.podresources import pod_requests
from tests.field import test_kubernetes_io as pages
from tests.field.test_kubernetes_io import MI, STRESS, amounts, cluster, limit_range, pod, quota, refused, why_pending
from tests.sizes import sampled

RUNS: dict[str, Any] = {}
PODS, TASKS, NAMESPACE = "tasks/configure-pod-container/", "tasks/administer-cluster/", "manage-resources/"

FILES: dict[str, tuple[str, ...]] = {
    f"{PODS}assign-memory-resource": ("pods/resource/memory-request-limit", "-2", "-3"),
    f"{PODS}assign-cpu-resource": ("pods/resource/cpu-request-limit", "-2"),
    f"{PODS}assign-pod-level-resources": ("pods/resource/pod-level-cpu-request-limit",),
    f"{PODS}assign-pod-level-resources#memory": ("pods/resource/pod-level-memory-request-limit",),
    f"{PODS}assign-pod-level-resources#both": ("pods/resource/pod-level-resources",),
    f"{PODS}extended-resource": ("pods/resource/extended-resource-pod", "-2"),
    f"{PODS}resize-container-resources": ("pods/resource/pod-resize", "pods/qos/qos-pod-5"),
    f"{PODS}resize-pod-resources": ("pods/resource/pod-level-resize",),
    f"{PODS}quality-service-pod": ("pods/qos/qos-pod", "-2", "-3", "-4"),
    f"{PODS}configure-liveness-readiness-startup-probes": ("pods/probe/exec-liveness",),
    f"{PODS}configure-liveness-readiness-startup-probes#http": ("pods/probe/http-liveness",),
    f"{PODS}configure-liveness-readiness-startup-probes#tcp": (
        "pods/probe/tcp-liveness-readiness",
        "pods/probe/pod-with-tcp-socket-healthcheck",
    ),
    f"{PODS}configure-liveness-readiness-startup-probes#grpc": ("pods/probe/grpc-liveness",),
    f"{TASKS}{NAMESPACE}memory-default-namespace": ("admin/resource/memory-defaults", "-pod", "-pod-2", "-pod-3"),
    f"{TASKS}{NAMESPACE}cpu-default-namespace": ("admin/resource/cpu-defaults", "-pod", "-pod-2", "-pod-3"),
    f"{TASKS}{NAMESPACE}memory-constraint-namespace": (
        *("admin/resource/memory-constraints", "-pod", "-pod-2", "-pod-3", "-pod-4"),
    ),
    f"{TASKS}{NAMESPACE}cpu-constraint-namespace": (
        *("admin/resource/cpu-constraints", "-pod", "-pod-2", "-pod-3", "-pod-4"),
    ),
    f"{TASKS}{NAMESPACE}quota-memory-cpu-namespace": ("admin/resource/quota-mem-cpu", "-pod", "-pod-2"),
    f"{TASKS}{NAMESPACE}quota-pod-namespace": ("admin/resource/quota-pod", "-deployment"),
    f"{TASKS}quota-api-object": ("admin/resource/quota-objects-pvc", "-2"),
    f"{TASKS}quota-api-object#services": ("admin/resource/quota-objects",),
    f"{TASKS}limit-storage-consumption": (
        *("admin/resource/storagelimits", "admin/resource/pvc-limit-lower", "admin/resource/pvc-limit-greater"),
    ),
    "concepts/policy/limit-range#containers": (
        *("admin/resource/limit-mem-cpu-container", "admin/resource/limit-range-pod-1"),
    ),
    "concepts/policy/limit-range#pods": ("admin/resource/limit-mem-cpu-pod", "admin/resource/limit-range-pod-2"),
    "concepts/policy/limit-range#ratio": ("admin/resource/limit-memory-ratio-pod", "admin/resource/limit-range-pod-3"),
    "concepts/policy/limit-range#limitrange-and-admission-checks-for-pods": (
        "concepts/policy/limit-range/problematic-limit-range",
        "concepts/policy/limit-range/example-conflict-with-limitrange-cpu",
        "concepts/policy/limit-range/example-no-conflict-with-limitrange-cpu",
    ),
    "concepts/policy/resource-quotas#resource-quota-per-priorityclass": (
        *("policy/quota", "policy/high-priority-pod", "admin/resource/quota-objects-priority"),
    ),
    "concepts/policy/resource-quotas#resource-quota-per-volumeattributesclass": (
        "policy/quota-vac",
        "policy/gold-vac-pvc",
    ),
    "concepts/workloads/pods/sidecar-containers#resource-sharing-within-containers": (
        "pods/multi-container/resources",
    ),
    "tasks/inject-data-application/environment-variable-expose-pod-information": ("pods/inject/dapi-envars-container",),
    "tasks/inject-data-application/downward-api-volume-expose-pod-information": ("pods/inject/dapi-volume-resources",),
    "concepts/scheduling-eviction/topology-spread-constraints": ("pods/topology-spread-constraints/one-constraint",),
    "concepts/scheduling-eviction/topology-spread-constraints#example-multiple-topology-spread-constraints": (
        "pods/topology-spread-constraints/two-constraints",
    ),
    "concepts/scheduling-eviction/topology-spread-constraints#interaction-with-node-affinity-and-node-selectors": (
        "pods/topology-spread-constraints/one-constraint-with-nodeaffinity",
    ),
    "concepts/workloads/resource-managers#pod-scope": ("pods/resource/pod-level-resource-managers-pod-scope-mixed",),
    "concepts/workloads/resource-managers#container-scope": (
        "pods/resource/pod-level-resource-managers-container-scope-mixed",
    ),
    "concepts/workloads/resource-managers#empty-shared-pool": (
        "pods/resource/pod-level-resource-managers-empty-shared-pool",
    ),
}
"""Page -> its files, without `.yaml`; a name that begins with `-` continues the first one's."""
OUT = {
    "pods/resource/pod-level-pid-limit": "resources.limits.pids of a pod is newer than Kubernetes 1.36.2",
    "pods/probe/pod-with-http-healthcheck": "its answer is 404; a simulated server answers 200 unless it is known",
    "policy/priority-class-resourcequota": "its admission-config-file.yaml: the kit reads no AdmissionConfiguration",
}
"""Files that the kit does not run as their page says, with reasons; `limits.md` has them too."""


def page(address: str) -> Any:
    """Register what a page of kubernetes.io/docs says."""

    def register(run: Any) -> Any:
        RUNS[address] = run
        return run

    return register


def containers(made: Any, name: str) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Return the requests and limits of each container of a pod."""
    found = [one.resources for one in made.pod(name).spec.containers]
    return [tuple({k: str(v) for k, v in part.items()} for part in (one.requests, one.limits)) for one in found]


def restarts(made: Any, name: str) -> list[int]:
    return [one.restart_count for one in made.pod(name).status.container_statuses]


def four(name: str) -> dict[str, Any]:
    """A pod of four containers: requests and limits, requests, limits, nothing."""
    asked, allowed = {"memory": "100Mi", "cpu": "100m"}, {"memory": "200Mi", "cpu": "500m"}
    made = pod(name)
    resources = ({"requests": asked, "limits": allowed}, {"requests": asked}, {"limits": allowed}, {})
    made["spec"]["containers"] = [
        {"name": f"cnt0{i}", "image": "busybox", "command": ["sleep", "3600"], "resources": one}
        for i, one in enumerate(resources, 1)
    ]
    return made


CONTAINERS = limit_range(
    max={"cpu": "800m", "memory": "1Gi"},
    min={"cpu": "100m", "memory": "99Mi"},
    default={"cpu": "700m", "memory": "900Mi"},
    defaultRequest={"cpu": "110m", "memory": "111Mi"},
)


@page("concepts/policy/limit-range#containers")
def limits_of_containers() -> None:
    """Each of four containers gets what it does not have; a limit without a request is its request."""
    with cluster(CONTAINERS, four("busybox1")) as made:
        asked, allowed = {"memory": "100Mi", "cpu": "100m"}, {"memory": "200Mi", "cpu": "500m"}
        default = {"memory": "900Mi", "cpu": "700m"}
        assert containers(made, "busybox1") == [
            (asked, allowed),
            (asked, default),
            (allowed, allowed),
            ({"memory": "111Mi", "cpu": "110m"}, default),
        ]


@page("concepts/policy/limit-range#pods")
def limits_of_pods() -> None:
    """With the containers' defaults the pod has limits of 2.4 CPUs and 2200Mi, of 2 and 2Gi."""
    whole = limit_range(max={"cpu": "2", "memory": "2Gi"})
    whole["metadata"]["name"], whole["spec"]["limits"][0]["type"] = "limit-mem-cpu-per-pod", "Pod"
    with cluster(CONTAINERS, whole) as made:
        refused(made, four("busybox2"), "maximum cpu usage per Pod is 2, but limit is 2400m")
        refused(made, four("busybox2"), "maximum memory usage per Pod is 2Gi, but limit is 2200Mi")


@page("concepts/policy/limit-range#ratio")
def ratio() -> None:
    whole = limit_range(maxLimitRequestRatio={"memory": 2})
    whole["spec"]["limits"][0]["type"] = "Pod"
    with cluster(whole) as made:
        three = pod("busybox3", requests={"memory": "100Mi"}, limits={"memory": "300Mi"})
        refused(made, three, "memory max limit to request ratio per Pod is 2, but provided ratio is 3.000000")
        made.apply(pod("two", requests={"memory": "100Mi"}, limits={"memory": "200Mi"}))


@page("concepts/policy/limit-range#limitrange-and-admission-checks-for-pods")
def default_below_request() -> None:
    limits = limit_range(default={"cpu": "500m"}, defaultRequest={"cpu": "500m"}, max={"cpu": "1"}, min={"cpu": "100m"})
    with cluster(limits, pod("fits", requests={"cpu": "700m"}, limits={"cpu": "700m"})) as made:
        refused(made, pod("conflict", requests={"cpu": "700m"}), "must be less than or equal to cpu limit")
        assert amounts(made, "fits") == ({"cpu": "700m"}, {"cpu": "700m"})


@page(f"{TASKS}limit-storage-consumption")
def storage() -> None:
    limits = limit_range(max={"storage": "2Gi"}, min={"storage": "1Gi"})
    limits["spec"]["limits"][0]["type"] = "PersistentVolumeClaim"
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}

    def claim(size: str) -> dict[str, Any]:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        return head | {"metadata": {"name": "pvc-limit"}, "spec": spec}

    with cluster(limits) as made:
        refused(made, claim("500Mi"), "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi")
        refused(made, claim("5Gi"), "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi")
        made.apply(claim("2Gi"))
        smaller = deepcopy(limits)
        smaller["spec"]["limits"][0]["max"]["storage"] = "1Gi"
        made.apply(smaller)
        refused(made, claim("2Gi") | {"metadata": {"name": "pvc-limit", "labels": {"a": "b"}}}, "but request is 2Gi")


@page(f"{TASKS}quota-api-object#services")
def quota_of_services() -> None:
    hard = quota(**{"persistentvolumeclaims": "1", "services.loadbalancers": "2", "services.nodeports": "0"})
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    with cluster(hard) as made:
        text = "exceeded quota: demo, requested: services.nodeports=1, used: services.nodeports=0, limited: "
        refused(made, service, text + "services.nodeports=0")


@page("concepts/policy/resource-quotas#resource-quota-per-priorityclass")
def quota_of_classes() -> None:
    """A pod of the class high is counted by the quota of high alone."""
    found = []
    for name, cpu, memory in (("high", "1k", "200Gi"), ("medium", "10", "20Gi"), ("low", "5", "10Gi")):
        one = quota(cpu=cpu, memory=memory, pods="10")
        one["metadata"]["name"] = f"pods-{name}"
        term = {"operator": "In", "scopeName": "PriorityClass", "values": [name]}
        one["spec"]["scopeSelector"] = {"matchExpressions": [term]}
        found.append(one)
    both = {"cpu": "500m", "memory": "10Gi"}
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    mine = pod("high-priority", requests=both, limits=both, spec={"priorityClassName": "high"})
    with cluster(high, *found, mine, nodes=[{"name": "n", "memory": "16Gi"}]) as made:
        used = {
            one.metadata.name: {key: str(value) for key, value in one.status.used.items()}
            for one in made.list("ResourceQuota")
        }
        none = {"cpu": "0", "memory": "0", "pods": "0"}
        assert used == {"pods-high": both | {"pods": "1"}, "pods-medium": none, "pods-low": none}


@page("concepts/policy/resource-quotas#resource-quota-per-volumeattributesclass")
def quota_of_volume_classes() -> None:
    gold = quota(**{"requests.storage": "10Gi", "persistentvolumeclaims": "10"})
    term = {"operator": "In", "scopeName": "VolumeAttributesClass", "values": ["gold"]}
    gold["spec"]["scopeSelector"] = {"matchExpressions": [term]}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    claim = head | {"metadata": {"name": "gold"}, "spec": spec | {"volumeAttributesClassName": "gold"}}
    other = head | {"metadata": {"name": "plain"}, "spec": spec}
    with cluster(gold, claim, other) as made:
        used = made.get("ResourceQuota", "demo").status.used
        assert {key: str(value) for key, value in used.items()} == {
            "requests.storage": "2Gi",
            "persistentvolumeclaims": "1",
        }


@page(f"{PODS}assign-pod-level-resources#memory")
def memory_of_a_pod() -> None:
    level = {"resources": {"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}}}
    mine = pod("memory-demo", spec=level, **STRESS, args=["--vm", "1", "--vm-bytes", "150M", "--vm-hang", "1"])
    with cluster(mine, seconds=20) as made:
        assert made.node().usages()["default", "memory-demo"]["c"][1] // MI == 153
        assert restarts(made, "memory-demo") == [0]


@page(f"{PODS}assign-pod-level-resources#both")
def pod_and_container() -> None:
    """A container without limits may use what the pod has; the pod is limited in its cgroup."""
    level = {"requests": {"cpu": "1", "memory": "100Mi"}, "limits": {"cpu": "1", "memory": "200Mi"}}
    mine = pod("demo", requests={"cpu": "0.5", "memory": "50Mi"}, limits={"cpu": "0.5", "memory": "100Mi"})
    mine["spec"] |= {"resources": level}
    mine["spec"]["containers"].append({"name": "ctr-2", "image": "fedora", "command": ["sleep", "inf"]})
    with cluster(mine) as made:
        assert made.pod("demo").status.qos_class == "Burstable"
        assert str(made.pod("demo").spec.containers[1].resources.limits) == "{}"


@page(f"{PODS}resize-pod-resources")
def resize_of_a_pod() -> None:
    """More CPU for the pod: a container that has no limit of its own and restarts for CPU is restarted, another not."""
    both = {"cpu": "200m", "memory": "200Mi"}

    def policy(cpu: str) -> list[dict[str, str]]:
        restart = "RestartContainer"
        return [{"resourceName": "cpu", "restartPolicy": cpu}, {"resourceName": "memory", "restartPolicy": restart}]

    mine = pod("demo", requests={"cpu": "100m", "memory": "100Mi"}, resizePolicy=policy("NotRequired"))
    mine["spec"]["containers"].append({"name": "two", "image": "nginx", "resizePolicy": policy("RestartContainer")})
    mine["spec"]["resources"] = {"requests": both, "limits": both}
    with cluster(mine) as made:
        assert made.pod("demo").status.qos_class == "Guaranteed"
        made.resize("demo", pod={"requests": {"cpu": "300m"}, "limits": {"cpu": "300m"}})
        made.advance(40)
        assert str(made.pod("demo").spec.resources.limits["cpu"]) == "300m"
        assert restarts(made, "demo") == [0, 1]


@page(f"{PODS}configure-liveness-readiness-startup-probes#http")
def http_probe() -> None:
    """The server answers 200 for ten seconds, then 500: three failures, three seconds apart."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "initialDelaySeconds": 3, "periodSeconds": 3}
    image = "registry.k8s.io/e2e-test-images/agnhost:2.40"
    with cluster(pod("liveness-http", image=image, args=["liveness"], livenessProbe=probe), seconds=10) as made:
        assert restarts(made, "liveness-http") == [0]
        made.advance(15)
        assert restarts(made, "liveness-http") == [1]
        texts = [event.message for event in made.events("liveness-http") if event.reason == "Unhealthy"]
        assert texts[0] == "Liveness probe failed: HTTP probe failed with statuscode: 500"


@page(f"{PODS}configure-liveness-readiness-startup-probes#tcp")
def tcp_probe() -> None:
    probe = {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 15, "periodSeconds": 10}
    image = "registry.k8s.io/goproxy:0.1"
    with cluster(pod("goproxy", image=image, readinessProbe=probe, livenessProbe=probe), seconds=10) as made:
        assert not made.pod("goproxy").status.container_statuses[0].ready
        made.advance(20)
        assert made.pod("goproxy").status.container_statuses[0].ready
        assert restarts(made, "goproxy") == [0]


@page(f"{PODS}configure-liveness-readiness-startup-probes#grpc")
def grpc_probe() -> None:
    """It is healthy, and stays as it is."""
    command = ["/usr/local/bin/etcd", "--data-dir", "/var/lib/etcd", "--listen-client-urls", "http://0.0.0.0:2379"]
    probe = {"grpc": {"port": 2379}, "initialDelaySeconds": 10}
    mine = pod("etcd", image="registry.k8s.io/etcd:3.5.1-0", command=command, livenessProbe=probe)
    with cluster(mine, seconds=60) as made:
        assert restarts(made, "etcd") == [0]
        assert "Unhealthy" not in {event.reason for event in made.events("etcd")}


@page("concepts/workloads/pods/sidecar-containers#resource-sharing-within-containers")
def sidecars() -> None:
    """The sidecar and the application count together, an init container before them by itself."""
    mine = pod("demo", requests={"cpu": "300m", "memory": "128Mi"}, limits={"memory": "128Mi"})
    setup = {"name": "setup", "image": "busybox", "command": ["sh", "-c", "echo setting up"]}
    setup["resources"] = {"requests": {"cpu": "200m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}}
    shipper = {"name": "log-shipper", "image": "busybox", "command": ["sleep", "3600"], "restartPolicy": "Always"}
    shipper["resources"] = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}}
    mine["spec"]["initContainers"] = [setup, shipper]
    with cluster(mine, nodes=[{"name": "n", "cpus": 1, "memory": "1Gi"}], seconds=10) as made:
        assert made.pod("demo").status.phase == "Running"
        assert {key: str(value) for key, value in pod_requests(made.pod("demo")).items()} == {
            "cpu": "350m",
            "memory": "192Mi",
        }
        made.apply([pod("rest", requests={"cpu": "650m"}), pod("more", requests={"cpu": "1m"})])
        made.advance(2)
        assert made.pod("rest").status.phase == "Running"
        assert "1 Insufficient cpu" in why_pending(made, "more")


@page("tasks/inject-data-application/environment-variable-expose-pod-information")
def variables() -> None:
    """CPUs are rounded up, memory is in bytes."""
    env = [
        {"name": name, "valueFrom": {"resourceFieldRef": {"containerName": "c", "resource": resource}}}
        for name, resource in (
            ("MY_CPU_REQUEST", "requests.cpu"),
            ("MY_CPU_LIMIT", "limits.cpu"),
            ("MY_MEM_REQUEST", "requests.memory"),
            ("MY_MEM_LIMIT", "limits.memory"),
        )
    ]
    script = "printenv MY_CPU_REQUEST MY_CPU_LIMIT; printenv MY_MEM_REQUEST MY_MEM_LIMIT; sleep 10"
    asked, allowed = {"memory": "32Mi", "cpu": "125m"}, {"memory": "64Mi", "cpu": "250m"}
    mine = pod("demo", requests=asked, limits=allowed, image="busybox", command=["sh", "-c", script], env=env)
    with cluster(mine) as made:
        lines = made.node().log("default", "demo", "c")().lines()
        assert [one.text.decode().strip() for one in lines] == ["1", "1", "33554432", "67108864"]


@page("tasks/inject-data-application/downward-api-volume-expose-pod-information")
def volume_of_amounts() -> None:
    """Divisors of 1m and 1Mi."""
    items = [
        {"path": path, "resourceFieldRef": {"containerName": "c", "resource": resource, "divisor": divisor}}
        for path, resource, divisor in (
            ("cpu_limit", "limits.cpu", "1m"),
            ("cpu_request", "requests.cpu", "1m"),
            ("mem_limit", "limits.memory", "1Mi"),
            ("mem_request", "requests.memory", "1Mi"),
        )
    ]
    asked, allowed = {"memory": "32Mi", "cpu": "125m"}, {"memory": "64Mi", "cpu": "250m"}
    mounts = [{"name": "podinfo", "mountPath": "/etc/podinfo"}]
    script = "".join(
        f"if [[ -e /etc/podinfo/{item['path']} ]]; then cat /etc/podinfo/{item['path']}; echo -en '\\n'; fi; "
        for item in items
    )
    shell = {"image": "busybox", "command": ["sh", "-c", script + "sleep 5"], "volumeMounts": mounts}
    mine = pod("demo", requests=asked, limits=allowed, **shell)
    mine["spec"]["volumes"] = [{"name": "podinfo", "downwardAPI": {"items": items}}]
    with cluster(mine) as made:
        lines = made.node().log("default", "demo", "c")().lines()
        assert [one.text.decode().strip() for one in lines] == ["250", "125", "64", "32"]


def spread(*constraints: str, taken: dict[str, int], zones: str, spec: Any = None) -> Any:
    """Nodes n1, n2 … of the zones, with pods of the label, and one more with constraints by these keys."""
    nodes = [{"name": f"n{i}", "labels": {"zone": f"zone{zone}", "node": f"n{i}"}} for i, zone in enumerate(zones, 1)]
    rules = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"foo": "bar"}},
        }
        for key in constraints
    ]
    others = [pod(f"{node}-{i}", spec={"nodeName": node}) for node, count in taken.items() for i in range(count)]
    mine = pod("mypod", image="registry.k8s.io/pause:3.1", spec={"topologySpreadConstraints": rules, **(spec or {})})
    for one in (*others, mine):
        one["metadata"]["labels"] = {"foo": "bar"}
    return cluster(*others, mine, nodes=nodes)


@page("concepts/scheduling-eviction/topology-spread-constraints#example-multiple-topology-spread-constraints")
def two_constraints() -> None:
    """Zone B and the node without a pod: only node 4 is both."""
    with spread("zone", "node", taken={"n1": 1, "n2": 1, "n3": 1}, zones="AABB") as made:
        assert made.pod("mypod").spec.node_name == "n4"


@page("concepts/scheduling-eviction/topology-spread-constraints#example-conflicting-topologyspreadconstraints")
def conflicting_constraints() -> None:
    """Zone B by the first constraint, node 2 by the second: nowhere."""
    with spread("zone", "node", taken={"n1": 2, "n2": 1, "n3": 2}, zones="AAB") as made:
        assert "didn't match pod topology spread constraints" in why_pending(made, "mypod")


@page("concepts/scheduling-eviction/topology-spread-constraints#interaction-with-node-affinity-and-node-selectors")
def constraint_and_affinity() -> None:
    """The empty zone C is excluded by the affinity, and does not count."""
    term = {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["zoneC"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    with spread("zone", taken={"n1": 1, "n2": 1, "n3": 1}, zones="AABBC", spec={"affinity": affinity}) as made:
        assert made.pod("mypod").spec.node_name in ("n3", "n4")


def managed(name: str, whole: str, sidecars: dict[str, str], main: dict[str, str]) -> dict[str, Any]:
    """A pod with CPUs and memory in Gi of its own; sidecars and containers with their amount, "" = none."""

    def one(name: str, amount: str, **fields: Any) -> dict[str, Any]:
        both = {"cpu": amount, "memory": f"{amount}Gi"}
        resources = {"requests": both, "limits": both} if amount else {}
        return {"name": name, "image": "registry.k8s.io/pause:3.9", "resources": resources, **fields}

    made = pod(name)
    both = {"cpu": whole, "memory": f"{whole}Gi"}
    made["spec"] = {
        "resources": {"requests": both, "limits": both},
        "initContainers": [one(key, amount, restartPolicy="Always") for key, amount in sidecars.items()],
        "containers": [one(key, amount) for key, amount in main.items()],
    }
    return made


def managers(scope: str) -> list[dict[str, Any]]:
    flags = [
        *("--cpu-manager-policy=static", "--reserved-cpus=0", "--topology-manager-policy=restricted"),
        *(f"--topology-manager-scope={scope}", "--feature-gates=PodLevelResourceManagers=true"),
    ]
    return [{"name": "n", "cpus": 8, "memory": "16Gi", "kubelet": flags}]


def cpus(made: Any, name: str) -> dict[str, str]:
    """Return the CPUs of each container of a pod."""
    every = [*made.pod(name).spec.init_containers, *made.pod(name).spec.containers]
    return {one.name: made.node().proc(name, one.name)["Cpus_allowed_list"] for one in every}


@page("concepts/workloads/resource-managers#pod-scope")
def pod_scope() -> None:
    """4 CPUs for the pod: 2 for the application alone, 2 that the sidecars share."""
    mine = managed("mixed", "4", {"metrics": "", "logging": ""}, {"main-app": "2"})
    with cluster(mine, nodes=managers("pod"), seconds=15) as made:
        assert cpus(made, "mixed") == {"main-app": "1-2", "metrics": "3-4", "logging": "3-4"}


@page("concepts/workloads/resource-managers#container-scope")
def container_scope() -> None:
    """2 CPUs for the sidecar alone; the workers have the node's shared pool."""
    mine = managed("mixed", "4", {"infrastructure": "2"}, {"worker-1": "", "worker-2": ""})
    with cluster(mine, nodes=managers("container"), seconds=15) as made:
        assert cpus(made, "mixed") == {"infrastructure": "1-2", "worker-1": "0,3-7", "worker-2": "0,3-7"}


@page("concepts/workloads/resource-managers#empty-shared-pool")
def empty_pool() -> None:
    """The containers with CPUs of their own have all of the pod's: nothing is left for the third."""
    mine = managed("empty", "4", {"metrics": "1", "logging": ""}, {"main-app": "3"})
    with cluster(mine, nodes=managers("pod"), seconds=15) as made:
        assert made.pod("empty").status.phase == "Failed"
        assert made.pod("empty").status.message.startswith("Pod was rejected: ")


def test_each_file_has_a_page_that_is_asked() -> None:
    files = [name if name[0] != "-" else named[0] + name for named in FILES.values() for name in named]
    assert len({*files, *OUT}) == len(files) + len(OUT)
    assert FILES.keys() <= RUNS.keys() | pages.PAGES.keys()


@pytest.mark.parametrize(
    "address", sampled([pytest.param(address, id=address) for address in RUNS], 3, pytest.mark.thorough)
)
def test_a_page_with_examples_does_what_it_says(address: str) -> None:
    RUNS[address]()

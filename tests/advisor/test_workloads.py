"""Objects that make pods: why they do not have them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advisor.dumps import asked, dump, node, pod, some, words

TEMPLATE = "template: {metadata: {labels: {a: b}}, spec: {containers: [CONTAINER]}}".replace(
    "CONTAINER", "{name: c, image: i, resources: {requests: {cpu: '2'}}}"
)
QUOTA = """
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: q, namespace: default}
  spec: {hard: {requests.cpu: "3"}}
  status: {used: {requests.cpu: "2"}}
"""


def workload(kind: str, spec: str, status: str = "{}", meta: str = "name: w, namespace: default, uid: w") -> Any:
    group = "batch/v1" if "Job" in kind else "apps/v1"
    return some(f"- {{apiVersion: {group}, kind: {kind}, metadata: {{{meta}}}, spec: {{{spec}}}, status: {status}}}")[0]


def owned(name: str, kind: str = "ReplicaSet", owner: str = "w", **more: Any) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
    return pod(name, meta={"ownerReferences": [reference], "labels": {"a": "b"}}, **more)


@pytest.mark.parametrize(
    ("obj", "stage", "said"),
    [
        (workload("Job", f"suspend: true, {TEMPLATE}"), "suspension", "spec.suspend: true"),
        (workload("Job", f"parallelism: 0, {TEMPLATE}"), "scaling", "spec.parallelism: 0"),
        (workload("CronJob", "suspend: true, schedule: '* * * * *'"), "suspension", "the CronJob is suspended"),
        (workload("Deployment", f"replicas: 0, {TEMPLATE}"), "scaling", "spec.replicas: 0"),
        (
            workload("DaemonSet", TEMPLATE.replace("spec: {", "spec: {nodeSelector: {x: y}, ")),
            "scaling",
            "no node matches",
        ),
        (
            workload("Job", TEMPLATE, "{conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}"),
            "start",
            "BackoffLimitExceeded",
        ),
    ],
)
def test_a_workload_says_itself_why_it_makes_no_pods(obj: dict[str, Any], stage: str, said: str) -> None:
    answer = asked(dump(node("n1"), obj), "w")
    assert (answer.verdict, answer.stage, answer.exit_code) == ("held", stage, 1)
    assert said in words(answer)


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet", "Job"])
def test_a_quota_that_refuses_the_pods_is_computed(kind: str) -> None:
    """Users ask about the workload, which has no pod: volcano-sh/volcano#3834."""
    answer = asked(dump(node("n1"), workload(kind, TEMPLATE), *some(QUOTA)), f"{kind.lower()}/w")
    assert answer.stage == "quota" and answer.held is not None
    assert "requested: requests.cpu=2, used: requests.cpu=2, limited: requests.cpu=3" in answer.held.text


def test_a_limit_range_that_refuses_the_pods_is_computed() -> None:
    limits = some(
        "- {apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: default},"
        " spec: {limits: [{type: Container, min: {cpu: '3'}}]}}"
    )
    answer = asked(dump(node("n1"), workload("ReplicaSet", TEMPLATE), *limits), "w")
    assert answer.stage == "creation" and "minimum cpu usage per Container is 3" in words(answer)


def test_the_pod_that_waits_is_looked_at() -> None:
    deployment = workload("Deployment", f"replicas: 2, {TEMPLATE}")
    above = "name: w-1, namespace: default, uid: w-1, ownerReferences: "
    above += "[{apiVersion: apps/v1, kind: Deployment, name: w, uid: w, controller: true}]"
    made = workload("ReplicaSet", f"replicas: 2, {TEMPLATE}", meta=above)
    pods = [owned("w-1-a", owner="w-1", on="n1"), owned("w-1-b", owner="w-1", cpu="9")]
    answer = asked(dump(node("n1"), deployment, made, *pods), "deploy/w")
    assert answer.stage == "filters" and answer.pod is not None and answer.pod.name == "w-1-b"
    assert "2 pods exist, 1 has a node" in words(answer)


def test_the_old_pod_of_the_same_deployment_leaves_first() -> None:
    """newrelic/nri-kubernetes#356: hostNetwork, one node, a rollout that waits for its own port."""
    above = "name: NAME, namespace: default, uid: NAME, ownerReferences: "
    above += "[{apiVersion: apps/v1, kind: Deployment, name: w, uid: w, controller: true}]"
    sets = [workload("ReplicaSet", TEMPLATE, meta=above.replace("NAME", name)) for name in ("w-1", "w-2")]
    network = {"spec": {"hostNetwork": True}, "container": {"ports": [{"containerPort": 8080, "hostPort": 8080}]}}
    old, new = owned("old", owner="w-1", on="n1", **network), owned("new", owner="w-2", **network)
    other = {**node("n2", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])}
    ways = [str(one) for one in asked(dump(node("n1"), other, old, new, *sets), "new").remedies]
    assert ways[0].startswith("let the rollout of Deployment w end old pods first (maxSurge: 0")
    assert not [way for way in ways if "drop the host ports" in way or "label node" in way]


def test_a_pod_of_a_daemon_set_is_not_told_to_drop_what_its_controller_writes() -> None:
    """kubernetes/kubernetes#140984: equal priority, node full."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    bound = {"affinity": {"nodeAffinity": affinity}, "priority": 0}
    agent = owned("agent", kind="DaemonSet", spec=bound)
    filler = pod("filler", on="n1", spec={"priority": 0})
    ways = [str(one) for one in asked(dump(node("n1", pods="1"), node("n2"), filler, agent), "agent").remedies]
    assert not [way for way in ways if "affinity" in way or "label" in way]
    assert any(
        way.startswith("use the priority class system-") and "after preempting default/filler" in way for way in ways
    )
    assert "move default/filler away from n1: it goes to n1" in ways


def test_an_autoscaler_that_cannot_scale_says_why() -> None:
    hpa = some("""
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: h, namespace: default}
  spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w}}
  status: {currentReplicas: 1, desiredReplicas: 1, conditions: [
    {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: missing request for cpu}]}
""")
    answer = asked(dump(node("n1"), *hpa), "hpa/h")
    assert answer.stage == "scaling" and "FailedGetResourceMetric" in words(answer)


def test_a_stateful_set_makes_its_pods_in_order() -> None:
    sets = workload("StatefulSet", f"replicas: 3, {TEMPLATE}")
    first = owned("w-0", kind="StatefulSet", cpu="9")
    answer = asked(dump(node("n1"), sets, first), "sts/w")
    assert answer.stage == "filters" and "the next one waits until w-0 is Ready" in words(answer)


@pytest.mark.parametrize("name", ["job/train", "workload/job-train"])
def test_a_job_and_its_workload_own_each_other(name: str) -> None:
    """Kueue makes a Job the controller of its Workload, and a Workload is asked for the pods of its Job."""
    job = workload("Job", f"suspend: true, {TEMPLATE}", meta="name: train, namespace: default, uid: j")
    (made,) = some("""
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: Workload
  metadata:
    name: job-train
    namespace: default
    ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: j, controller: true}]
  status: {conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: no quota}]}
""")
    assert asked(dump(node("n1"), job, made), name).stage == "queue"


def test_objects_that_own_each_other_are_visited_once() -> None:
    one, other = (workload("Job", TEMPLATE, meta=f"name: {name}, namespace: default, uid: {name}") for name in "ab")
    for obj, above in ((one, "b"), (other, "a")):
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": above, "uid": above, "controller": True}
        obj["metadata"]["ownerReferences"] = [reference]
    assert asked(dump(node("n1"), one, other), "job/a").pod is None

"""Changes that let a pod in: by owner, and never past an owner."""

from __future__ import annotations

from kitlib.advisor.remedies import remedies
from tests.advisor.dumps import asked, dump, node, pod, some

CONTROL_PLANE = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ]
}
LABELLED = {"labels": {"a": "b"}}


def test_a_tainted_domain_is_left_out_by_the_taints_policy_before_its_taint_is_tolerated() -> None:
    """kubernetes/kubernetes#116118, #107464."""
    pods = [pod(f"p{i}", on=f"n{i}", meta=LABELLED) for i in (1, 2)]
    waits = pod("p3", meta=LABELLED, spec=SPREAD)
    found = dump(node("n1"), node("n2"), node("cp", taints=CONTROL_PLANE), *pods, waits)
    answer = asked(found, "p3")
    ways = [(one.owner, str(one)) for one in answer.remedies]
    assert ways[0][0] == "you" and "nodeTaintsPolicy: Honor of kubernetes.io/hostname" in ways[0][1]
    assert [owner for owner, _ in ways] == sorted(
        (owner for owner, _ in ways), key=["you", "your team", "the platform"].index
    )


def test_labels_that_controllers_write_are_never_proposed() -> None:
    for label in ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "karpenter.sh/nodepool"):
        found = dump(node("n1"), pod("p", spec={"nodeSelector": {label: "other"}}))
        assert not [one for one in asked(found).remedies if "label node" in str(one)]
    found = dump(node("n1"), pod("p", spec={"nodeSelector": {"disk": "ssd"}}))
    assert "label node n1 with disk=ssd: it goes to n1" in map(str, asked(found).remedies)


def test_a_request_is_not_lowered_below_the_namespaces_minimum() -> None:
    least = some(
        "- {apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: default},"
        " spec: {limits: [{type: Container, min: {cpu: '3'}}]}}"
    )
    found = dump(node("n1"), pod("a", cpu="2", on="n1"), pod("p", cpu="4"))
    assert any("request 2 cpu" in str(one) for one in asked(found).remedies)
    bounded = dump(node("n1"), pod("a", cpu="2", on="n1"), pod("p", cpu="4"), *least)
    assert not any("request 2 cpu" in str(one) for one in asked(bounded).remedies)


def test_a_priority_class_of_the_cluster_helps_where_its_pods_may_preempt() -> None:
    classes = some("- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}")
    found = dump(node("n1"), pod("low", cpu="3", on="n1", spec={"priority": 0}), pod("p", cpu="2"), *classes)
    ways = [str(one) for one in remedies(found, found.pod("p"))]
    assert "use the priority class high (100): it goes to n1, after preempting default/low" in ways
    assert not [way for way in ways if "system-" in way]


def test_min_domains_and_another_key_are_tried() -> None:
    spread = {"topologySpreadConstraints": [{**SPREAD["topologySpreadConstraints"][0], "minDomains": 3}]}
    pods = [pod("p1", on="n1", meta=LABELLED), pod("p2", on="n2", meta=LABELLED)]
    found = dump(node("n1"), node("n2"), *pods, pod("p3", meta=LABELLED, spec=spread))
    ways = [str(one) for one in asked(found, "p3").remedies]
    assert "lower minDomains of kubernetes.io/hostname to 2: it goes to n1" in ways


def test_a_resize_that_waits_is_taken_back() -> None:
    waits = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    status = {
        "phase": "Running",
        "conditions": [waits],
        "containerStatuses": [
            {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
        ],
    }
    found = dump(node("n1"), pod("grows", cpu="3", on="n1", status=status), pod("p", cpu="2"))
    answer = asked(found, "p")
    assert "take back the resize of default/grows (Deferred): it goes to n1" in map(str, answer.remedies)


def test_a_node_is_added_where_the_volume_is() -> None:
    """rack2cloud.com, "Storage Has Gravity"."""
    zone = "topology.kubernetes.io/zone"
    objects = some(f"""
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {{name: data, namespace: default, annotations: {{pv.kubernetes.io/bind-completed: "yes"}}}}
  spec: {{volumeName: pv1, accessModes: [ReadWriteOnce]}}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {{name: pv1}}
  spec:
    hostPath: {{path: /x}}
    nodeAffinity:
      required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: {zone}, operator: In, values: [a]}}]}}]}}
""")
    claimed = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    full = pod("full", cpu="4", on="na")
    nodes = [node("na", labels={zone: "a"}), node("nb", labels={zone: "b"})]
    answer = asked(dump(*nodes, full, pod("p", spec=claimed), *objects), "p")
    assert answer.stage == "volumes"
    assert any("add a node like na" in str(one) for one in answer.remedies)

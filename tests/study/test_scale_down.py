"""Which nodes an autoscaler may remove: every obstacle by its name, and where the pods would go."""

import pytest

from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.serialize import from_dict
from kitlib.lab import disruption_budget, pod, spread
from kitlib.study.scale_down import DISABLED, SAFE_TO_EVICT, SAFE_VOLUMES, TO_BE_DELETED, removals, utilization
from kitlib.study.scenario import ZONE, node_of, pod_of


def owned(name, node="a", kind="ReplicaSet", namespace="default", annotations=None, **more):
    """A pod that a controller made."""
    manifest = pod(name, labels={"app": "web"}, nodeName=node, **{"cpu": "500m", **more})
    owners = [{"apiVersion": "v1", "kind": kind, "name": "of", "uid": "u", "controller": True}] if kind else []
    manifest["metadata"] |= {"ownerReferences": owners, "namespace": namespace, "annotations": annotations or {}}
    return pod_of(manifest)


def budget(allowed):
    made = from_dict(disruption_budget("web", minAvailable=1), PodDisruptionBudget)
    made.metadata.namespace = "default"
    made.status.disruptions_allowed = allowed
    return made


def nodes(*names, cpu=4):
    return [node_of({"name": name, "zone": name, "cpu": cpu}) for name in names]


EMPTY_DIR = [{"name": "scratch", "emptyDir": {}}]
IN_MEMORY = [{"name": "scratch", "emptyDir": {"medium": "Memory"}}]
HOST_PATH = [{"name": "logs", "hostPath": {"path": "/var/log"}}]


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (owned("p"), ""),
        (owned("p", kind="StatefulSet"), ""),
        (owned("p", kind="Job"), ""),
        (owned("p", kind=""), "BlockedByPod (NotReplicated)"),
        (owned("p", kind="GameServer"), "BlockedByPod (NotReplicated)"),
        (owned("p", kind="", annotations={SAFE_TO_EVICT: "true"}), ""),
        (owned("p", annotations={SAFE_TO_EVICT: "false"}), "BlockedByPod (NotSafeToEvictAnnotation)"),
        (owned("p", namespace="kube-system"), "BlockedByPod (UnmovableKubeSystemPod)"),
        (owned("p", kind="DaemonSet", namespace="kube-system"), ""),
        (owned("p", kind="", annotations={"kubernetes.io/config.mirror": "x"}), ""),
        (owned("p", volumes=EMPTY_DIR), "BlockedByPod (LocalStorageRequested)"),
        (owned("p", volumes=HOST_PATH), "BlockedByPod (LocalStorageRequested)"),
        (owned("p", volumes=IN_MEMORY), ""),
        (owned("p", volumes=EMPTY_DIR, annotations={SAFE_VOLUMES: "scratch"}), ""),
        (owned("p", cpu="2"), "NotUnderutilized"),
        (owned("p", cpu="1900m"), ""),
        (owned("p", nodeSelector={"kubernetes.io/hostname": "a"}), "NoPlaceToMovePods"),
    ],
    ids=str,
)
def test_a_pod_keeps_its_node_or_not(one, reason):
    found = removals(nodes("a", "b"), [one])[0]
    assert found.reason == reason
    assert found.possible is not bool(reason)
    assert not reason or (found.why and found.reason in str(found))


@pytest.mark.parametrize(("allowed", "reason"), [(0, "BlockedByPod (NotEnoughPdb)"), (1, "")])
def test_a_budget_keeps_the_node_while_it_allows_no_disruption(allowed, reason):
    assert removals(nodes("a", "b"), [owned("p")], budgets=[budget(allowed)])[0].reason == reason


def test_a_system_pod_with_a_budget_may_move():
    made = budget(1)
    made.metadata.namespace = "kube-system"
    assert removals(nodes("a", "b"), [owned("p", namespace="kube-system")], budgets=[made])[0].possible


def test_switches_of_the_autoscaler_let_such_pods_move():
    system, local = owned("s", namespace="kube-system"), owned("l", volumes=EMPTY_DIR)
    assert removals(nodes("a", "b"), [system], skip_system_pods=False)[0].possible
    assert removals(nodes("a", "b"), [local], skip_local_storage=False)[0].possible
    assert removals(nodes("a", "b"), [owned("p", cpu="2")], threshold=0.7)[0].possible


def test_a_node_can_be_kept_by_its_annotation():
    first, second = nodes("a", "b")
    first.metadata.annotations = {DISABLED: "true"}
    assert removals([first, second], [])[0].reason == "ScaleDownDisabledAnnotation"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (spread(ZONE), "NoPlaceToMovePods"),
        (spread(ZONE, max_skew=2), ""),
        (spread(ZONE, soft=True), ""),
        (spread(ZONE, nodeTaintsPolicy="Honor"), ""),
        (spread(ZONE, nodeTaintsPolicy="Honor", minDomains=3), "NoPlaceToMovePods"),
    ],
    ids=["hard", "a skew of 2", "soft", "tainted nodes do not count", "three zones are asked for"],
)
def test_the_last_node_of_a_zone_goes_if_the_constraint_bears_an_empty_zone(rule, reason):
    rule |= {"labelSelector": {"matchLabels": {"app": "web"}}}
    pods = [owned(f"p{name}", name, topologySpreadConstraints=[rule]) for name in "abc"]
    assert removals(nodes("a", "b", "c"), pods)[0].reason == reason


def test_nodes_that_may_be_removed_may_be_removed_together():
    found = removals(nodes("a", "b", "c", cpu=1), [owned(f"p{name}", name, cpu="400m") for name in "abc"])
    assert [one.possible for one in found] == [True, False, False]
    assert found[0].moves == {"pa": "b"}
    assert [round(one.utilization, 2) for one in found] == [0.4] * 3, "as it is, not as it would become"
    assert found[2].reason == "NoPlaceToMovePods", "c's pod fits neither on b, which is full by now, nor on a"


def test_what_is_asked_for_is_not_changed():
    given, pods = nodes("a", "b"), [owned("p")]
    removals(given, pods)
    assert pods[0].spec.node_name == "a" and not [t for n in given for t in n.spec.taints if t.key == TO_BE_DELETED]


def test_utilization_is_the_larger_part():
    (node,) = nodes("a")
    assert utilization(node, [owned("p", cpu="1", memory="8Gi")]) == 0.5
    assert utilization(node, []) == 0

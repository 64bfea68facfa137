"""Tests of the kubelet's checks of a pod besides resources: words, order, and what does not count.

The rules of lifecycle predicate.go (generalFilter, rejectPodAdmission…) and scheduler AdmissionCheck.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.predicate import NODE_AFFINITY, NODE_NAME, NODE_PORTS, TAINTS, check_platform, general_filter
from kitlib.kubelet.loop.sysctls import forbidden_sysctl

LATEST = Release.latest()


def node(*taints: str, **labels: str) -> Node:
    """Return a node `n`; a taint is `key:effect`."""
    listed = [dict(zip(("key", "effect"), one.split(":"), strict=True)) for one in taints]
    return from_dict({"metadata": {"name": "n", "labels": labels}, "spec": {"taints": listed}}, Node)


def pod(labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    spec = {"nodeName": "n", "containers": [{"name": "c"}], **spec}
    return from_dict({"metadata": {"name": "p", "labels": labels or {}}, "spec": spec}, Pod)


def ports(*listed: dict[str, Any], sidecar: bool = False) -> dict[str, Any]:
    one = {"name": "c", "ports": [{"containerPort": 80, **port} for port in listed]}
    if sidecar:
        return {"initContainers": [{**one, "name": "s", "restartPolicy": "Always"}]}
    return {"containers": [one]}


@pytest.mark.parametrize(
    ("mine", "theirs", "release", "conflict"),
    [
        (ports({"hostPort": 80}), ports({"hostPort": 80}), "1.36", True),
        (ports({"hostPort": 80}), ports({"hostPort": 81}), "1.36", False),
        (ports({}), ports({}), "1.36", False),
        (ports({"hostPort": 80, "protocol": "UDP"}), ports({"hostPort": 80}), "1.36", False),
        (ports({"hostPort": 80, "hostIP": "10.0.0.1"}), ports({"hostPort": 80, "hostIP": "10.0.0.2"}), "1.36", False),
        (ports({"hostPort": 80, "hostIP": "10.0.0.1"}), ports({"hostPort": 80, "hostIP": "10.0.0.1"}), "1.36", True),
        (ports({"hostPort": 80, "hostIP": "10.0.0.1"}), ports({"hostPort": 80}), "1.36", True),
        (ports({"hostPort": 80}), ports({"hostPort": 80, "hostIP": "10.0.0.1"}), "1.36", True),
        (ports({"hostPort": 80}), ports({"hostPort": 80}, sidecar=True), "1.36", True),
        (ports({"hostPort": 80}), ports({"hostPort": 80}, sidecar=True), "1.33", False),
    ],
)
def test_two_pods_cannot_have_one_port_of_the_node(
    mine: dict[str, Any], theirs: dict[str, Any], release: str, conflict: bool
) -> None:
    found = list(general_filter(pod(**mine), node(), [pod(**theirs)], Release(release)))
    wanted = [("NodePorts", f"Predicate NodePorts failed: {NODE_PORTS}")] if conflict else []
    assert found == wanted


STATIC = {"kubernetes.io/config.source": "file"}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "on", "reason"),
    [
        (pod(nodeSelector={"zone": "a"}), node(zone="a"), ""),
        (pod(nodeSelector={"zone": "a"}), node(zone="b"), NODE_AFFINITY),
        (pod(affinity={"nodeAffinity": REQUIRED}), node(), NODE_AFFINITY),
        (pod(nodeName="other"), node(), NODE_NAME),
        (pod(), node("x:NoSchedule", "y:PreferNoSchedule"), ""),
        (pod(), node("x:NoExecute"), TAINTS),
        (pod(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]), node("x:NoExecute"), ""),
    ],
)
def test_labels_name_and_taints_of_the_node(wanted: Pod, on: Node, reason: str) -> None:
    found = list(general_filter(wanted, on, (), LATEST))
    assert [one.message.split(" failed: ")[1] for one in found] == ([reason] if reason else [])
    assert all(one.message.startswith(f"Predicate {one.reason} failed: ") for one in found)


def test_every_reason_is_found_in_the_kubelets_order_and_taints_do_not_concern_static_pods() -> None:
    bad = pod(nodeSelector={"zone": "a"}, **ports({"hostPort": 80}) | {"nodeName": "other"})
    on, others = node("x:NoExecute"), [pod(**ports({"hostPort": 80}))]
    reasons = ["NodeAffinity", "NodeName", "NodePorts", "TaintToleration"]
    assert [one.reason for one in general_filter(bad, on, others, LATEST)] == reasons
    bad.metadata.annotations = STATIC
    assert [one.reason for one in general_filter(bad, on, others, LATEST)] == reasons[:3]


def groups(policy: str) -> Pod:
    return pod(securityContext={"supplementalGroupsPolicy": policy})


@pytest.mark.parametrize(
    ("wanted", "features", "release", "reason"),
    [
        (pod({"kubernetes.io/os": "windows"}), None, "1.36", "PodOSSelectorNodeLabelDoesNotMatch"),
        (pod({"kubernetes.io/os": "linux"}), None, "1.36", ""),
        (pod(os={"name": "windows"}), None, "1.36", "PodOSNotSupported"),
        (
            pod(securityContext={"supplementalGroupsPolicy": "Strict"}),
            False,
            "1.36",
            "SupplementalGroupsPolicyNotSupported",
        ),
        (groups("Strict"), True, "1.36", ""),
        (groups("Merge"), False, "1.36", ""),
        (groups("Strict"), False, "1.32", ""),
    ],
)
def test_what_no_room_would_help_against(wanted: Pod, features: bool | None, release: str, reason: str) -> None:
    on = node()
    on.status.features = None if features is None else {"supplementalGroupsPolicy": features}
    found = check_platform(wanted, on, Release(release))
    assert (found.reason if found is not None else "") == reason


@pytest.mark.parametrize(
    ("name", "unsafe", "host", "release", "why"),
    [
        ("net.ipv4.tcp_syncookies", (), {}, "1.36", ""),
        ("net/ipv4/tcp_syncookies", (), {}, "1.36", ""),
        ("net.ipv4.tcp_rmem", (), {}, "1.36", ""),
        ("net.ipv4.tcp_rmem", (), {}, "1.31", '"net.ipv4.tcp_rmem" not allowlisted'),
        ("kernel.msgmax", (), {}, "1.36", '"kernel.msgmax" not allowlisted'),
        ("kernel.msgmax", ("kernel.msg*",), {}, "1.36", ""),
        ("kernel.msgmax", ("kernel.msg*",), {"hostIPC": True}, "1.36",
         '"kernel.msgmax" not allowed with host IPC enabled'),
        ("net.ipv4.tcp_syncookies", (), {"hostNetwork": True}, "1.36",
         '"net.ipv4.tcp_syncookies" not allowed with host Net enabled'),
    ],
)  # fmt: skip
def test_sysctls_that_a_pod_may_set(
    name: str, unsafe: tuple[str, ...], host: dict[str, bool], release: str, why: str
) -> None:
    asks = pod(securityContext={"sysctls": [{"name": name, "value": "1"}]}, **host)
    assert forbidden_sysctl(asks, unsafe, Release(release)) == (f"forbidden sysctl: {why}" if why else "")

"""The desired tree: the worked example to the last digit, and every setting seen in the tree."""

from dataclasses import replace

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import load
from kitlib.examples import qos_reserved_node, qos_reserved_pods, worked_node, worked_pods
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo

GUARANTEED = "/kubepods.slice/kubepods-pod5799fccc_d1f5_4958_b13f_6a82378a8934.slice"
BURSTABLE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod18ec1047_8414_4905_8747_ccb1dd50e0bc.slice"
BEST_EFFORT = (
    "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podde4983ac_ff0c_40be_8472_8b6674593aa3.slice"
)
UNLIMITED = "9223372036854771712"

WORKED = [
    # path, cpu.shares, cpu.cfs_quota_us, memory.limit_in_bytes
    ("/", "1024", "-1", UNLIMITED),
    ("/kubepods.slice", "7168", "-1", "2946347008"),
    ("/kube.slice", "512", "-1", "104857600"),
    ("/sys.slice", "512", "-1", "104857600"),
    ("/kubepods.slice/kubepods-burstable.slice", "1546", "-1", UNLIMITED),
    ("/kubepods.slice/kubepods-besteffort.slice", "2", "-1", UNLIMITED),
    (GUARANTEED, "512", "50000", "134217728"),
    (BURSTABLE, "512", "100000", "268435456"),
    (BEST_EFFORT, "2", "-1", UNLIMITED),
    ("/system.slice", "1024", "-1", UNLIMITED),
    ("/system.slice/containerd.service", "1024", "-1", UNLIMITED),
]


@pytest.fixture(scope="module")
def tree():
    return desired_tree(worked_node(), worked_pods(), version=1)


@pytest.mark.parametrize(("path", "shares", "quota", "memory"), WORKED)
def test_the_worked_example_comes_out_to_the_last_digit(tree, path, shares, quota, memory):
    files = tree[path]
    shown = [files[name].shown for name in ("cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes")]
    assert shown == [shares, quota, memory]
    assert files["cpu.cfs_period_us"].shown == "100000"


def test_containers_stand_below_containerd_whose_driver_differs(tree):
    containers = [c for c in tree.values() if c.kind in ("container", "sandbox") and c.pod == "default/nginx-demo2"]
    prefix = (
        "/system.slice/containerd.service/kubepods-burstable-pod18ec1047_8414_4905_8747_ccb1dd50e0bc.slice:cri-cont"
    )
    assert all(c.path.startswith(prefix) for c in containers)
    pause, nginx = containers
    assert (pause["cpu.shares"].shown, pause["memory.limit_in_bytes"].shown) == ("2", UNLIMITED)
    assert (nginx["cpu.shares"].shown, nginx["memory.limit_in_bytes"].shown) == ("512", "268435456")


def test_every_written_value_says_why(tree):
    unexplained = [
        f"{cgroup.path}/{file.name}" for cgroup in tree.values() for file in cgroup.values() if not file.reason
    ]
    assert not unexplained


def test_qos_reserved_takes_900m_then_700m():
    node, pods = qos_reserved_node(), qos_reserved_pods()
    limits = []
    for count in (0, 1, 2):
        tree = desired_tree(node, pods[:count], version=1)
        limits.append([tree[f"/kubepods/{qos}"]["memory.limit_in_bytes"].value for qos in ("burstable", "besteffort")])
    assert limits == [["1000000000"] * 2, ["900000000", "900000000"], ["900000000", "700000000"]]


def test_qos_reserved_does_nothing_without_its_feature_gate():
    node = qos_reserved_node()
    node = replace(node, settings=replace(node.settings, feature_gates={}))
    assert desired_tree(node, qos_reserved_pods(), version=1)["/kubepods/burstable"]["memory.limit_in_bytes"].shown == (
        UNLIMITED
    )


def test_the_kubelets_own_cgroup_stands_below_the_reserved_one_without_limits(tree):
    kubelet = tree["/kube.slice/kubelet"]
    assert kubelet.kind == "daemon"
    assert (kubelet["cpu.shares"].shown, kubelet["memory.limit_in_bytes"].shown) == ("1024", UNLIMITED)


POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, uid: u-1}
spec:
  containers:
  - {name: c, image: c, resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: "1", memory: 128Mi}}}
"""

CHANGES = [
    # flags, path, file, value (v2)
    ("", "/kubepods", "memory.max", str(8 * 2**30)),
    ("--kube-reserved=cpu=500m,memory=1Gi", "/kubepods", "memory.max", str(7 * 2**30)),
    ("--system-reserved=cpu=1", "/kubepods", "cpu.weight", "118"),
    ("--system-reserved=pid=1000", "/kubepods", "pids.max", "31768"),
    ("--reserved-cpus=0-1", "/kubepods", "cpu.weight", "79"),
    ("--eviction-hard=memory.available<2Gi", "/kubepods", "memory.max", str(8 * 2**30)),
    ("--enforce-node-allocatable=none --kube-reserved=memory=1Gi", "/kubepods", "memory.max", str(8 * 2**30)),
    (
        "--enforce-node-allocatable=pods,kube-reserved --kube-reserved=cpu=500m,memory=1Gi "
        "--kube-reserved-cgroup=/kube",
        "/kube",
        "memory.max",
        str(2**30),
    ),
    (
        "--enforce-node-allocatable=pods,system-reserved-compressible --system-reserved=cpu=500m,memory=1Gi "
        "--system-reserved-cgroup=/sys",
        "/sys",
        "memory.max",
        "max",
    ),
    ("--cgroup-root=/all", "/all/kubepods/burstable/podu-1", "cpu.max", "100000 100000"),
    ("--cgroup-driver=systemd", "/kubepods.slice/kubepods-burstable.slice", "cpu.weight", "20"),
    ("--cpu-cfs-quota=false", "/kubepods/burstable/podu-1", "cpu.max", "max 100000"),
    (
        "--cpu-cfs-quota-period=10ms --feature-gates=CustomCPUCFSQuotaPeriod=true",
        "/kubepods/burstable/podu-1",
        "cpu.max",
        "10000 10000",
    ),
    ("--system-cgroups=/sys/system --cgroup-root=/", "/sys/system", "cpu.weight", "100"),
    ("--kubelet-cgroups=/kube/kubelet", "/kube/kubelet", "memory.max", "max"),
    ("--pod-max-pids=64", "/kubepods/burstable/podu-1", "pids.max", "64"),
    (
        "--qos-reserved=memory=50% --feature-gates=QOSReserved=true",
        "/kubepods/besteffort",
        "memory.max",
        str(8 * 2**30 - 32 * 2**20),
    ),
    ("memoryThrottlingFactor: 0.9", "container", "memory.high", str(127_504_384)),
]


def node(flags):
    return NodeConfig(machine=MachineInfo.declare(4, "8Gi", max_pid=32768), settings=read_settings(flags))


@pytest.mark.parametrize(("flags", "path", "file", "value"), CHANGES)
def test_a_flag_changes_the_tree(flags, path, file, value):
    tree = desired_tree(node(flags), [set_defaults(load(POD)[0])], version=2)
    cgroup = tree.of_kind("container")[0] if path == "container" else tree[path]
    assert cgroup[file].value == value


def test_without_cgroups_per_qos_there_are_neither_classes_nor_pods():
    settings = "--cgroups-per-qos=false --enforce-node-allocatable="
    tree = desired_tree(node(settings), [set_defaults(load(POD)[0])], version=2)
    assert {c.kind for c in tree.values()} == {"root", "system", "sandbox", "container"}


def test_tiered_reservation_protects_memory():
    settings = read_settings(
        "kind: KubeletConfiguration\nmemoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: true}"
    )
    config = replace(node(""), settings=settings)
    tree = desired_tree(config, [set_defaults(load(POD)[0])], version=2)
    assert tree["/kubepods"]["memory.min"].value == str(64 * 2**20)
    assert tree["/kubepods/burstable/podu-1"]["memory.low"].value == str(64 * 2**20)


def test_an_ended_pod_has_no_cgroup():
    pod: Pod = set_defaults(load(POD)[0])
    pod.status.phase = "Succeeded"
    assert not desired_tree(node(""), [pod]).of_pod("u-1")


@pytest.mark.parametrize(
    ("processors", "expected"), [("", "0-3"), ("1,3", "1,3"), (None, "")], ids=["declared", "real", "no controller"]
)
def test_kubepods_has_the_processors_of_the_node_and_none_without_a_cpuset_controller(processors, expected):
    node = NodeConfig(machine=MachineInfo.declare(4, "8Gi"), processors=processors)
    kubepods = desired_tree(node, [], version=2)["/kubepods"]
    assert (kubepods["cpuset.cpus"].value if "cpuset.cpus" in kubepods else "") == expected

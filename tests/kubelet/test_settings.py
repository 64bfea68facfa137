"""The kubelet's settings: the same from flags and from a file, and what it refuses to start with."""

import pytest

from kitlib.api.resource import Quantity
from kitlib.kubelet.settings import KubeletSettings, SettingsError, duration

SAME = [
    ("--cgroups-per-qos=false --enforce-node-allocatable=", "cgroupsPerQOS: false\nenforceNodeAllocatable: []"),
    ("--cgroup-root=/pods", "cgroupRoot: /pods"),
    ("--cgroup-driver=systemd", "cgroupDriver: systemd"),
    (
        "--enforce-node-allocatable=pods,kube-reserved --kube-reserved-cgroup=/kube",
        "enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /kube",
    ),
    ("--system-reserved cpu=500m,memory=100Mi", "systemReserved: {cpu: 500m, memory: 100Mi}"),
    ("--kube-reserved=cpu=500m,pid=1000", "kubeReserved: {cpu: 500m, pid: 1000}"),
    ("--qos-reserved=memory=50%", "qosReserved: {memory: 50%}"),
    ("--reserved-cpus=0-1", "reservedSystemCPUs: 0-1"),
    ("--eviction-hard=memory.available<1Gi", "evictionHard: {memory.available: 1Gi}"),
    (
        "--eviction-soft=memory.available<2Gi --eviction-soft-grace-period=memory.available=1m30s",
        "evictionSoft: {memory.available: 2Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}",
    ),
    ("--eviction-minimum-reclaim=memory.available=100Mi", "evictionMinimumReclaim: {memory.available: 100Mi}"),
    ("--cpu-manager-policy=static", "cpuManagerPolicy: static"),
    ("--topology-manager-policy=restricted", "topologyManagerPolicy: restricted"),
    ("--memory-manager-policy=Static", "memoryManagerPolicy: Static"),
    ("--reserved-memory=0:memory=1Gi", "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]"),
    ("--cpu-cfs-quota=false", "cpuCFSQuota: false"),
    ("--cpu-cfs-quota-period=10ms", "cpuCFSQuotaPeriod: 10ms"),
    ("--pod-max-pids=100", "podPidsLimit: 100"),
    ("--max-pods=20 --pods-per-core=2", "maxPods: 20\npodsPerCore: 2"),
    ("--feature-gates=MemoryQoS=true", "featureGates: {MemoryQoS: true}"),
    ("--system-cgroups=/sys.slice/system --cgroup-root=/", "systemCgroups: /sys.slice/system\ncgroupRoot: /"),
    ("--kubelet-cgroups=/kube.slice/kubelet", "kubeletCgroups: /kube.slice/kubelet"),
]


@pytest.mark.parametrize(("flags", "configuration"), SAME)
def test_a_flag_and_its_field_are_one_setting(flags, configuration):
    from_flags = KubeletSettings.read(flags)
    assert from_flags != KubeletSettings()
    assert from_flags == KubeletSettings.read("kind: KubeletConfiguration\n" + configuration)


def test_a_flag_wins_over_the_file(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("kind: KubeletConfiguration\nmaxPods: 10\nkubeReserved: {cpu: 1}\nport: 10250\n")
    settings = KubeletSettings.read(["--config", str(file), "--max-pods=20"])
    assert (settings.max_pods, settings.kube_reserved, settings.extra) == (20, {"cpu": Quantity("1")}, {"port": 10250})


REFUSED = [
    ("--cgroups-per-qos=false", "is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true"),
    ("--system-cgroups=/sys", "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not"),
    ("--enforce-node-allocatable=kube-reserved", "kubeReservedCgroup (--kube-reserved-cgroup) must be specified when"),
    ("--enforce-node-allocatable=system-reserved", "systemReservedCgroup (--system-reserved-cgroup) must be specified"),
    ("--enforce-node-allocatable=none,pods", 'may not contain additional enforcements when "none" is specified'),
    ("--enforce-node-allocatable=everything", 'option "everything" specified for enforceNodeAllocatable'),
    (
        "--enforce-node-allocatable=kube-reserved,kube-reserved-compressible --kube-reserved-cgroup=/k",
        'both "kube-reserved" and "kube-reserved-compressible" cannot be specified together',
    ),
    ("--reserved-cpus=0 --kube-reserved-cgroup=/k", "can't use reservedSystemCPUs (--reserved-cpus) with"),
    ("--reserved-cpus=first", "unable to parse reservedSystemCPUs (--reserved-cpus) first"),
    ("--cpu-cfs-quota-period=2s", "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec"),
    ("--topology-manager-policy=strict", '"strict" must be one of: ["none" "best-effort" "restricted"'),
    ("--topology-manager-scope=node", '"node" must be one of: "container", or "pod"'),
    ("--cpu-manager-policy=dynamic", 'unknown policy: "dynamic"'),
    ("--qos-reserved=cpu=50%", 'cannot reserve "cpu" resource'),
    ("--qos-reserved=memory=120%", "percentage must be between 0 and 100"),
    ("--kube-reserved=example.com/gpu=1", 'cannot reserve "example.com/gpu" resource'),
    ("--system-reserved=memory=-1Gi", 'resource quantity for "memory" cannot be negative'),
    ("--eviction-hard=moon.phase<1", "unsupported eviction signal moon.phase"),
    ("--eviction-hard=memory.available<110%", "must be <= 100%"),
    ("--eviction-soft=memory.available<1Gi", "grace period must be specified for the soft eviction threshold"),
    ("--oom-score-adj=-1001", "oomScoreAdj (--oom-score-adj) -1001 must be between -1000 and 1000"),
    ("--max-pods=-1", "maxPods (--max-pods) -1 must not be a negative number"),
    ("--max-pods=many", 'invalid argument "many" for "--max-pods" flag'),
    ("--no-such-flag=1", "unknown flag: --no-such-flag"),
    ("--max-pods", "flag needs an argument: --max-pods"),
    ("--kube-reserved=cpu=lots", "quantities must match the regular expression"),
    ("memoryThrottlingFactor: 1.5", "must be greater than 0 and less than or equal to 1.0"),
    ("memorySwap: {swapBehavior: Much}", 'memorySwap.swapBehavior "Much" must be one of'),
    ("kind: Pod", "a KubeletConfiguration is expected"),
    ("maxPods: many", "maxPods: Invalid value: 'many'"),
]


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_what_the_kubelet_refuses_is_refused_in_its_words(source, message):
    with pytest.raises(SettingsError) as caught:
        KubeletSettings.read(source)
    assert message in str(caught.value)


def test_every_problem_is_listed_at_once():
    with pytest.raises(SettingsError) as caught:
        KubeletSettings.read("--max-pods=-1 --pods-per-core=-1")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(("text", "seconds"), [("1m30s", 90), ("100ms", 0.1), ("5m", 300), ("0", 0), (7, 7)])
def test_durations_are_gos(text, seconds):
    assert duration(text) == pytest.approx(seconds)

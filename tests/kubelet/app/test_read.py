"""The kubelet's settings: the same from flags and from a file, and what it refuses to start with."""

import pytest

from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.config.settings import KubeletSettings, SettingsError

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
    (
        "--cpu-cfs-quota-period=10ms --feature-gates=CustomCPUCFSQuotaPeriod=true",
        "cpuCFSQuotaPeriod: 10ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}",
    ),
    (
        "--cpu-manager-policy=static --cpu-manager-policy-options=full-pcpus-only=true",
        "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: 'true'}",
    ),
    (
        "--topology-manager-policy=restricted --topology-manager-policy-options=prefer-closest-numa-nodes=true "
        "--topology-manager-scope=pod",
        "topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"
        "topologyManagerScope: pod",
    ),
    ("--eviction-pressure-transition-period=30s", "evictionPressureTransitionPeriod: 30s"),
    ("--eviction-max-pod-grace-period=10", "evictionMaxPodGracePeriod: 10"),
    ("--fail-swap-on=false", "failSwapOn: false"),
    ("--cpu-manager-reconcile-period=5s", "cpuManagerReconcilePeriod: 5s"),
    ("--oom-score-adj=-900", "oomScoreAdj: -900"),
    (
        "--enforce-node-allocatable=pods,system-reserved --system-reserved-cgroup=/sys",
        "enforceNodeAllocatable: [pods, system-reserved]\nsystemReservedCgroup: /sys",
    ),
    ("--pod-max-pids=100", "podPidsLimit: 100"),
    ("--max-pods=20 --pods-per-core=2", "maxPods: 20\npodsPerCore: 2"),
    ("--feature-gates=MemoryQoS=true", "featureGates: {MemoryQoS: true}"),
    ("--system-cgroups=/sys.slice/system --cgroup-root=/", "systemCgroups: /sys.slice/system\ncgroupRoot: /"),
    ("--kubelet-cgroups=/kube.slice/kubelet", "kubeletCgroups: /kube.slice/kubelet"),
]


@pytest.mark.parametrize(("flags", "configuration"), SAME)
def test_a_flag_and_its_field_are_one_setting(flags, configuration):
    from_flags = read_settings(flags)
    assert from_flags != KubeletSettings()
    assert from_flags == read_settings("kind: KubeletConfiguration\n" + configuration)


def test_a_flag_wins_over_the_file(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("kind: KubeletConfiguration\nmaxPods: 10\nkubeReserved: {cpu: 1}\nport: 10250\n")
    settings = read_settings(["--config", str(file), "--max-pods=20"])
    assert (settings.max_pods, settings.kube_reserved, settings.extra) == (20, {"cpu": Quantity("1")}, {"port": 10250})


REFUSED = [
    ("--cgroups-per-qos=false", 'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in'),
    ("--enforce-node-allocatable=pods,pods", 'duplicated enforcements "pods" in enforceNodeAllocatable'),
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
    (
        "--reserved-cpus=first",
        '(--reserved-cpus) first, error: strconv.Atoi: parsing "first": invalid syntax',
    ),
    ("--reserved-cpus=5-3", '(--reserved-cpus) 5-3, error: invalid range "5-3" (5 > 3)'),
    (
        "--cpu-cfs-quota-period=10ms --feature-gates=CustomCPUCFSQuotaPeriod=false",
        "{10ms} requires feature gate CustomCPUCFSQuotaPeriod",
    ),
    (
        "--cpu-cfs-quota-period=2s --feature-gates=CustomCPUCFSQuotaPeriod=true",
        "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec",
    ),
    ("--cpu-manager-policy-options=full-pcpus-only=true", "None policy: received unsupported options=map[full-pcpus-"),
    (
        "--cpu-manager-policy=static --cpu-manager-policy-options=no-such=true",
        'unknown CPU Manager Policy option: "no-such"',
    ),
    (
        "--cpu-manager-policy=static --cpu-manager-policy-options=align-by-socket=true",
        'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
    ),
    (
        "--cpu-manager-policy=static --feature-gates=CPUManagerPolicyAlphaOptions=true "
        "--cpu-manager-policy-options=align-by-socket=true --topology-manager-policy=single-numa-node",
        "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option",
    ),
    (
        "--cpu-manager-policy=static --cpu-manager-policy-options="
        "prefer-align-cpus-by-uncorecache=true,distribute-cpus-across-numa=true",
        "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at",
    ),
    (
        "--topology-manager-policy=restricted --topology-manager-policy-options=max-allowable-numa-nodes=4",
        'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    ),
    (
        "--topology-manager-policy=restricted --topology-manager-policy-options=prefer-closest-numa-nodes=maybe",
        'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "maybe": invalid syntax',
    ),
    (
        "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]",
        'the limit type "cpu" for NUMA node 0 is not supported, only [memory',
    ),
    ("--reserved-memory=0:memory=0", 'reserved memory may not be zero for NUMA node 0 and resource "memory"'),
    ("--reserved-memory=0:memory=1Gi;0:memory=1Gi", "has a duplicate value for NUMA node 0 and resource"),
    ("crashLoopBackOff: {maxContainerRestartPeriod: 10m}", "(got: 600 seconds) must be set between 1s and 300s"),
    (
        "memoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: false}",
        'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
    ),
    ("memoryReservationPolicy: Some", 'option "Some" specified for memoryReservationPolicy. Valid options are "None"'),
    (
        "--eviction-soft=memory.available<1Gi --eviction-soft-grace-period=memory.available=5",
        'time: missing unit in duration "5"',
    ),
    ("--eviction-minimum-reclaim=memory.available=0%", "eviction percentage minimum reclaim memory.available must be"),
    (
        "--feature-gates=MemoryManager=false,NodeSwap=false",
        "cannot set feature gate MemoryManager to false, feature is locked to true",
    ),
    ("featureGates: {NodeSwap: false}", "cannot set feature gate NodeSwap to false, feature is locked to true"),
    ("--topology-manager-policy=strict", '"strict" must be one of: ["none" "best-effort" "restricted"'),
    ("--topology-manager-scope=node", '"node" must be one of: "container", or "pod"'),
    ("--cpu-manager-policy=dynamic", 'unknown policy: "dynamic"'),
    ("--qos-reserved=cpu=50%", '--qos-reserved value failed to parse: cannot reserve "cpu" resource'),
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
        read_settings(source)
    assert message in str(caught.value)


def test_every_problem_is_listed_at_once():
    with pytest.raises(SettingsError) as caught:
        read_settings("--max-pods=-1 --pods-per-core=-1")
    assert len(caught.value.problems) == 2


def test_a_real_command_line_can_be_pasted():
    settings = read_settings(
        "--kubeconfig=/etc/kubernetes/kubelet.conf --v 2 --register-node --max-pods=20 --rotate-server-certificates"
    )
    assert settings.max_pods == 20
    assert settings.extra == {
        "--kubeconfig": "/etc/kubernetes/kubelet.conf",
        "--v": "2",
        "--register-node": "true",
        "--rotate-server-certificates": "true",
    }


def test_without_enforcement_the_cgroups_may_be_left_out():
    settings = read_settings("--cgroups-per-qos=false --enforce-node-allocatable=none")
    assert not settings.cgroups_per_qos


def test_an_older_release_has_older_rules():
    source = "crashLoopBackOff: {maxContainerRestartPeriod: 1m}"
    assert read_settings(source).crash_loop_back_off_max == 60
    with pytest.raises(SettingsError, match="KubeletCrashLoopBackOffMax not enabled"):
        read_settings(source, release=Release("1.34"))

"""The CPU manager's static policy: document 003's log, and properties of every allocation."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kitlib.kubelet.cm.cpumanager.state import CPUManagerError, SMTAlignmentError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology
from kitlib.kubelet.config.machine import CPU
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus
from tests.kubelet.cm.cpumanager.machines import give, machine, pod

ALPHA = Release.latest().with_gates({"CPUManagerPolicyAlphaOptions": True})


def test_document_003_a_pod_of_sixteen_cpus_gets_a_whole_free_numa_node() -> None:
    topology = CPUTopology(
        CPU(t * 32 + core, core, core // 16, core // 8, core // 8) for t in (0, 1) for core in range(32)
    )
    first = pod("earlier", "12")
    policy = StaticPolicy(topology, 1, [0])
    policy.state.default -= parse_cpus("1-6,33-38")
    policy.state.assignments["earlier"] = {"c0": parse_cpus("1-6,33-38")}
    assert format_cpus(policy.state.default) == "0,7-32,39-63"
    assert policy.exclusive_cpus(first, first.spec.containers[0]) == 12
    assert give(policy, pod("pod-2", "16")) == ["8-15,40-47"]
    assert format_cpus(policy.state.default) == "0,7,16-32,39,48-63"


@pytest.mark.parametrize(
    ("options", "wanted", "expected"),
    [
        ({}, "2", "1,5"),
        ({}, "3", "1,4-5"),
        ({"full-pcpus-only": "true"}, "2", "1,5"),
        ({"distribute-cpus-across-cores": "true"}, "2", "1-2"),
        ({"strict-cpu-reservation": "true"}, "3", "1,4-5"),
    ],
)
def test_an_option_changes_which_cpus_are_taken(options: dict[str, str], wanted: str, expected: str) -> None:
    policy = StaticPolicy(machine(), 1, [0], options, release=ALPHA)
    assert give(policy, pod("p", wanted)) == [expected]
    assert (0 in policy.state.default) is ("strict-cpu-reservation" not in options)


def test_a_request_is_spread_evenly_over_numa_nodes_where_the_option_says_so() -> None:
    topology = machine(sockets=2, cores=4, threads=1)
    packed = StaticPolicy(topology, 0)
    spread = StaticPolicy(topology, 0, options={"distribute-cpus-across-numa": "true"})
    assert give(packed, pod("p", "6")) == ["0-5"]
    assert give(spread, pod("p", "6")) == ["0-2,4-6"]


def test_a_cache_that_can_hold_the_request_is_preferred_to_whole_cores_from_two() -> None:
    topology = machine(cores=8, threads=2, caches=2)
    options = {"prefer-align-cpus-by-uncorecache": "true"}
    plain, aligned = StaticPolicy(topology, 2), StaticPolicy(topology, 2, options=options)
    for policy in (plain, aligned):
        assert format_cpus(policy.reserved) == "0,8"
    assert give(plain, pod("p", "8")) == ["1-4,9-12"]
    assert give(aligned, pod("p", "8")) == ["4-7,12-15"]


def test_only_whole_cpus_of_guaranteed_pods_are_exclusive() -> None:
    policy = StaticPolicy(machine(), 1)
    burstable = pod("b", "2")
    del burstable.spec.containers[0].resources.limits["memory"]
    burstable.spec.containers[0].resources.requests.pop("memory")
    assert give(policy, pod("half", "1500m")) == [""]
    assert give(policy, burstable) == [""]
    assert give(policy, pod("mixed", "1", "500m")) == ["4", ""]


def test_init_containers_leave_their_cpus_to_the_next_sidecars_keep_them() -> None:
    policy = StaticPolicy(machine(), 0)
    init, main = give(policy, pod("p", "2", init=("4",)))
    assert parse_cpus(main) < parse_cpus(init)
    policy = StaticPolicy(machine(), 0)
    sidecar, main = give(policy, pod("p", "2", init=("4",), always=True))
    assert not parse_cpus(main) & parse_cpus(sidecar)


def test_a_refused_request_changes_nothing() -> None:
    policy = StaticPolicy(machine(), 1, options={"full-pcpus-only": "true"})
    before = policy.state.default
    with pytest.raises(SMTAlignmentError, match="requested 3 cpus not multiple cpus per core = 2"):
        give(policy, pod("odd", "3"))
    with pytest.raises(SMTAlignmentError, match="available physical CPUs = 6, requested CPUs = 8"):
        give(policy, pod("big", "8"))
    with pytest.raises(CPUManagerError, match="requested=8, available=7"):
        give(StaticPolicy(machine(), 1), pod("big", "8"))
    assert policy.state.default == before and not policy.state.assignments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"full-pcpus-only": "maybe"}, "strconv.ParseBool"),
        ({"align-by-socket": "true"}, "number of sockets are more than number of NUMA"),
        (
            {"prefer-align-cpus-by-uncorecache": "true", "distribute-cpus-across-cores": "true"},
            "can not be used at the same time",
        ),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, str], message: str) -> None:
    sockets = CPUTopology(CPU(i, i, i // 2, 0, 0) for i in range(4))
    with pytest.raises(CPUManagerError, match=message):
        StaticPolicy(sockets, 0, options=options, release=ALPHA)


@settings(max_examples=60)
@given(
    st.sampled_from([(1, 1, 4, 2), (2, 1, 4, 2), (2, 2, 3, 2), (2, 4, 2, 1)]),
    st.sampled_from([{}, {"full-pcpus-only": "true"}, {"distribute-cpus-across-numa": "true"}]),
    st.lists(st.tuples(st.booleans(), st.integers(1, 6)), max_size=12),
)
def test_sets_are_disjoint_never_reserved_and_all_cpus_are_somewhere(
    shape: tuple[int, int, int, int], options: dict[str, str], steps: list[tuple[bool, int]]
) -> None:
    topology = machine(*shape)
    policy = StaticPolicy(topology, 2, options=options)
    for number, (comes, count) in enumerate(steps):
        if comes:
            with contextlib.suppress(CPUManagerError):
                give(policy, pod(f"p{number}", str(count)))
        elif policy.state.assignments:
            policy.remove(next(iter(policy.state.assignments)), "c0")
        sets = [cpus for containers in policy.state.assignments.values() for cpus in containers.values()]
        held = frozenset().union(*sets)
        assert sum(map(len, sets)) == len(held)
        assert not held & policy.reserved
        assert held | policy.state.default == topology.ids
        assert not held & policy.state.default
        for uid, containers in policy.state.assignments.items():
            assert all(len(cpus) > 0 for cpus in containers.values()), uid
    for uid in list(policy.state.assignments):
        policy.remove(uid, "c0")
    assert policy.state.default == topology.ids


def test_hints_name_every_set_of_nodes_and_prefer_the_smallest() -> None:
    policy = StaticPolicy(machine(sockets=2, cores=2, threads=2), 1)
    small, large = pod("s", "2"), pod("l", "6")
    assert [str(h) for h in policy.hints(small, small.spec.containers[0]) or ()] == [
        "[0] true",
        "[1] true",
        "[0 1] false",
    ]
    assert [str(h) for h in policy.hints(large, large.spec.containers[0]) or ()] == ["[0 1] true"]
    shared = pod("b", "500m")
    assert policy.hints(shared, shared.spec.containers[0]) is None


def test_a_pod_with_resources_of_its_own_is_given_its_processors_once() -> None:
    """Source: staticPolicy.AllocatePod: a pod that is in the state already keeps what it has."""
    gates = {"PodLevelResourceManagers": True, "PodLevelResources": True}
    policy = StaticPolicy(machine(), 1, [0], release=Release("1.36").with_gates(gates))
    made = pod("p", "1", "1")
    made.spec.resources = deepcopy(made.spec.containers[0].resources)
    for amounts in (made.spec.resources.requests, made.spec.resources.limits):
        amounts["cpu"], amounts["memory"] = Quantity.parse("3"), Quantity.parse("256Mi")
    policy.allocate_pod(made)
    given, left = policy.state.pods["p"], policy.state.default
    assert len(given) == 3 and not given & left and len(left) == 5
    assert {name: len(cpus) for name, cpus in policy.state.assignments["p"].items()} == {"c0": 1, "c1": 1}
    policy.allocate_pod(made)
    assert (policy.state.pods["p"], policy.state.default) == (given, left)
    for name in ("c0", "c1"):
        policy.remove("p", name)
    assert policy.state.default == given | left and not policy.state.pods


@pytest.mark.parametrize(
    ("gate", "level", "own", "expected"),
    [
        (True, True, {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}, 2),
        (False, True, {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}, 0),
        (True, True, {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "3", "memory": "1Gi"}}, 0),
        (True, True, {}, 0),
        (False, False, {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}, 2),
        (False, False, {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "1500m", "memory": "1Gi"}}, 0),
        (False, False, {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}, 0),
    ],
    ids=["a container of its own amounts", "without the gate", "limits above", "none", "of containers", "a fraction",
         "no memory"],
)  # fmt: skip
def test_which_containers_have_exclusive_processors(gate: bool, level: bool, own: Any, expected: int) -> None:
    """Source: staticPolicy.guaranteedCPUs; KEP-5526."""
    release = Release.latest().with_gates({"PodLevelResourceManagers": gate})
    whole = {"requests": {"cpu": "4", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "4Gi"}} if level else None
    spec = {"containers": [{"name": "c", "resources": own}], **({"resources": whole} if whole else {})}
    made = from_dict({"metadata": {"name": "p", "uid": "p"}, "spec": spec}, Pod)
    assert StaticPolicy(machine(), 0, release=release).exclusive_cpus(made, made.spec.containers[0]) == expected


def test_a_container_that_has_its_processors_keeps_their_nodes() -> None:
    """Source: staticPolicy.GetTopologyHints, after a restart of the kubelet."""
    policy = StaticPolicy(machine(sockets=2, cores=2, threads=1), 0)
    made = pod("p", "2")
    container = made.spec.containers[0]
    free = policy.hints(made, container)
    assert free is not None
    assert {(tuple(sorted(one.nodes or ())), one.preferred) for one in free} == {
        ((0,), True), ((1,), True), ((0, 1), False),
    }  # fmt: skip
    assert policy.allocate(made, container) == {0, 1}
    kept = policy.hints(made, container)
    assert kept is not None
    assert {tuple(sorted(one.nodes or ())) for one in kept} == {(0,), (0, 1)}
    policy.state.assignments["p"]["c0"] = frozenset({0})
    assert policy.hints(made, container) == []
    assert policy.hints(pod("q", "500m"), pod("q", "500m").spec.containers[0]) is None

"""Threads use a cluster one at a time: Python and the clients of its API work beside each other."""

from __future__ import annotations

import inspect
import threading
import time

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.exclusive import exclusive

WAITS = {"advance", "delete", "replay", "step", "wait"}
"""They wait on real nodes, so they hold the lock step by step only."""
READS = {"closed", "fidelity", "now", "options", "scheduler", "waits_for_deleted"}
ENDS = {"close", "serve"}
ASKS = {"add_nodes", "apply_located", "decision", "evict", "explain", "let_time_pass", "node", "patch", "record_event"}
ASKS |= {"bind", "patch_status", "refresh", "resize", "runs_kubelet", "settle", "snapshot"}
"""Of the control plane in a container: each request holds the lock by itself."""
CODE = exclusive(lambda self: None).__code__


def is_exclusive(method: object) -> bool:
    return getattr(method, "__code__", None) is CODE


@pytest.mark.parametrize("kind", [SimulatedCluster, DockerCluster, ContainerControlPlaneClient])
def test_every_operation_of_a_cluster_is_exclusive_but_those_that_wait(kind: type) -> None:
    public = {name: value for name, value in inspect.getmembers(kind) if not name.startswith("_")}
    free = {name for name, value in public.items() if not is_exclusive(value) and name not in WAITS | READS | ENDS}
    if kind is ContainerControlPlaneClient:
        free -= ASKS
    assert {one for one in free if inspect.isfunction(public[one]) and one != "let_time_pass"} == set()


def test_a_method_that_holds_the_lock_may_call_another_and_keeps_others_out() -> None:
    class Counter:
        def __init__(self) -> None:
            self.lock, self.inside, self.most = threading.RLock(), 0, 0

        @exclusive
        def twice(self) -> int:
            """Its own words."""
            return self.once() + self.once()

        @exclusive
        def once(self) -> int:
            self.inside += 1
            self.most = max(self.most, self.inside)
            time.sleep(0.001)
            self.inside -= 1
            return 1

    one = Counter()
    threads = [threading.Thread(target=one.twice) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (one.twice(), one.most, Counter.twice.__doc__) == (2, 1, "Its own words.")


def test_threads_that_apply_delete_and_advance_at_the_same_time_leave_a_whole_cluster() -> None:
    cluster = Cluster.simulated(2)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(4):
                name = f"p-{number}-{turn}"
                pod = {"containers": [{"name": "c", "image": "x", "command": ["sleep", "60"]}]}
                cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod})
                cluster.advance(1)
                if turn % 2:
                    cluster.delete("Pod", name)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cluster.advance(60)
    assert failed == []
    assert sorted(pod.name for pod in cluster.pods()) == [f"p-{n}-{turn}" for n in range(4) for turn in (0, 2)]
    assert {pod.status.phase for pod in cluster.pods()} == {"Running"}
    assert cluster.clock.seconds == 4 * 4 + 60

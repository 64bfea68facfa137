"""A real node reports the origin of its values, the refusals of its host, and a host that is busy with other work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.advisor.oom_orders import oom_orders
from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.host_load import HostMeter
from kitlib.cluster.nodes.metrics import oom_rows
from kitlib.cluster.nodes.origin import origin_of
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.lab import Lesson, oom_scores
from kitlib.lab.progress import Progress
from tests.engine.helpers import needed, pod

LOOP = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    needed()
    with Cluster.docker(1, cpus=1, memory="512Mi", huge_pages={"2Mi": 8}) as made:
        yield made


def test_the_origin_names_node_version_and_kernel(cluster: Any) -> None:
    node = cluster.node()
    origin = node.origin
    assert origin.real and origin == origin_of(cluster)
    assert str(origin).startswith(
        f"Values: real node node-1, cgroup v{node.cgroupfs.version}, Linux {os.uname().release}."
    )


def test_every_missing_file_and_every_other_score_has_the_hosts_reason(cluster: Any) -> None:
    """The refusals are a Guaranteed pod's -997 and the files of huge pages, on any host."""
    sure = from_dict(pod(name="sure", limits={"cpu": "100m", "memory": "64Mi"}), Pod)
    cluster.apply(sure)
    cluster.wait(lambda c: c.pod("sure").status.phase == "Running")
    node = cluster.node()
    observed = node.tree()
    for difference in node.differences():
        assert difference.right is None, difference
        assert observed[difference.path].refused[difference.file]
    (row,) = oom_scores(cluster)
    made = cluster.pod("sure")
    assert row["desired"] == get_container_oom_score_adjust(made, made.spec.containers[0], 512 * 2**20) == -997
    assert (row["observed"] != -997) == bool(row.get("refused"))
    orders = oom_orders(oom_rows(node))
    assert bool(orders.refused) == bool(node.origin.reason("oom_score_adj"))
    cluster.delete("Pod", "sure", grace=0)


def test_work_of_others_is_noticed_and_is_not_the_nodes_own(cluster: Any) -> None:
    node = cluster.node()
    (processor,) = node.facts["cpus"]
    meter = HostMeter([node])
    before = node.host_time()
    with subprocess.Popen(
        [sys.executable, "-c", LOOP], preexec_fn=lambda: os.sched_setaffinity(0, {processor})
    ) as other:
        try:
            cluster.advance(2)
            load = meter.load()
        finally:
            other.kill()
    after = node.host_time()
    assert load is not None and load.busy and load.sentence.startswith("The host was busy: other processes used ")
    assert after.own - before.own < 0.5 * (after.at - before.at)  # no pod works on the node


def test_the_nodes_own_work_is_counted_as_its_own(cluster: Any) -> None:
    cluster.apply(pod(name="busy", workload="cpu=1"))
    cluster.wait(lambda c: c.pod("busy").status.phase == "Running")
    node = cluster.node()
    before = node.host_time()
    cluster.wait(lambda _: node.host_time().own - before.own > 0.5)
    after = node.host_time()
    busy = sum(after.busy[cpu] - before.busy[cpu] for cpu in after.busy)
    assert busy >= 0.8 * (after.own - before.own)
    cluster.delete("Pod", "busy", grace=0)


def test_a_lesson_on_real_nodes_says_what_was_real(tmp_path: Any) -> None:
    lesson = Lesson("test", "docker", progress=Progress(tmp_path))
    made = lesson.cluster([{"name": "n", "cpus": 1, "memory": "256Mi"}])
    made.apply(pod(name="one"))
    made.wait(lambda c: c.pod("one").status.phase == "Running")
    read = made.node().cgroupfs.files_read
    made.node().tree()
    assert made.node().cgroupfs.files_read > read
    assert str(lesson.done()).splitlines()[-1].startswith("real: 1 pod, ")
    refused = made.node().origin.refused
    assert (refused in lesson._repr_html_()) if refused else ("Refused" not in lesson._repr_html_())
    lesson.close()

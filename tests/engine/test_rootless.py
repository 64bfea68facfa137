"""An engine without root: on cgroup v2 nodes start with what was delegated, on v1 the cause is said at once.

Source: KEP-2033; kernel admin-guide/cgroup-v2.rst "Delegation", fs/proc/base.c __set_oom_adj.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.apiserver.http import serve
from kitlib.cli import main
from kitlib.cluster import Cluster, engine_answers
from kitlib.kubelet.cm.cgroup_tree import controller_of
from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client
from tests.engine.escapes import refused
from tests.engine.helpers import SLOW, pod, state
from tests.engine.kubectl_walk import drain, walk
from tests.engine.own_engine import give_image
from tests.engine.rootless_engine import DELEGATED, MOUNT, RootlessEngine, rootless_engine
from tests.engine.test_files import WORKED

V2 = (MOUNT / "cgroup.controllers").exists()
THERE = [one for one in DELEGATED if one in (MOUNT / "cgroup.controllers").read_text().split()] if V2 else []
"""What this machine's kernel can delegate: User Mode Linux has no cpuset."""
MORE = "more controllers come with more delegation"
NO_CPUSET = "no cpuset controller here: no pod is kept to its CPUs"


@pytest.fixture(scope="module")
def there(engine: str) -> Iterator[RootlessEngine]:
    yield from rootless_engine()


def doctor(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """Its findings by subject."""
    capsys.readouterr()
    assert main(["doctor", "--json"]) == 0
    return {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}


def test_what_is_not_granted_is_said_and_everything_else_holds(
    there: RootlessEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there.start(*THERE)
    monkeypatch.setenv("DOCKER_HOST", there.url)
    if V2:
        monkeypatch.delenv("DOCKER_HOST")
        give_image(there)
        monkeypatch.setenv("DOCKER_HOST", there.url)
        nobody_starts_in_the_engines_own_cgroup(there)
        monkeypatch.setenv("KITLIB_CGROUP_PARENT", there.parent)
        nodes_do_what_is_granted(there, capsys)
        there.stop()
        there.start(*(one for one in THERE if one not in ("cpuset", "io")))
        nodes_do_without_a_controller(there)
    else:
        on_cgroup_v1_no_node_starts(there, capsys)


def on_cgroup_v1_no_node_starts(there: RootlessEngine, capsys: pytest.CaptureFixture[str]) -> None:
    before, client = there.standing(), there.client()
    for where in ("container", "process"):
        began = time.monotonic()
        with pytest.raises(KitError, match=r"runs without root.*only root may own cgroups.*cgroup v2.*simulated"):
            Cluster.docker(2, cpus=1, memory="128Mi", control_plane=where)
        assert time.monotonic() - began < 10 * SLOW
    assert client.images.list() == []  # none was built in vain
    client.close()
    answers, why = engine_answers()
    assert not answers
    assert "only root may own cgroups" in why
    found = doctor(capsys)
    assert "only root may own cgroups" in found["container engine"]["advice"]
    assert found["a real node"]["state"] == "missing"
    assert "real nodes" not in found["works here"]["found"]
    assert there.gone(5) == before == []


def nobody_starts_in_the_engines_own_cgroup(there: RootlessEngine) -> None:
    """Podman without systemd leaves a container where it stands itself."""
    with pytest.raises(KitError, match=r"engine run in this node's cgroup.*KITLIB_CGROUP_PARENT"):
        Cluster.docker(1, cpus=1, memory="128Mi", control_plane="process")
    assert there.gone(5) == []
    assert [p.name for p in (MOUNT / there.name).rglob("*") if p.is_dir()] == ["user", "service"]


def nodes_do_what_is_granted(there: RootlessEngine, capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster.docker(1, cpus=1, memory="512Mi", control_plane="process") as cluster:
        node = cluster.node()
        lowest = node.facts["lowest_score"]
        assert lowest >= 0
        missing = [sentence for sentence in node.fidelity if sentence.startswith((NO_CPUSET, MORE))]
        assert len(missing) == (0 if "cpuset" in THERE else 2)
        assert [sentence for sentence in node.fidelity if sentence not in missing] == [
            f"oom_score_adj below {lowest} is refused here (the engine runs without root)",
            f"a pod's process may lower its own oom_score_adj to {lowest} here, which Kubernetes refuses "
            "(the engine runs without root)",
        ]
        for name, (requests, limits) in WORKED.items():
            cluster.apply(pod(name=name, requests=requests, limits=limits))
        assert [str(d) for d in node.differences() if controller_of(d.file) in THERE] == []
        assert sum(c.kind == "container" for c in node.tree().values()) == 3
        assert node.refused_scores()[("default", "guaranteed", "c")] == -997
        scores = {name: int(node.proc(name)["oom_score_adj"]) for name in WORKED}
        assert scores["guaranteed"] == lowest
        assert lowest < scores["burstable"] < scores["besteffort"] == 1000
        cluster.apply(pod(name="eater", workload="1s memory=8Mi; memory=200Mi", limits={"memory": "48Mi"}))
        cluster.wait(lambda c: state(c, "eater")[2] >= 1, 30)
        ended = cluster.pod("eater").status.container_statuses[0].last_state["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
        assert state(cluster, "guaranteed") == ("Running", "running", 0)
        for name in (*WORKED, "eater"):
            cluster.delete("Pod", name, grace=0)
        kubectl_does_its_work(cluster, there.home)
        for user in (1000, 65534):
            assert sum(refused(cluster, user).values()) >= 200
    assert there.gone(5) == []
    found = doctor(capsys)
    assert "runs without root" in found["container engine"]["advice"]
    assert "CPU shares" not in found["container engine"]["advice"], "Podman looks for files of cgroup v1 there"
    assert found["root of a node"]["state"] == "ok"
    assert (found["a real node"]["state"], found["a real node"]["found"]) == ("limited", "starts, with a pod")
    assert "oom_score_adj" in found["a real node"]["advice"]
    assert "real nodes" in found["works here"]["found"]
    assert there.gone(5) == []


def kubectl_does_its_work(cluster: Any, folder: Path) -> None:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    with serve(cluster, kubeconfig_path=folder / "config"):
        kubectl = Client(folder, programs)
        walk(kubectl)
        drain(kubectl, "node-1")


def nodes_do_without_a_controller(there: RootlessEngine) -> None:
    with Cluster.docker(1, cpus=1, memory="512Mi", control_plane="process") as cluster:
        node = cluster.node()
        own = cluster._provisioner._held.all[0].id
        told = " / ".join(node.fidelity)
        assert NO_CPUSET in told
        assert "Delegate=cpu cpuset io memory pids" in told
        cluster.apply(pod(name="a", limits={"cpu": "200m", "memory": "48Mi"}))
        assert state(cluster, "a") == ("Running", "running", 0)
        differences = node.differences()
        assert {controller_of(d.file) for d in differences} <= {"cpuset"}
        assert all(d.right is None for d in differences)
        path = next(c.path for c in node.desired().of_kind("container"))
        assert node.read(path, "memory.max") == str(48 * 2**20)
        assert node.read(path, "cpu.max") == "20000 100000"
        with pytest.raises(KitError, match=r"cpuset\.cpus"):
            node.write(path, "cpuset.cpus", "0")
    # the first try, with CPUs of its own, was refused: crun leaves that container's cgroup, empty
    left = there.gone(1)
    assert [one for one in left if not one.startswith("cgroup ") or own in one] == []
    assert all((Path(one.removeprefix("cgroup ")) / "cgroup.procs").read_text() == "" for one in left)

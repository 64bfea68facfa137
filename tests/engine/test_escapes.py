"""Out of a pod: more than 200 ways, tried by two users in a pod of a real node; each is refused, by whom is printed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.nodes.container import ContainerNode

PROBES = (Path(__file__).parent / "probes.py").read_text()
REFUSED_BY = {
    "EPERM": "system call filter, or no capability",
    "ENOSYS": "system call filter (it does not exist)",
    "EACCES": "permissions: nobody is root",
    "EROFS": "read-only mount",
    "ENOENT": "not there in a pod",
    "ENODATA": "masked path",
    "ENOTDIR": "not there in a pod",
    "ENXIO": "no such device",
    "EISDIR": "read-only mount",
    "EXDEV": "another file system",
    "ESRCH": "a process namespace of its own",
    "EINVAL": "the kernel: nothing to write there",
    "EAFNOSUPPORT": "the kernel has no such family",
}

GRANTS_NOTHING = {
    "write into /proc/self/loginuid": "a process may give itself an audit id once; it is a label in the audit log",
}

LOWER = "a lower oom_score_adj"


def grants_nothing(node: ContainerNode) -> set[str]:
    """The probes that may work on a node, because nothing is reached with them.

    The kernel keeps a process from lowering its oom_score_adj below what a process with CAP_SYS_RESOURCE set last
    (fs/proc/base.c __set_oom_adj). A host without that capability has only its engine's own score to hold on to.
    """
    without = any("may lower its own" in sentence for sentence in node.fidelity)
    return GRANTS_NOTHING.keys() | ({LOWER} if without else set())


@pytest.mark.parametrize("user", [1000, 65534])
def test_every_way_out_of_a_pod_is_refused(
    shared: DockerCluster, user: int, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"probe-{user}"
    container: dict[str, Any] = {"name": "c", "image": "x", "command": ["python3", "-c", PROBES]}
    spec = {"restartPolicy": "Never", "securityContext": {"runAsUser": user}, "containers": [container]}
    shared.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    shared.wait(lambda c: c.pod(name).status.phase in ("Succeeded", "Failed"), 60)
    found = json.loads(shared.node().logs(name).splitlines()[-1])
    outcomes: dict[str, str] = found["probes"]
    assert len(outcomes) >= 200
    assert LOWER in outcomes
    closed = outcomes.keys() - grants_nothing(shared.node())
    unknown = {probe: outcomes[probe] for probe in closed if outcomes[probe] not in REFUSED_BY}
    assert unknown == {}, "nothing of this may work"
    status = found["status"]
    assert status["Uid"].split() == [str(user)] * 4 and status["Groups"] == ""
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Bnd", "Eff", "Prm", "Inh", "Amb")} == {0}
    with capsys.disabled():
        counted = Counter(REFUSED_BY.get(outcome, "works, and grants nothing") for outcome in outcomes.values())
        print(f"\n{len(outcomes)} probes as user {user}: {dict(counted)}")
    shared.delete("Pod", name, grace=0)


def test_what_a_pod_asks_for_in_vain_is_said_in_an_event(shared: DockerCluster) -> None:
    container = {"name": "c", "image": "x", "securityContext": {"privileged": True}}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asks"}, "spec": {"containers": [container]}}
    shared.apply(manifest)
    shared.wait(lambda c: any("privileged: true is not granted" in e.message for e in c.events("asks")), 20)
    shared.delete("Pod", "asks", grace=0)

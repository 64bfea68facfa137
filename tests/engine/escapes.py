"""Tries more than 200 ways out of a pod on a node; each must be refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

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

LABELS = {"write into /proc/self/attr/current", "write into /proc/self/attr/exec"}
NO_POLICY = "kernel"
"""The label of every process while SELinux has no policy: labels mean nothing then, and any is accepted."""
LOWER = "a lower oom_score_adj"


def grants_nothing(node: ContainerNode, label: str) -> set[str]:
    """The probes that may work on a node, because nothing is reached with them.

    The kernel keeps a process from lowering its oom_score_adj below what a process with CAP_SYS_RESOURCE set last
    (fs/proc/base.c __set_oom_adj). A host without that capability has only its engine's own score to hold on to.
    """
    without = any("may lower its own" in sentence for sentence in node.fidelity)
    return GRANTS_NOTHING.keys() | ({LOWER} if without else set()) | (LABELS if label == NO_POLICY else set())


def refused(cluster: DockerCluster, user: int) -> dict[str, int]:
    """Run all probes in a pod as a user, and assert that nothing gave way.

    Returns:
        What refused -> how many probes.
    """
    name = f"probe-{user}"
    container: dict[str, Any] = {"name": "c", "image": "x", "command": ["python3", "-c", PROBES]}
    spec = {"restartPolicy": "Never", "securityContext": {"runAsUser": user}, "containers": [container]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    cluster.wait(lambda c: c.pod(name).status.phase in ("Succeeded", "Failed"), 60)
    found = json.loads(cluster.node().logs(name).splitlines()[-1])
    outcomes: dict[str, str] = found["probes"]
    assert len(outcomes) >= 200
    assert outcomes.keys() >= LABELS | {LOWER}
    closed = outcomes.keys() - grants_nothing(cluster.node(), found["label"])
    unknown = {probe: outcomes[probe] for probe in closed if outcomes[probe] not in REFUSED_BY}
    assert unknown == {}, "nothing of this may work"
    status = found["status"]
    assert status["Uid"].split() == [str(user)] * 4 and status["Groups"] == ""
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Bnd", "Eff", "Prm", "Inh", "Amb")} == {0}
    cluster.delete("Pod", name, grace=0)
    return Counter(REFUSED_BY.get(outcome, "works, and grants nothing") for outcome in outcomes.values())

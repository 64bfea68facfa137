"""The system calls of pods: what escapes are made of is not among them; what is not granted is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.node.real import not_granted, oci, seccomp

CLOSED = [
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module",
    "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module",
    "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load",
    "kexec_load", "keyctl", "lookup_dcookie", "mount", "mount_setattr", "move_mount", "move_pages",
    "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "process_vm_readv",
    "process_vm_writev", "quotactl", "reboot", "request_key", "set_mempolicy", "setdomainname", "sethostname",
    "setns", "settimeofday", "swapoff", "swapon", "syslog", "umount2", "unshare", "userfaultfd", "uselib",
    "vhangup", "vm86",
]  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_calls_that_reach_beyond_a_pod_are_not_allowed(name: str) -> None:
    listed = {one for rule in seccomp.profile()["syscalls"] for one in rule["names"] if "ALLOW" in rule["action"]}
    assert name not in listed


def test_no_namespace_can_be_made_and_no_vsock_opened() -> None:
    rules: dict[str, Any] = {rule["names"][0]: rule for rule in seccomp.profile()["syscalls"][1:]}
    assert rules["clone"]["args"] == [{"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
    assert (rules["clone3"]["action"], rules["clone3"]["errnoRet"]) == ("SCMP_ACT_ERRNO", 38)
    assert rules["socket"]["args"][0] == {"index": 0, "value": 40, "valueTwo": 0, "op": "SCMP_CMP_NE"}
    assert "clone" not in seccomp.ALLOWED and "socket" not in seccomp.ALLOWED and "clone3" not in seccomp.ALLOWED


def test_every_container_gets_the_list() -> None:
    made = oci.bundle(
        root="/r",
        arguments=["true"],
        cgroup="/x",
        files=[],
        version=2,
        oom_score_adj=0,
        hostname="h",
        environment={},
    )
    assert made["linux"]["seccomp"]["defaultAction"] == "SCMP_ACT_ERRNO"
    json.dumps(made)


ASKED = {
    "hostPID": ({"hostPID": True}, {}, "spec.hostPID: true"),
    "hostIPC": ({"hostIPC": True}, {}, "spec.hostIPC: true"),
    "a user namespace": ({"hostUsers": False}, {}, "spec.hostUsers: false"),
    "sysctls": ({"securityContext": {"sysctls": [{"name": "a.b", "value": "1"}]}}, {}, "sysctls (a.b)"),
    "privileged": ({}, {"privileged": True}, "spec.containers[0].securityContext.privileged: true"),
    "capabilities": ({}, {"capabilities": {"add": ["SYS_ADMIN"]}}, "capabilities.add (SYS_ADMIN)"),
    "procMount": ({}, {"procMount": "Unmasked"}, "procMount: Unmasked"),
    "seccomp": ({}, {"seccompProfile": {"type": "Unconfined"}}, "seccompProfile: Unconfined"),
    "nothing": ({}, {"capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}, ""),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_not_granted_is_said(name: str) -> None:
    spec, context, words = ASKED[name]
    container = {"name": "c", "image": "x", "securityContext": context}
    pod = from_dict({"metadata": {"name": "p"}, "spec": {**spec, "containers": [container]}}, Pod)
    said = not_granted.sentences(pod, pod.spec.containers[0])
    assert [words in one for one in said] == ([True] if words else []), said

"""Sysctls that a pod may set: safe ones of its own namespaces, and those that the node allows."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.sysctls import forbidden_sysctl


def pod(name: str, **spec: Any) -> Pod:
    sysctls = {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}}
    made: Pod = from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**sysctls, **spec}})
    return made


@pytest.mark.parametrize(
    ("name", "unsafe", "release", "reason"),
    [
        ("net.ipv4.tcp_syncookies", [], "1.23", ""),
        ("net/ipv4/tcp_syncookies", [], "1.23", ""),
        ("net.ipv4.tcp_rmem", [], "1.31", 'forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted'),
        ("net.ipv4.tcp_rmem", [], "1.32", ""),
        ("net.core.somaxconn", [], "1.36", 'forbidden sysctl: "net.core.somaxconn" not allowlisted'),
        ("net.core.somaxconn", ["net.core.*"], "1.36", ""),
        ("net.core.somaxconn", ["net.core.somaxcon"], "1.36", 'forbidden sysctl: "net.core.somaxconn" not allowlisted'),
        ("kernel.msgmax", ["kernel.msg*"], "1.36", ""),
    ],
)
def test_a_sysctl_is_safe_in_a_release_or_allowed_by_the_node(
    name: str, unsafe: list[str], release: str, reason: str
) -> None:
    assert forbidden_sysctl(pod(name), unsafe, Release(release)) == reason


@pytest.mark.parametrize(
    ("name", "spec", "namespace"),
    [
        ("kernel.shm_rmid_forced", {"hostIPC": True}, "IPC"),
        ("kernel.shm_rmid_forced", {"hostNetwork": True}, ""),
        ("net.ipv4.tcp_syncookies", {"hostNetwork": True}, "Net"),
        ("net.ipv4.tcp_syncookies", {"hostIPC": True}, ""),
    ],
)
def test_a_sysctl_of_a_namespace_that_is_the_hosts_is_refused(name: str, spec: dict[str, bool], namespace: str) -> None:
    reason = f'forbidden sysctl: "{name}" not allowed with host {namespace} enabled' if namespace else ""
    assert forbidden_sysctl(pod(name, **spec), [], Release("1.36")) == reason

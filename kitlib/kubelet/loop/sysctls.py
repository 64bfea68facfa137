"""The sysctls that a pod may set: those that are known to concern its own namespaces only, and to be safe there.

Source: kubelet sysctl (safe_sysctls.go, allowlist.go); component-helpers node/util/sysctl GetNamespace.
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.core import Pod
from kitlib.api.release import Release

FORBIDDEN = "SysctlForbidden"
SAFE: tuple[tuple[str, int], ...] = (
    # name, minor version from which it is safe; the kernels that the later ones need (at most 4.15) are older than ours
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
)
_NAMESPACES = {"kernel.sem": "IPC", "kernel.shm": "IPC", "kernel.msg": "IPC", "fs.mqueue.": "IPC", "net.": "Net"}
"""Prefix of a name -> the namespace that it concerns, in the kubelet's word."""


def forbidden_sysctl(pod: Pod, unsafe: Sequence[str], release: Release) -> str:
    """Return the reason why a pod's first bad sysctl is refused; "" = no bad sysctl. Source: patternAllowlist.Admit.

    Args:
        pod: the pod, with `securityContext.sysctls`.
        unsafe: the sysctls that the node's administrator allows besides the safe ones; a pattern ends in `*`.
        release: the release, which determines the safe sysctls.
    """
    context = pod.spec.security_context
    safe = [name for name, since in SAFE if since <= release.minor]
    for sysctl in context.sysctls if context is not None else ():
        name = _normalized(sysctl.name)
        if not any(name.startswith(p[:-1]) if p.endswith("*") else name == p for p in (*safe, *unsafe)):
            return f'forbidden sysctl: "{name}" not allowlisted'
        namespace = next((found for prefix, found in _NAMESPACES.items() if name.startswith(prefix)), "")
        if (namespace == "IPC" and pod.spec.host_ipc) or (namespace == "Net" and pod.spec.host_network):
            return f'forbidden sysctl: "{name}" not allowed with host {namespace} enabled'
    return ""


def _normalized(name: str) -> str:
    """Return the name with dots: `net.ipv4.x` for `net/ipv4/x`; inner dots belong to a name. Source: NormalizeName."""
    first = next((c for c in name if c in "./"), ".")
    return name if first == "." else name.translate(str.maketrans("./", "/."))

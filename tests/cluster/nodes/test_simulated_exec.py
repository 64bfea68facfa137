"""What one finds in a simulated container: its own cgroup files, and a shell that does not pretend to more."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.simulated_exec import ContainerShell

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: c
    image: x:1
    env: [{name: COLOUR, value: blue}]
    resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}
"""


@pytest.fixture(params=[1, 2])
def shell(request: pytest.FixtureRequest) -> Any:
    with Cluster.simulated([{"name": "n", "cpus": 4}], cgroup_version=request.param) as cluster:
        cluster.apply(POD)
        yield ContainerShell(cluster.node("n"), "default", "web", "c")


def test_mount_tells_the_version_of_the_cgroups(shell: Any) -> None:
    second, first = shell.run(["mount", "-t", "cgroup2"]).stdout, shell.run(["mount", "-t", "cgroup"]).stdout
    if "cpu.max" in shell.run(["ls", "/sys/fs/cgroup"]).stdout:
        assert (second.partition(" (")[0], first) == ("cgroup on /sys/fs/cgroup type cgroup2", "")
    else:
        assert second == "" and "cgroup on /sys/fs/cgroup/cpu type cgroup (" in first
    assert shell.run(["mount"]).stdout.startswith("overlay on / type overlay (rw,relatime)\n")


def test_the_cgroup_is_the_containers_own(shell: Any) -> None:
    path = "cpu.max" if "cpu.max" in shell.run(["ls", "/sys/fs/cgroup"]).stdout else "cpu/cpu.cfs_quota_us"
    wanted = "50000 100000\n" if path == "cpu.max" else "50000\n"
    assert shell.run(["cat", f"/sys/fs/cgroup/{path}"]) == (wanted, "", 0)
    memory = "memory.max" if path == "cpu.max" else "memory/memory.limit_in_bytes"
    assert shell.run(["cat", f"/sys/fs/cgroup/{memory}"]).stdout == f"{128 * 2**20}\n"
    assert all(line.endswith(":/") for line in shell.run(["cat", "/proc/self/cgroup"]).stdout.splitlines())


@pytest.mark.parametrize(
    ("line", "stdout", "code"),
    [
        ("hostname", "web\n", 0),
        ("printenv COLOUR", "blue\n", 0),
        ("printenv NOTHING", "", 1),
        ("nproc", "4\n", 0),
        ("true && echo yes", "yes\n", 0),
        ("false && echo yes", "", 1),
        ("false || echo no; echo end", "no\nend\n", 0),
        ("sh -c 'echo inner'", "inner\n", 0),
        ("echo 'a b'  c", "a b c\n", 0),
        ("exit 3", "", 3),
        ("cat /etc/passwd", "", 1),
        ("htop x", "", 127),
        ("echo x > /tmp/y", "", 0),
        ("echo x > /tmp/y; cat /tmp/y | wc -c", "2\n", 0),
        ("for i in 1 2; do echo $i; done | grep 2", "2\n", 0),
        ("x=$(hostname); echo ${x}-$((2 * 3))", "web-6\n", 0),
        ("echo a > /proc/self/oom_score_adj", "", 1),
        ("stress --vm 1", "", 1),
        ("while true; do :; done", "", 1),
        ("echo 'unclosed", "", 2),
        ("", "", 0),
    ],
)
def test_a_line_of_the_shell(shell: Any, line: str, stdout: str, code: int) -> None:
    result = shell.line(line)
    assert (result.stdout, result.code) == (stdout, code)
    assert bool(result.stderr) == (
        code in (1, 2, 127) and stdout == "" and line not in ("false && echo yes", "printenv NOTHING")
    )

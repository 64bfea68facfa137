"""What people do through kubectl on whatever node: look, enter, follow, copy, forward, measure, drain."""

from __future__ import annotations

import re

from tests.apiserver.http.test_kubectl import Client
from tests.engine.helpers import SLOW
from tests.engine.test_kubectl_streams import Terminal, background, fetch

POD = """
apiVersion: v1
kind: Pod
metadata: {name: walk}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "echo first; while true; do echo tick; sleep 0.2; done"]
    resources: {limits: {cpu: 200m, memory: 32Mi}}
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  - name: server
    image: busybox
    command: [python3, -u, -m, http.server, "8080", --bind, 127.0.0.1, --directory, /scratch]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  volumes: [{name: scratch, emptyDir: {}}]
"""


def walk(kubectl: Client) -> None:
    """Do all of it; the pod is gone afterwards."""
    kubectl("apply", "-f", kubectl.file("walk.yaml", POD))
    kubectl("wait", "--for=condition=Ready", "pod/walk", f"--timeout={int(30 * SLOW)}s")
    described = kubectl("describe", "pod", "walk")
    assert "/scratch from scratch (rw)" in described and "Container started" in described
    own, first = (kubectl("exec", "walk", "-c", "c", "--", "cat", f"/proc/{one}/cgroup") for one in ("self", "1"))
    assert own == first
    failed = kubectl.run("exec", "walk", "-c", "c", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (failed.returncode, failed.stdout) == (7, "out\n")
    assert failed.stderr == "err\ncommand terminated with exit code 7\n"
    terminal = Terminal(kubectl, "exec", "-it", "walk", "-c", "c", "--", "sh")
    terminal.type("tty; echo a$((1+1))b; exit 4\r")
    assert "/dev/pts/" in terminal.until("a2b", 60 * SLOW)
    assert terminal.end() == 4
    assert kubectl("logs", "walk", "-c", "c").splitlines()[:2] == ["first", "tick"]
    follower = background(kubectl, "logs", "-f", "--tail=1", "walk", "-c", "c")
    assert follower.stdout is not None
    try:
        assert [follower.stdout.readline() for _ in range(3)] == ["tick\n"] * 3
    finally:
        follower.kill()
        follower.wait()
    copied = kubectl.folder / "page.html"
    copied.write_text("hello from a pod")
    kubectl("cp", str(copied), "walk:/scratch/page.html", "-c", "c")
    kubectl("cp", "walk:/scratch/page.html", str(kubectl.folder / "back.html"), "-c", "c")
    assert (kubectl.folder / "back.html").read_text() == "hello from a pod"
    forwarding = background(kubectl, "port-forward", "pod/walk", ":8080")
    assert forwarding.stdout is not None
    try:
        found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> 8080", forwarding.stdout.readline())
        assert found is not None
        assert fetch(int(found[1])).endswith("hello from a pod")
    finally:
        forwarding.kill()
        forwarding.wait()
    assert kubectl("top", "pod", "walk", "--containers").count("walk ") == 2
    assert kubectl("top", "node").count("node-") >= 1
    kubectl("delete", "pod", "walk", "--now")


def drain(kubectl: Client, node: str) -> None:
    """Empty a node of what no budget holds there, and open it again."""
    kubectl(
        "run", "drained", "--image=busybox", "--overrides", f'{{"spec":{{"nodeName":"{node}"}}}}', "--", "sleep", "99"
    )
    kubectl("wait", "--for=condition=Ready", "pod/drained", f"--timeout={int(30 * SLOW)}s")
    words = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--grace-period=1", "--timeout=80s")
    assert f"node/{node} drained" in kubectl("drain", node, *words)
    assert kubectl("get", "pods", "--field-selector", f"spec.nodeName={node}", "-o", "name") == ""
    kubectl("uncordon", node)

"""A machine that is paused: owner, control plane and node stop together and go on together, as a laptop that is closed.

In the gate a pause that nothing notices; `KITLIB_NIGHTLY=1` pauses for longer than the grace of a silent node, and in
User Mode Linux the whole machine with its engine: `.ci/vm` stops its kernel, whose clock then jumps.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.engine.helpers import ROOT, outside
from tests.engine.traces import Traces
from tests.sizes import NIGHTLY

UML = os.environ.get("KITLIB_VM_MACHINE") == "uml"
LONGER = (75.0,) if UML else (75.0, 200.0)
"""Seconds: a silent node is Unknown after 50 s, and its pods are evicted 300 s later."""
CASES = [("container", 5.0), *((plane, seconds) for plane in ("container", "process") for seconds in LONGER if NIGHTLY)]
OWNER = """
import json, sys, time
from kitlib.cluster import Cluster
from tests.engine.helpers import pod
def ready(cluster):
    return next(c.status for c in cluster.get("Node", "n1").status.conditions if c.type == "Ready")
with Cluster.docker([{"name": "n1", "memory": "256Mi"}], control_plane=sys.argv[1]) as cluster:
    cluster.apply(pod(name="a"))
    cluster.wait(lambda c: c.pod("a").status.phase == "Running", 120)
    before = cluster.pod("a").metadata.uid, cluster.node().process("a").pid
    print("up", flush=True)
    sys.stdin.readline()
    cluster.wait(lambda c: ready(c) == "True", 120)
    cluster.apply(pod(name="b"))
    cluster.wait(lambda c: c.pod("b").status.phase == "Running", 120)
    kept = before == (cluster.pod("a").metadata.uid, cluster.node().process("a").pid)
    print(json.dumps([ready(cluster), kept, {one.name: one.status.phase for one in cluster.pods()}]), flush=True)
"""


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Stop processes, the owner first, and let them go on in the opposite order."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def stop_machine(seconds: float) -> None:
    """Ask for a pause of this virtual machine, and return when it is over."""
    asked = Path(os.environ["ARTIFACTS"], "pause")
    began = time.time()
    asked.write_text(f"{seconds:.0f}")
    while asked.exists():
        time.sleep(0.2)
    assert time.time() - began >= seconds


@pytest.mark.parametrize(("plane", "seconds"), CASES)
def test_a_paused_machine_keeps_its_pods_and_takes_the_next(traces: Traces, plane: str, seconds: float) -> None:
    command = [sys.executable, "-c", OWNER, plane]
    process = subprocess.Popen(
        command, cwd=ROOT, env=outside(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        assert process.stdout.readline() == "up\n"
        if UML:
            stop_machine(seconds)
        else:
            with stopped([process.pid, *map(int, traces.processes(traces.ids()))]):
                time.sleep(seconds)  # the pause itself
        said, _ = process.communicate("\n", timeout=600)
        assert json.loads(said) == ["True", True, {"a": "Running", "b": "Running"}]
    finally:
        process.kill()
        process.wait()

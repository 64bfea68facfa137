"""Memory of a learner's kernel, with the kit loaded and a lab running, and how many learners fit into 4 GB.

PSS (proportional set size) counts a page that several processes share once, divided among them: the sum over all
kernels is what they take together. KITLIB_LEARNERS says how many are started at once (default 3).

    pytest -m speed tests/benchmarks/test_learners.py -s
    KITLIB_LEARNERS=30 pytest -m speed tests/benchmarks/test_learners.py -s
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

NEEDED = ("ipykernel", "jupyter_client")
pytestmark = [
    pytest.mark.speed,
    pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in NEEDED), reason="needs ipykernel"),
]
if not Path("/proc/self/smaps_rollup").exists():
    pytest.skip("the kernel does not say how much memory is shared", allow_module_level=True)

LEARNERS = int(os.environ.get("KITLIB_LEARNERS", "3"))
GOAL_MB, ROOM_MB = 120, 4000
STEPS = {
    "the kernel alone": "pass",
    "the kit loaded": "from kitlib.lab import Lab, Lesson; from kitlib.cluster import Cluster",
    "a lab running, checked": (
        "lab = Lab('02-throttled-on-an-idle-node'); display(lab); lab.cluster.advance(30); display(lab.tree())\n"
        "display(lab.check())"
    ),
    "its pods as a table": "display(lab.pods())",
    "and a widget": "from kitlib.widgets import PodBuilder; display(PodBuilder())",
}
"""What a learner does, step by step; the table loads pandas, the widget plotly and ipywidgets."""


def memory(pid: int) -> dict[str, float]:
    """RSS and PSS of a process in MB (10^6 bytes)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {name: int(rest.split()[0]) * 1024 / 1e6 for name, rest in (line.split(":", 1) for line in lines)}
    return {"rss": sizes["Rss"], "pss": sizes["Pss"]}


class Learner:
    """A Jupyter kernel, spoken to over its own protocol."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.manager import start_new_kernel

        folder.mkdir(parents=True)
        places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "KITLIB_PROGRESS": str(folder),
            "KITLIB_NODES": "simulated",
            "PYTHONPATH": os.pathsep.join(filter(None, places)),
            "IPYTHONDIR": str(folder),
        }
        began = time.monotonic()
        self.manager, self.client = start_new_kernel(kernel_name="python3", env=environment, startup_timeout=240)
        self.pid = self.manager.provisioner.pid
        self.start_seconds = time.monotonic() - began
        self.seconds = 0.0

    def run(self, code: str) -> dict[str, float]:
        """Run a cell; what the kernel takes afterwards.

        Raises:
            AssertionError: the cell ended with an error.
        """
        began = time.monotonic()
        reply = self.client.execute_interactive(code, timeout=240, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok", json.dumps(reply["content"])[:2000]
        self.seconds = time.monotonic() - began
        return memory(self.pid)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def test_the_memory_of_learners_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel step by step, then several at once; 30 of them must fit into 4 GB."""
    learners: list[Learner] = []
    lines = [f"{'':28}{'RSS MB':>8}{'PSS MB':>8}{'seconds':>9}"]
    try:
        with ThreadPoolExecutor(max_workers=4) as pool:
            began = time.monotonic()
            learners += pool.map(lambda i: Learner(tmp_path / f"learner{i}"), range(LEARNERS))
            started = time.monotonic() - began
            first = learners[0]
            for name, code in STEPS.items():
                found = first.run(code)
                lines.append(f"{name:28}{found['rss']:8.0f}{found['pss']:8.0f}{first.seconds:9.2f}")
                if name.startswith("a lab"):
                    alone = found
            code = "\n".join(STEPS.values())
            list(pool.map(lambda learner: learner.run(code), learners[1:]))
        children = first.client.execute_interactive(
            "import resource; peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss",
            user_expressions={"peak": "peak"},
            timeout=60,
        )["content"]["user_expressions"]["peak"]["data"]["text/plain"]
        each = [memory(learner.pid)["pss"] for learner in learners]
    finally:
        for learner in learners:
            learner.close()
    together, most = sum(each), max(each)
    thirty: dict[str, Any] = {"expected": 30 * together / len(each)}
    lines += [
        f"{LEARNERS} kernels at once, all steps: {together:.0f} MB together (PSS {min(each):.0f} to {most:.0f} each), "
        f"started in {started:.1f} s on {os.cpu_count()} CPUs",
        f"30 learners: {thirty['expected']:.0f} MB of {ROOM_MB} MB; a check takes {int(children) * 1024 / 1e6:.0f} MB "
        "more for a second (a process of its own)",
        f"Python {sys.version.split()[0]}",
    ]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert alone["pss"] < GOAL_MB, lines
    assert thirty["expected"] < ROOM_MB, lines

"""A learner restarts or interrupts the notebook's kernel, whatever runs in it: nothing stays on the engine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.engine.helpers import ROOT, outside
from tests.engine.traces import Traces

BEGIN = """
from kitlib.cluster import Cluster
from kitlib.widgets import CgroupWatch, OomArena
from tests.engine.helpers import pod
"""
CLUSTER = "cluster = Cluster.docker(2, cpus=2, memory='512Mi')"
PODS = """
for number in range(4):
    cluster.apply(pod('sleep 1000', name=f'p-{len(cluster.pods())}', limits={'cpu': '50m', 'memory': '32Mi'}))
"""
MOMENTS = {
    "while nodes start": (CLUSTER, ""),
    "between two cells": (CLUSTER + PODS, "pass"),
    "while pods start": (CLUSTER, PODS * 50),
    "while a widget watches": (
        CLUSTER + PODS + "watch = CgroupWatch(cluster)\nwatch.play.value = True",
        "cluster.advance(60)",
    ),
    "while a script waits": (CLUSTER + PODS, "cluster.wait(lambda now: False, timeout=60)"),
}


class Notebook:
    """A kernel as JupyterLab starts it, and what it says."""

    def __init__(self) -> None:
        jupyter_client = pytest.importorskip("jupyter_client")
        pytest.importorskip("ipykernel")
        environment = outside()
        self.manager, self.client = jupyter_client.manager.start_new_kernel(cwd=str(ROOT), env=environment)

    def run(self, code: str) -> str:
        """Run a cell to its end; its error, if any.

        For a moment after a cell that failed, a kernel drops what else was sent: that was the rest of "run all".
        """
        for _ in range(50):
            reply = self.client.execute_interactive(code, timeout=120, output_hook=lambda message: None)
            if reply["content"]["status"] != "aborted":
                break
            time.sleep(0.1)
        assert reply["content"]["status"] != "aborted"
        return "\n".join(reply["content"].get("traceback", []))

    def begin(self, code: str) -> None:
        """Start a cell and do not wait for it."""
        self._begun = self.client.execute(code)

    def busy(self) -> bool:
        """Whether the cell that was begun last still runs."""
        return not self.client.shell_channel.msg_ready()

    def answer(self) -> str:
        """How the cell that was begun last has ended: its error, if any."""
        while True:
            reply = self.client.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == self._begun:
                return str(reply["content"].get("ename", ""))

    def restart(self) -> None:
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=60)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def notebook(engine: str) -> Iterator[Notebook]:
    opened = Notebook()
    yield opened
    opened.close()


def begun(traces: Traces) -> None:
    """Wait until there is a container."""
    deadline = time.monotonic() + 60
    while not traces.containers():
        assert time.monotonic() < deadline, "no container was made"
        time.sleep(0.01)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_restarted_kernel_leaves_nothing(traces: Traces, moment: str, notebook: Notebook) -> None:
    before, during = MOMENTS[moment]
    assert notebook.run(BEGIN) == ""
    if during:
        assert notebook.run(before) == ""
        notebook.begin(during)
        time.sleep(0.3)
        assert notebook.busy() or during == "pass"
    else:
        notebook.begin(before)
    begun(traces)
    notebook.restart()
    traces.sweep()  # as the next cluster does with what was made and never started
    assert traces.gone(5) == []
    assert notebook.run(BEGIN + CLUSTER) == "", "the restarted kernel works"
    assert any("container" in line for line in traces.left())


def test_an_interrupted_cell_keeps_the_cluster_and_an_interrupted_start_leaves_nothing(
    traces: Traces, notebook: Notebook
) -> None:
    assert notebook.run(BEGIN + CLUSTER + PODS) == ""
    notebook.begin("cluster.wait(lambda now: False, timeout=60)")
    time.sleep(0.5)
    notebook.manager.interrupt_kernel()
    assert notebook.answer() == "KeyboardInterrupt"
    assert notebook.run("assert cluster.pod('p-0').status.phase == 'Running'; cluster.close()") == ""
    assert traces.gone(5) == []
    notebook.begin(CLUSTER)
    begun(traces)
    notebook.manager.interrupt_kernel()
    assert notebook.answer() == "KeyboardInterrupt"
    assert traces.gone(5) == []

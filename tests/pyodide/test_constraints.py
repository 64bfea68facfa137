"""The pure rooms import and work where there are no threads, sockets, processes or shared libraries: as in Pyodide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import pure_rooms

from tests import rooms

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
START = (
    "import sys; sys.path[:0] = sys.argv[1:3]; import without; sys.argv = sys.argv[2:]; "
    "import pure_rooms; pure_rooms.main(sys.argv[1:])"
)


def run(*parts: str, **more: str) -> dict[str, dict[str, object]]:
    environment = {**os.environ, "KITLIB_NODES": "", **more}
    command = [sys.executable, "-I", "-c", START, str(ROOT), str(HERE), *parts]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, object]]:
    return run("imports", "kubelet", "oom", "scheduler", "cluster")


def test_every_module_of_the_pure_rooms_imports(found: dict[str, dict[str, object]]) -> None:
    there = [path for room in rooms.pure_rooms() for path in rooms.pure_files(room)]
    assert found["imports"]["modules"] == len(there) > 400


def test_the_worked_example_is_computed_written_and_read_back(found: dict[str, dict[str, object]]) -> None:
    kubelet = found["kubelet"]
    assert kubelet["nginx-demo1 cpu.shares"] == "512" and kubelet["nginx-demo2 cpu.shares"] == "512"
    assert kubelet["differences v1"] == kubelet["differences v2"] == 0


def test_the_kubelet_runs_a_pod_that_the_kernel_kills(found: dict[str, dict[str, object]]) -> None:
    oom = found["oom"]
    assert (oom["reason"], oom["exit code"], oom["kernel log"]) == ("OOMKilled", 137, True)
    assert oom["restarts"] == 2


def test_the_scheduler_decides_and_says_why(found: dict[str, dict[str, object]]) -> None:
    decision = found["scheduler"]
    assert decision["chosen"] == "a"
    assert decision["b"] == ["node(s) had untolerated taint(s)"] and decision["c"] == ["Insufficient cpu"]


def test_a_whole_simulated_cluster_works_there_too(found: dict[str, dict[str, object]]) -> None:
    cluster = found["cluster"]
    assert cluster["node"] and cluster["reason"] == "OOMKilled" and cluster["differences"] == 0


@pytest.mark.parametrize(
    "modules",
    [
        pytest.param("", id="modules are missing"),
        pytest.param("use", id="modules are of no use", marks=pytest.mark.thorough),
    ],
)
def test_a_sweep_is_computed_in_this_process_with_the_same_rows(modules: str) -> None:
    there, here = run("sweep", KITLIB_WITHOUT=modules)["sweep"], pure_rooms.sweep()
    assert there["complete"] and there["values"] == here["values"] and len(there["values"]) == 15
    assert str(there["note"]).startswith("computed in this process: ")


def test_a_lab_is_checked_without_a_process_of_its_own(tmp_path: Path) -> None:
    """Libraries above the pure packages import modules of no use there, and do not use them: importing is allowed."""
    lab = run("lab", KITLIB_PROGRESS=str(tmp_path), KITLIB_WITHOUT="use")["lab"]
    assert lab["kernel"] == "simulated" and lab["before"] < 3 and lab["after"] == [3, 3] and lab["passed"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import threading; threading.Thread(target=print).start()", "can't start new thread"),
        ("import socket", "No module named 'socket' in Pyodide"),
        ("import concurrent.futures", "No module named 'concurrent' in Pyodide"),
        ("import subprocess", "No module named 'subprocess' in Pyodide"),
        ("import ctypes", "No module named 'ctypes' in Pyodide"),
        ("import docker", "No module named 'docker' in Pyodide"),
        ("import _thread; _thread.start_new_thread(print, ())", "can't start new thread"),
        ("import os; os.system('true')", "os.system is not possible in Pyodide"),
        ("import os; os.fork()", "os.fork is not possible in Pyodide"),
        ("import os; os.posix_spawn('/bin/true', ['true'], {})", "os.posix_spawn is not possible in Pyodide"),
        ("import os; os.execv('/bin/true', ['true'])", "os.exec is not possible in Pyodide"),
    ],
)
def test_the_run_above_would_have_failed_on_what_pyodide_cannot_do(code: str, says: str) -> None:
    start = f"import sys; sys.path.insert(0, sys.argv[1]); import without; {code}"
    done = subprocess.run([sys.executable, "-I", "-c", start, str(HERE)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and says in done.stderr.splitlines()[-1], done.stderr

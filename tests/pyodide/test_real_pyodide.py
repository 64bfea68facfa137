"""The pure rooms in real Pyodide (WebAssembly, 32 bits, Python 3.14) under node.js, from the npm package.

msgspec's wheel for Pyodide comes from PyPI; PyYAML's pure Python half from this environment. numpy has no such wheel on
PyPI: it comes with Pyodide's own distribution, which is not on npm. So the rooms without numpy run here, with the cases
that real Kubernetes computed; the scheduler runs here too where KITLIB_PYODIDE_NUMPY names numpy's wheel (a file), and
in `test_constraints.py` always.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.workshop

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYODIDE, MSGSPEC, TAG, PYTHON = "314.0.7", "0.22.0", "pyemscripten_2026_0_wasm32", "314"
KINDS = (
    "quantity",
    "conversions",
    "cgroup_names",
    "qos_cgroups",
    "node_allocatable",
    "pod_enforcement",
    "eviction_ranking",
    "cpu_manager",
    "validation",
)


def installed(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]


@pytest.fixture(scope="session")
def pyodide(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs Python from standard input in Pyodide, with everything installed."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        assert "workshop" not in os.environ.get("KITLIB_REQUIRE", "").split(","), "node.js and npm are needed"
        pytest.skip("no node.js on this machine")
    folder = tmp_path_factory.mktemp("pyodide")
    (folder / "package.json").write_text('{"private": true}')
    installed(["npm", "install", "--no-audit", "--no-fund", "--silent", f"pyodide@{PYODIDE}"], folder)
    wanted = ["--only-binary=:all:", "--platform", TAG, "--python-version", PYTHON, "--implementation", "cp"]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--abi",
        f"cp{PYTHON}",
        *wanted,
        f"msgspec=={MSGSPEC}",
    ]
    installed(pip, folder)
    spec = importlib.util.find_spec("yaml")
    assert spec is not None and spec.origin is not None
    (folder / "pure" / "yaml").mkdir(parents=True)
    for file in Path(spec.origin).parent.glob("*.py"):
        shutil.copy(file, folder / "pure" / "yaml")
    wheels = [str(p) for p in folder.glob("*.whl")]
    if os.environ.get("KITLIB_PYODIDE_NUMPY"):
        wheels.append(os.environ["KITLIB_PYODIDE_NUMPY"])
    module = str(folder / "node_modules" / "pyodide")
    return ["node", str(HERE / "run.mjs"), module, str(ROOT), str(folder / "pure"), *wheels]


def run(pyodide: list[str], code: str) -> dict[str, dict[str, object]]:
    text = f"import json, pure_rooms\nprint(json.dumps({code}))"
    done = subprocess.run(pyodide, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_module_that_needs_no_numpy_imports(pyodide: list[str]) -> None:
    found = run(pyodide, '[pure_rooms.imports(numpy=False), __import__("sys").platform]')
    assert found[0]["modules"] > 200 and found[1] == "emscripten"  # type: ignore[index]


def test_the_worked_example_and_an_oom_kill(pyodide: list[str]) -> None:
    kubelet, first, second = run(pyodide, "[pure_rooms.kubelet(), pure_rooms.oom(1), pure_rooms.oom(2)]")
    assert kubelet["nginx-demo1 cpu.shares"] == "512" and kubelet["differences v2"] == 0  # type: ignore[index]
    for oom in (first, second):
        assert oom == {"reason": "OOMKilled", "exit code": 137, "restarts": 2, "kernel log": True}


@pytest.mark.parametrize("kind", KINDS)
def test_cases_of_real_kubernetes_come_out_on_32_bits_too(pyodide: list[str], kind: str) -> None:
    passed, failed, *differences = run(pyodide, f'pure_rooms.cases("/kit/tests/vectors", ({kind!r},))[{kind!r}]')
    assert failed == 0, differences
    assert passed > 50  # type: ignore[operator]


if os.environ.get("KITLIB_PYODIDE_NUMPY"):

    def test_the_scheduler_and_a_whole_cluster(pyodide: list[str]) -> None:
        found = run(pyodide, "[pure_rooms.scheduler(), pure_rooms.cluster()]")
        assert found[0]["chosen"] == "a" and found[1]["reason"] == "OOMKilled"  # type: ignore[index]

"""`kitlib demo`: the figures of the first source document, to the last digit, each with its formula."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kitlib import cli

ROOT = Path(__file__).parents[2]
POD = "kubepods-pod5799fccc_d1f5_4958_b13f_6a82378a8934.slice"
BURSTABLE_POD = "kubepods-burstable-pod18ec1047_8414_4905_8747_ccb1dd50e0bc.slice"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["demo", *arguments]) == 0
    return capsys.readouterr().out


V1 = ("--cgroup-version", "1")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/kubepods.slice", {"cpu.shares": "7168", "memory.limit_in_bytes": "2946347008"}),
        ("/kube.slice", {"cpu.shares": "512", "memory.limit_in_bytes": "104857600"}),
        ("/sys.slice", {"cpu.shares": "512", "memory.limit_in_bytes": "104857600"}),
        ("/kubepods.slice/kubepods-burstable.slice", {"cpu.shares": "1546"}),
        ("/kubepods.slice/kubepods-besteffort.slice", {"cpu.shares": "2"}),
        (
            f"/kubepods.slice/{POD}",
            {"cpu.shares": "512", "cpu.cfs_quota_us": "50000", "memory.limit_in_bytes": "134217728"},
        ),
        (
            f"/kubepods.slice/kubepods-burstable.slice/{BURSTABLE_POD}",
            {"cpu.shares": "512", "cpu.cfs_quota_us": "100000", "memory.limit_in_bytes": "268435456"},
        ),
    ],
)
def test_the_worked_example_comes_out(path: str, values: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(run(capsys, *V1, "--json"))["desired"]
    files = next(c["files"] for c in tree["cgroups"] if c["path"] == path)
    assert {name: files[name]["shown"] for name in values} == values
    assert all(files[name]["reason"] for name in values)


def test_both_trees_are_printed_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, *V1)
    assert "/sys/fs/cgroup/cpu\n" in text and "/sys/fs/cgroup/memory\n" in text
    assert "cpu.shares  7168  // 8 CPUs of the machine − 500m − 500m reserved = 7000m: shares = floor(7000" in text
    assert "memory.limit_in_bytes  9223372036854771712  // no limit" in text
    assert "kube-apiserver" not in text and "kube-apiserver" in run(capsys, "--all")


def test_it_shows_cgroup_v2_and_says_how_to_see_v1(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys)
    assert "cpu.max  50000 100000  // 0.5 CPU" in text and "memory.max  134217728" in text
    assert text.count("limited to 500m of CPU") and "limited to 1 of CPU" not in text
    assert "kitlib demo --cgroup-version 1" in text and "--cgroup-version" not in run(capsys, *V1)


def test_the_lines_of_readme_and_worked_example_are_what_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = {line.strip("│├└─ ") for one in ((), V1) for line in run(capsys, *one).splitlines()}
    page = (ROOT / "kitlib" / "docs" / "worked-example.md").read_text(encoding="utf-8")
    shown = [line.strip("│├└─ ") for line in page.splitlines() if "  // " in line]
    assert len(shown) > 15 and not [line for line in shown if line not in printed]
    (example,) = re.findall("`(cpu.max  [^`]*)`", (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " "))
    assert example in printed


def test_it_shows_the_cgroupfs_driver_too(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--cgroup-version", "2", "--driver", "cgroupfs", "--controller", "cpu")
    assert "cpu.weight" in text and "kubepods.slice" not in text and "memory.max" not in text


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("driver", ["systemd", "cgroupfs"])
def test_what_was_written_is_read_back(version: str, driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--cgroup-version", version, "--driver", driver)
    assert "read back: each shows what was desired." in run(capsys, *arguments)
    read = json.loads(run(capsys, *arguments, "--json"))
    assert read["differences"] == [] and len(read["observed"]) == len(read["desired"]["cgroups"])


def test_a_kernel_that_keeps_another_value_is_found_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS

    honest = SimulatedCgroupFS.apply

    def forgetful(self: SimulatedCgroupFS, tree: object) -> None:
        honest(self, tree)  # type: ignore[arg-type]
        self.write("/kubepods.slice", "cpu.weight", "1024")

    monkeypatch.setattr(SimulatedCgroupFS, "apply", forgetful)
    assert cli.main(["demo"]) == 1
    text = capsys.readouterr().out
    assert "cpu.weight  1024 (desired 274)  ≠" in text and "1 differ." in text

"""The sheet's values are those of the kubelet's formulas, and it fits on one page."""

from pathlib import Path

import pytest

from kitlib import cli
from kitlib.lab import cheat_sheet


def test_the_values_are_computed() -> None:
    found = {row.field: row for row in cheat_sheet.rows()}
    assert found["requests.cpu: 250m"].v1 == "cpu.shares 256"  # 250 * 1024 / 1000
    assert found["limits.cpu: 500m"].v2 == "cpu.max 50000 100000"
    assert found["limits.memory: 256Mi"].v2 == f"memory.max {256 * 2**20}"
    assert found["--kube-reserved, --system-reserved"].v1.endswith(f" {(8192 - 512) * 2**20}")
    assert found["memorySwap: LimitedSwap"].v2 == f"memory.swap.max {2 * 2**30 * 128 // 8192}"  # a part as of memory
    assert found["memorySwap: LimitedSwap"].v1.startswith(f"memory.memsw.limit_in_bytes {256 * 2**20} ")  # no swap
    high = int((128 + 0.9 * (256 - 128)) * 2**20) // 4096 * 4096
    assert found["MemoryQoS, memoryThrottlingFactor"].v2 == f"memory.high {high}"
    assert "memory.pressure" in found["no field: what waits (PSI)"].v2
    assert found["requests.memory: 128Mi"].v2 == "oom_score_adj 985"  # 1000 - 1000 * 128 / 8192, rounded up


def test_the_command_writes_one_page_to_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sheet.html"
    assert cli.main(["cheat-sheet", "-o", str(file)]) == 0
    text = file.read_text()
    assert "A4 landscape" in text and text.count("<tr>") == len(cheat_sheet.rows()) + 1 <= 20
    assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from elsewhere"
    assert "srcdoc" in cheat_sheet.show()._repr_html_() and "cpu.max" in repr(cheat_sheet.show())

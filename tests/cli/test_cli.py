"""The command line: help, exit codes, JSON; and it starts quickly because it loads nothing that it does not need."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kitlib import cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_help_lists_every_command_with_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in cli.COMMANDS:
        assert f"    {name}" in out


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, command, "--help")
    assert code == 0 and out.startswith(f"usage: kitlib {command}")


def test_no_command_and_an_unknown_one_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys)[0] == 2
    code, _, err = run(capsys, "dmeo")
    assert code == 2 and "invalid choice: 'dmeo' (did you mean demo?)" in err and "\n" not in err.rstrip()
    assert "did you mean --controller?" in run(capsys, "demo", "--controler", "cpu")[2]
    assert "valid values: systemd, cgroupfs" in run(capsys, "demo", "--driver", "x")[2]


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    from kitlib import __version__

    assert run(capsys, "--version")[1] == f"kitlib {__version__}\n"


@pytest.mark.parametrize("module", ["kitlib", "kitlib.cli"])
def test_it_runs_as_a_module_and_ends_with_the_commands_code(module: str) -> None:
    command = [sys.executable, "-m", module, "conformance", "/no/such/quantity.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == "kitlib: /no/such/quantity.jsonl: No such file or directory\n"


def test_doctor_reports_as_json_and_fails_only_where_the_kit_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "doctor", "--json", "--no-engine")
    report = json.loads(out)
    assert code == 0 and report["works"]
    assert {"python", "kitlib", "cgroups", "works here"} <= {f["subject"] for f in report["findings"]}


def test_doctor_says_what_to_do_about_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitlib.commands.doctor._has", lambda name: name != "jupyterlab")
    _, out, _ = run(capsys, "doctor", "--no-engine")
    assert "without jupyterlab" in out and "pip install 'kitlib[notebook]'" in out


def test_conformance_counts_and_shows_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = {"op": "parse", "in": "1500m", "string": "1500m", "value": 2, "milli": 1500, "sign": 1}
    good |= {"format": "DecimalSI", "dec": "1.500"}
    file = tmp_path / "quantity.jsonl.gz"
    with gzip.open(file, "wt") as out:
        out.write(json.dumps({**good, "value": 3}) + "\n")
    code, text, _ = run(capsys, "conformance", str(file))
    assert code == 1 and text.startswith("quantity.jsonl.gz: 0 passed, 1 failed")
    assert "line 1, value: expected 3, found 2" in text
    code, text, _ = run(capsys, "conformance", "--json", str(file))
    assert code == 1 and json.loads(text)[0]["failed"] == 1


def test_conformance_goes_on_after_a_file_that_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "quantity.jsonl"
    broken.write_text("not json\n")
    code, _, err = run(capsys, "conformance", str(broken), str(tmp_path / "quantity-2.jsonl"))
    assert code == 2 and err.count("kitlib: ") == 2


@pytest.mark.skipif(not hasattr(sys, "getallocatedblocks"), reason="needs CPython")
def test_the_command_line_imports_no_command_library() -> None:
    code = "import sys, kitlib.cli as c; c.parser(); print(sorted(m for m in sys.modules if m.startswith('kitlib.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(json.loads(done.stdout.replace("'", '"')))
    assert all(m == "kitlib.cli" or m.startswith("kitlib.commands") for m in loaded), loaded


@pytest.mark.parametrize("what", ["enforcement", "apply"])
def test_bench_prints_figures(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "bench", what, "--pods", "20", "--runs", "1", "--json")
    assert code == 0 and all(figure["per_second"] > 0 for figure in json.loads(out))


def test_a_defect_is_kept_and_reported_without_names_and_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "ottilie")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("platform.node", lambda: "ottilies-laptop")
    monkeypatch.setenv("DOCKER_HOST", "tcp://ottilie:geheim@engine.example:2376")
    monkeypatch.setenv("KITLIB_NODES", "simulated")

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"in {tmp_path}/secret of ottilie on ottilies-laptop")

    monkeypatch.setattr("kitlib.advisor.message.decode", broken)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            cli.main(["explain", "--message", "the-learners-own-words"])
    assert "kitlib doctor --report" in capsys.readouterr().err
    code, out, _ = run(capsys, "doctor", "--report", "--no-engine")
    assert code == 0
    assert out.count("ZeroDivisionError: in ~/secret of USER on HOST") == 3
    assert "| ok | kitlib |" in out and "KITLIB_NODES=simulated" in out and "DOCKER_HOST=set" in out
    for word in (str(tmp_path), "ottilie", "geheim", "engine.example", "the-learners-own-words"):
        assert word not in out, word

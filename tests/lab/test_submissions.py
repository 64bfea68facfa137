"""An attack suite on the instructor's table: no forgery gives a point, each is named, and the others' rows stand."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import submissions
from kitlib.lab.progress import Progress
from kitlib.lab.report import LearnerRow, read_learners, to_csv, to_html

LAB = "make-it-guaranteed"
GOOD = {"kind": "check", "lab": LAB, "task": "guaranteed", "points": 2, "of": 2, "seconds": 1e9, "details": {}}
WEB = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}


def line(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode() + b"\n"


def journal(*entries: Any, **changes: Any) -> bytes:
    return line(details={"journal": list(entries)}, **changes)


FORGERIES: dict[str, tuple[bytes, str]] = {
    "a lab that the course does not have": (line(lab="99-invented"), "the course has no lab"),
    "a lab named by another path": (line(lab=f"./{LAB}"), "the course has no lab"),
    "a lab named by its parent": (line(lab=f"x/../{LAB}"), "the course has no lab"),
    "a lab in other letters": (line(lab=LAB.upper()), "the course has no lab"),
    "a lab with a letter of another alphabet": (line(lab=LAB.replace("e", "\u0435")), "the course has no lab"),
    "a lab with a space behind it": (line(lab=f"{LAB} "), "the course has no lab"),
    "no name of a lab": (line(lab=""), "the course has no lab"),
    "a name of a megabyte": (line(lab="a" * 1_000_000), "invalid entry"),
    "a task that the lab does not have": (line(task="everything"), "has no task"),
    "a task of another lab": (line(task="exclusive"), "has no task"),
    "more points than the task is worth": (line(points=2.5), "the task is worth 2"),
    "points beyond every bound": (line(points=1e300), "invalid entry"),
    "points that are infinite": (json.dumps({**GOOD, "points": float("inf")}).encode() + b"\n", "invalid entry"),
    "points that are no number": (json.dumps({**GOOD, "points": float("nan")}).encode() + b"\n", "invalid entry"),
    "points below zero": (line(points=-5), "invalid entry"),
    "points as a text": (line(points="2"), "invalid entry"),
    "points as a list": (line(points=[2]), "invalid entry"),
    "true for points": (line(points=True), "invalid entry"),
    "an integer of 5,000 digits": (line().replace(b'"points": 2', b'"points": ' + b"9" * 5000), "invalid entry"),
    "a kind of its own": (line(kind="gift"), "invalid entry"),
    "a field of its own": (line(bonus=100), "invalid entry"),
    "nodes that there are not": (line(details={"ground": {"kernel": "moon"}}), "invalid entry"),
    "cgroup v9": (line(details={"ground": {"kernel": "docker", "cgroup_version": 9}}), "cannot be done"),
    "brackets without end": (b"[" * 100_000 + b"\n", "invalid entry"),
    "brackets in the details": (
        line().replace(b"{}", b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        "invalid entry",
    ),
    "a pickle": (pickle.dumps(os.getcwd, 4) + b"\n", "invalid entry"),
    "YAML with a tag": (b"!!python/object/apply:os.system ['touch owned']\n", "invalid entry"),
    "bytes that are no text": (b"\xff\xfe\x00\x01\n", "invalid entry"),
    "a zero byte": (b"\x00\n", "invalid entry"),
    "a half surrogate": (line().replace(LAB.encode(), b"\\ud800"), "invalid entry"),
    "a list": (b"[1, 2]\n", "invalid entry"),
    "a text": (b'"points"\n', "invalid entry"),
    "no object": (b"null\n", "invalid entry"),
}

REPLAYED: dict[str, tuple[bytes, str]] = {
    "no journal": (line(), "no journal"),
    "an empty journal": (journal(), "found"),
    "a journal that is a text": (line(details={"journal": "apply"}), "no journal"),
    "a journal with a path in the place of objects": (
        journal({"action": "apply", "objects": "/etc/passwd"}),
        "apply: Expected `array`",
    ),
    "a journal with a path among the objects": (
        journal({"action": "apply", "objects": ["/etc/passwd"]}),
        "apply: Expected `object`",
    ),
    "an action that a learner does not have": (journal({"action": "close"}), "valid values: apply"),
    "an action of Python's": (journal({"action": "__init__", "api": 1, "release": 2}), "valid values: apply"),
    "an action that is a list": (journal({"action": ["apply"]}), "valid values: apply"),
    "an argument of its own": (
        journal({"action": "delete", "kind": "Pod", "name": "web", "namespace": "default", "self": 1}),
        "unknown field",
    ),
    "time without end": (journal({"action": "advance", "seconds": 1e15}), "advance: Expected"),
    "time backwards": (journal({"action": "advance", "seconds": -1}), "advance: Expected"),
    "an object that is none": (journal({"action": "apply", "objects": [{"a": 1}]}), "apiVersion is missing"),
    "a status that nobody reported": (
        journal(
            {
                "action": "patch",
                "kind": "Pod",
                "name": "web",
                "namespace": "default",
                "patch": {"status": {"qosClass": "Guaranteed"}},
            }
        ),
        "found",
    ),
    "a node that is not there": (
        journal({"action": "write", "node": "../..", "path": "/etc", "file": "shadow", "value": "x"}),
        "not found",
    ),
}


def table(folder: Path, *, recheck: bool = False) -> dict[str, LearnerRow]:
    """The rows by learner, of a folder that holds an honest learner's file too; read by this process."""
    honest = Progress(folder / "honest")
    if not honest.path.exists():
        honest.record("check", LAB, "cgroup", 0, 1)
    rows = {row.learner: row for row in read_learners(folder, recheck=recheck, workers=0)}
    assert rows["honest"].labs == {LAB: (0, 1)} and rows["honest"].problems == ()
    return rows


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_line_gives_nothing_and_is_named(tmp_path: Path, name: str) -> None:
    content, why = FORGERIES[name]
    (tmp_path / "mallory.jsonl").write_bytes(line(points=0) + content)
    row = table(tmp_path)["mallory"]
    assert row.points == 0
    assert len(row.problems) == 1 and row.problems[0].startswith("line 2: ") and why in row.problems[0], row.problems
    assert len(row.problems[0]) < 250, "what a learner wrote is shortened"


@pytest.mark.parametrize("name", FORGERIES)
def test_a_file_without_any_entry_is_named_as_a_whole(tmp_path: Path, name: str) -> None:
    content, why = FORGERIES[name]
    (tmp_path / "mallory.jsonl").write_bytes(content)
    row = table(tmp_path)["mallory"]
    assert row.points == 0 and row.problems[0].startswith("bad file: the file has no valid entry"), row.problems
    assert why in row.problems[0]


@pytest.mark.parametrize("name", REPLAYED)
def test_a_forged_journal_gives_nothing(tmp_path: Path, name: str) -> None:
    content, why = REPLAYED[name]
    (tmp_path / "mallory.jsonl").write_bytes(content)
    row = table(tmp_path, recheck=True)["mallory"]
    assert row.points == 0
    assert row.not_confirmed and why in row.not_confirmed[0], (row.not_confirmed, row.problems)


def test_a_lab_and_a_task_count_once(tmp_path: Path) -> None:
    (tmp_path / "mallory.jsonl").write_bytes(line() * 100)
    assert table(tmp_path)["mallory"].labs == {LAB: (2, 2)}


def test_predictions_give_no_points(tmp_path: Path) -> None:
    lines = [line(kind="prediction", task=f"invented {i}", points=1, of=1) for i in range(50)]
    (tmp_path / "mallory.jsonl").write_bytes(b"".join(lines))
    assert table(tmp_path)["mallory"].points == 0


def test_code_beside_a_progress_file_is_not_run(tmp_path: Path) -> None:
    """A lab's name as a path made the table load check.py of the learner's own folder."""
    learner, trap = tmp_path / "mallory", tmp_path / "trap"
    lab = learner / "lab"
    lab.mkdir(parents=True)
    (lab / "lab.toml").write_text('title = "x"\ndifficulty = 1\nminutes = 1\ntasks = [{key = "a", title = "a"}]\n')
    (lab / "check.py").write_text(f"open({str(trap)!r}, 'w').write('run')\n")
    for stolen in ("json", "msgspec", "sitecustomize", "kitlib"):
        (learner / f"{stolen}.py").write_text(f"open({str(trap)!r}, 'w').write('run')\n")
    names = [str(lab), f"../../{learner}/lab", "lab"]
    (learner / "progress.jsonl").write_bytes(b"".join(journal(lab=name, task="a", points=1) for name in names) + line())
    row = table(tmp_path, recheck=True)["mallory"]
    assert row.points == 0 and not trap.exists()
    assert len(row.problems) == 3 and all("the course has no lab" in problem for problem in row.problems)


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(line())
    room = tmp_path / "room"
    room.mkdir()
    os.mkfifo(room / "pipe.jsonl")  # opening it would wait for ever
    (room / "link.jsonl").symlink_to(secret)
    (room / "zero.jsonl").symlink_to("/dev/zero")
    (room / "folder.jsonl").mkdir()
    (room / "other").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "progress.jsonl").write_bytes(line())
    rows = table(room)
    assert {name: row.problems for name, row in rows.items() if name != "honest"} == {
        "pipe": ("bad file: not a regular file",),
        "link": ("bad file: the file is a symbolic link, which is not allowed",),
        "zero": ("bad file: the file is a symbolic link, which is not allowed",),
        "folder": ("bad file: the file cannot be read: Is a directory",),
        "other": ("bad file: the file is a symbolic link, which is not allowed",),
    }
    assert all(row.points == 0 for row in rows.values())


def test_a_file_beyond_the_bounds_is_named(tmp_path: Path) -> None:
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.truncate(submissions.MAX_FILE + 1)  # a hole: it takes no room on the disk
    (tmp_path / "many.jsonl").write_bytes(b"\n" * (submissions.MAX_ENTRIES + 1))
    rows = table(tmp_path)
    size = f"{submissions.MAX_FILE + 1} bytes, but at most 67108864 are allowed"
    assert rows["huge"].problems == (f"bad file: the file is too large: {size}",)
    assert rows["many"].problems == ("bad file: the file has 50002 lines, but at most 50000 are allowed",)


def test_a_second_file_of_a_learner_is_named_and_does_not_replace_the_first(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "progress.jsonl").write_bytes(line(points=1))
    (tmp_path / "ann.jsonl").write_bytes(line(points=2))
    rows = [row for row in read_learners(tmp_path) if row.learner == "ann"]
    assert [row.points for row in rows] == [1, 0]
    assert rows[1].problems == ("ann.jsonl: not read: ann/progress.jsonl is this learner's file already",)


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\uff1d1", " =1"])
def test_no_cell_is_a_formula(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.jsonl".replace("/", "_")).write_bytes(line(points=0) + line(lab=name))
    cells = [cell for row in csv.reader(io.StringIO(to_csv(list(table(tmp_path).values())))) for cell in row]
    assert any(name.replace("/", "_") in cell for cell in cells)
    assert not [cell for cell in cells if cell.strip().startswith(("=", "+", "-", "@", "\uff1d"))]


def test_names_with_control_characters_stay_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "two\nlines\x1b[31m.jsonl").write_bytes(line(points=0))
    (tmp_path / os.fsdecode(b"\xff\xfe.jsonl")).write_bytes(line(points=0))
    rows = list(table(tmp_path).values())
    assert {row.learner for row in rows} == {"honest", "two?lines?[31m", "??"}
    to_csv(rows).encode()
    to_html(rows).encode()


def test_the_learners_own_bar_passes_over_what_is_no_entry(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.record("check", LAB, "guaranteed", 1, 2)
    with progress.path.open("ab") as file:
        file.write(b"\xff\xfe\n" + b"[" * 100_000 + b"\n" + line(points=1e300))
    assert progress.score(LAB) == (1, 2)


def test_the_assignments_that_nbgrader_collected_are_one_row(tmp_path: Path) -> None:
    for lab, content in ((LAB, line()), ("sidecar-oom", b"[1, 2]\n"), ("nothing", line())):
        (tmp_path / "ann" / lab).mkdir(parents=True)
        (tmp_path / "ann" / lab / "progress.jsonl").write_bytes(content)
    row = table(tmp_path)["ann"]
    assert row.labs == {LAB: (2, 2)}
    assert len(row.problems) == 1 and row.problems[0].startswith("sidecar-oom: the file has no valid entry")


def test_a_linked_assignment_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / LAB).mkdir(parents=True)
    (tmp_path / "elsewhere" / LAB / "progress.jsonl").write_bytes(line())
    room = tmp_path / "room"
    (room / "ann").mkdir(parents=True)
    (room / "ann" / LAB).symlink_to(tmp_path / "elsewhere" / LAB, target_is_directory=True)
    (room / "bob").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (room / "eve" / LAB).mkdir(parents=True)
    (room / "eve" / LAB / "progress.jsonl").symlink_to(tmp_path / "elsewhere" / LAB / "progress.jsonl")
    rows = table(room)
    refused = ("bad file: the file is a symbolic link, which is not allowed",)
    assert {name: row.problems for name, row in rows.items() if name != "honest"} == {"ann": refused, "eve": refused}
    assert rows["ann"].points == rows["eve"].points == 0


def test_a_file_of_its_own_counts_and_no_assignment_beside_it(tmp_path: Path) -> None:
    """A hub's signature covers the learner's one file: what is put beside it must not add points."""
    (tmp_path / "ann.jsonl").write_bytes(line(points=1))
    (tmp_path / "ann" / LAB).mkdir(parents=True)
    (tmp_path / "ann" / LAB / "progress.jsonl").write_bytes(line(points=2))
    assert table(tmp_path)["ann"].labs == {LAB: (1, 2)}


def test_no_file_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="no progress files"):
        read_learners(tmp_path)


def test_of_equal_checks_the_last_counts_and_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "ann.jsonl"
    file.write_bytes("\ufeff".encode() + journal({"action": "old"}) + journal({"action": "new"}))
    found = submissions.read(file)
    assert not found.problems and b"new" in bytes(found.checks[LAB, "guaranteed"].details.journal)

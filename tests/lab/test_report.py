"""The instructor's table from a folder of learners' files."""

import json

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lab, report, submissions
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import prepare
from kitlib.lab.launch import in_course
from kitlib.lab.progress import Progress
from kitlib.lab.recheck import recheck
from kitlib.lab.report import read_learners, to_csv, to_html, to_json

FIRST, THIRD = "make-it-guaranteed", "sidecar-oom"


@pytest.fixture
def room(tmp_path):
    ann, bob = Progress(tmp_path / "ann"), Progress(tmp_path / "bob")
    ann.record("check", FIRST, "guaranteed", 1, 2)
    ann.record("hint", FIRST, "guaranteed", 0, 0)
    ann.record("check", FIRST, "guaranteed", 2, 2)
    bob.record("check", FIRST, "guaranteed", 0, 2, check_changed=True)
    bob.record("prediction", THIRD, "who", 1, 1)
    return tmp_path


def test_the_best_check_counts_and_hints_are_shown(room):
    ann, bob = read_learners(room)
    assert ann.labs == {FIRST: (2, 2)} and ann.hints[FIRST] == 1
    assert bob.labs == {FIRST: (0, 2), THIRD: (0, 0)}, "a prediction is the learner's own word: it gives no points"


def test_the_table_as_csv(room):
    of_lab = ("points", "of", "hints", "hint cost", "variant", "tries", "minutes")
    columns = [f"{lab} {what}" for lab in (FIRST, THIRD) for what in of_lab]
    assert to_csv(read_learners(room)).splitlines() == [
        ",".join(["learner", *columns, "total claimed", "changed checks"]),
        "ann,2,2,1,0,0,2,0,,,,,,,,2,",
        f"bob,0,2,0,0,0,1,0,0,0,0,0,,0,0,0,{FIRST}",
    ]


def test_predictions_are_counted_by_the_first_answer_and_each_stands_in_the_json(tmp_path):
    ann = Progress(tmp_path / "ann")
    for key, points, predicted in [("who", 0, "a"), ("who", 1, "b"), ("when", 1, "c"), ("why", 0, None)]:
        ann.record("prediction", THIRD, key, points, 1, predicted=predicted)
    ann.record("prediction", "a-pod-becomes-cgroup-files", "class", 1, 1, predicted="Guaranteed")
    rows = read_learners(tmp_path)
    assert rows[0].predictions[THIRD] == {"who": False, "when": True}, "a question that was given up is not answered"
    head, line = (text.split(",") for text in to_csv(rows).splitlines())
    assert (
        dict(zip(head, line, strict=True)).items()
        >= {
            f"{THIRD} predictions right": "1",
            f"{THIRD} predictions answered": "2",
            "a-pod-becomes-cgroup-files predictions right": "1",
        }.items()
    )
    (found,) = json.loads(to_json(rows))
    assert found["predictions"][THIRD] == {"who": False, "when": True}
    assert (found["total"], found["points"]) == (0, "claimed")


def test_a_copied_file_and_shared_work_are_remarked(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_USER", "ann")
    ann = Progress(tmp_path / "ann")
    ann.opened(FIRST)
    work = {"journal": [{"action": "apply"}], "ground": {"kernel": "simulated", "seed": 12}}
    ann.record("check", FIRST, "guaranteed", 2, 2, **work)
    (tmp_path / "eve.jsonl").write_bytes(ann.path.read_bytes())
    first, second = read_learners(tmp_path)
    shared = f"{FIRST} guaranteed"
    assert first.remarks == (f"same variant and same journal as eve: {shared}",)
    assert second.remarks == (
        "another's file: written by the account ann",
        f"same variant and same journal as ann: {shared}",
    )
    assert "Remarks" in to_html([first, second]) and "of good faith" not in to_html([first, second])


def test_a_file_of_one_line_that_is_no_entry_is_named(tmp_path):
    (tmp_path / "ann.jsonl").write_text("[" * 1000)
    (row,) = read_learners(tmp_path)
    assert "the file has no valid entry; line 1: invalid entry" in row.problems[0]


@pytest.mark.parametrize(
    ("price", "numbers", "hints", "cost", "total"),
    [
        ("", [1, 2], 2, 0, 2),
        ("0.5", [1, 2], 2, 1, 1),
        ("0.5", [1, 1, 1], 1, 0.5, 1.5),
        ("3", [1, 2], 2, 6, 0),
    ],
    ids=["hints are free", "each hint costs", "the same hint again is free", "no lab is worth less than nothing"],
)
def test_a_hint_costs_what_the_instructor_says(tmp_path, monkeypatch, price, numbers, hints, cost, total):
    monkeypatch.setenv("KITLIB_HINT_COST", price)
    eve = Progress(tmp_path / "eve")
    eve.record("check", FIRST, "guaranteed", 2, 2, ground={"kernel": "simulated", "seed": 12})
    for number in numbers:
        eve.record("hint", FIRST, "guaranteed", 0, 0, number=number)
    (row,) = read_learners(tmp_path)
    assert (row.hints[FIRST], row.cost[FIRST], row.points) == (hints, cost, total)
    page = to_html([row])
    assert f"{hints} hints{f' (-{cost:g})' if cost else ''}, " in page and "variant 12" in page
    assert f",{hints},{cost:g},12," in to_csv([row])


def test_every_variant_that_was_checked_is_named(tmp_path):
    eve = Progress(tmp_path / "eve")
    for seed in (7, 3, 7):
        eve.record("check", FIRST, "guaranteed", 1, 2, ground={"seed": seed})
    assert read_learners(tmp_path)[0].seeds == {FIRST: (3, 7)}


def test_the_page_marks_a_changed_check_and_escapes_names(room):
    Progress(room / "<script>").record("check", FIRST, "guaranteed", 1, 2)
    page = to_html(read_learners(room))
    assert "0/2 ⚠" in page and "2/2<br>" in page
    assert "<script>" not in page


def test_a_folder_without_files_is_said_to_be_so(tmp_path):
    with pytest.raises(KitError, match="no progress files"):
        read_learners(tmp_path)


@pytest.mark.thorough
def test_a_room_is_the_same_in_several_processes_and_a_file_that_ends_one_is_one_bad_row(room, monkeypatch):
    (room / "mallory").mkdir()
    (room / "mallory" / "progress.jsonl").write_text("invalid entry\n")
    here = read_learners(room, workers=0)
    assert [row.learner for row in here] == ["ann", "bob", "mallory"]
    assert here[2].problems[0].startswith("bad file: the file has no valid entry")
    assert read_learners(room, workers=2) == here
    monkeypatch.setattr("kitlib.lab.report.graded", _ends_at_bob)
    ann, bob, mallory = read_learners(room, workers=2)
    assert (ann, mallory) == (here[0], here[2])
    assert bob.problems == ("bad file: WorkerEnded: its process ended with code 3 (3 times)",) and bob.points == 0


def _ends_at_bob(paths, recheck):
    import os

    if "bob" in paths[0]:
        os._exit(3)
    return report.graded(paths, recheck)


def test_a_replay_is_on_what_the_lab_was_done_on(tmp_path):
    name = "cpus-of-its-own"
    folder, ground, progress = LabFolder.read(in_course("labs", name)), Ground("docker", 1), Progress(tmp_path)
    cluster = prepare(folder, ground)
    folder.answers(ground).reference(cluster)
    journal = list(cluster.journal)
    progress.record("check", name, "exclusive", 3, 3, journal=journal, ground={"kernel": "docker", "cgroup_version": 1})
    progress.record("check", name, "exclusive", 3, 3, journal=journal, ground={"kernel": "moon"})
    sent = submissions.read(progress.path)
    assert [(claim.task, claim.confirmed) for claim in recheck(sent.checks)] == [("exclusive", 3)]
    assert "line 2" in sent.problems[0] and "moon" in sent.problems[0]


def test_a_replay_confirms_what_was_done_and_unmasks_what_was_written_in(tmp_path):
    name = "make-it-guaranteed"
    honest, forged = Progress(tmp_path / "honest"), Progress(tmp_path / "forged")
    lab = Lab(name, progress=honest)
    LabFolder.read(in_course("labs", name), lab.seed).answers().reference(lab.cluster)
    lab.check()
    forged.record("check", name, "guaranteed", 2, 2, journal=[])
    forged.record("check", name, "cgroup", 1, 1)
    forged.record("check", "99-invented", "all", 5, 5, journal=[])
    other, one = read_learners(tmp_path, recheck=True)
    assert one.labs[name] == (3, 3) and one.not_confirmed == ()
    assert other.labs == {name: (0, 3)}
    assert [text.partition(":")[2].partition("(")[0] for text in other.not_confirmed] == [
        " 2 claimed, 0 confirmed ",
        " 1 claimed, 0 confirmed ",
    ]
    assert other.problems == ("line 3: the course has no lab 'invented'",)
    table, page = to_csv([other, one]), to_html([other, one])
    assert "the entry has no journal" in page and "not confirmed" in table and ",total confirmed," in table
    assert "No point is confirmed" not in page
    claimed = to_html(read_learners(tmp_path))
    assert "<p><strong>No point is confirmed" in claimed.partition("<table>")[0]

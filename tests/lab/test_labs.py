"""The labs: reference solutions pass, untouched starts fail, and every wrong answer fails with a message of its own."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from kitlib.lab import Lab
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import grade_apart, grade_journal, prepare, timed
from kitlib.lab.progress import Progress

LABS = Path(__file__).parents[2] / "labs"
FOLDERS = [LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
BY_NAME = [pytest.param(folder, id=folder.name) for folder in FOLDERS]
WRONG = [
    pytest.param(folder, text, id=f"{folder.name}: {text}") for folder in FOLDERS for text in folder.answers().wrong
]


def journal_of(folder, action):
    """What a learner who does `action` leaves behind."""
    cluster = prepare(folder)
    action(cluster)
    return list(cluster.journal)


@pytest.mark.parametrize("folder", BY_NAME)
def test_the_untouched_start_fails(folder):
    grade = grade_journal(folder, [])
    assert not grade.passed
    assert all(result.found and result.expected for result in grade.results if not result.passed)


@pytest.mark.parametrize("folder", BY_NAME)
def test_the_reference_solution_passes(folder):
    grade = grade_journal(folder, journal_of(folder, folder.answers().reference))
    assert grade.passed, "\n".join(map(str, grade.results))
    assert all(result.evidence for result in grade.results)
    assert set(grade.observed) == {p.key for p in folder.definition.predictions}


@pytest.mark.parametrize(("folder", "text"), WRONG)
def test_a_wrong_answer_fails_with_its_own_message(folder, text):
    grade = grade_journal(folder, journal_of(folder, folder.answers().wrong[text]))
    assert not grade.passed
    said = "\n".join(str(result) for result in grade.results if not result.passed)
    assert text in said, said


@pytest.mark.parametrize("folder", BY_NAME)
def test_a_lab_is_complete(folder):
    definition = folder.definition
    assert len(folder.answers().wrong) >= 3
    assert 1 <= definition.difficulty <= 3 and definition.minutes > 0
    assert all(task.hints for task in definition.tasks)
    assert all(p.why and (p.choices or p.unit) for p in definition.predictions)
    assert (folder.path / "lab.ipynb").exists()


def test_the_time_that_passed_on_real_nodes_passes_in_the_replay():
    did = [
        {"action": "apply", "objects": [], "at": 12.0},
        {"action": "advance", "seconds": 30, "at": 42.0},
        {"action": "delete", "kind": "Pod", "name": "a", "namespace": "b", "at": 50.5},
    ]
    assert timed(did, 10.0, 60.0) == [
        {"action": "advance", "seconds": 2.0},
        {"action": "apply", "objects": []},
        {"action": "advance", "seconds": 30.0},
        {"action": "advance", "seconds": 8.5},
        {"action": "delete", "kind": "Pod", "name": "a", "namespace": "b"},
        {"action": "advance", "seconds": 9.5},
    ]


def attempts_on_real_nodes():
    """What tests/engine tries on real nodes, and on which the replays have to agree."""
    for folder in FOLDERS:
        if "docker" in folder.definition.kernels:
            answers = folder.answers()
            tried = {"": answers.reference, **getattr(answers, "wrong_on_real_nodes", answers.wrong)}
            assert len(tried) >= 4
            for text, action in tried.items():
                yield pytest.param(folder, text, action, id=f"{folder.name}: {text or 'the solution'}")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("folder", "text", "action"), list(attempts_on_real_nodes()))
def test_a_replay_for_real_nodes_is_graded_alike(folder, text, action, version):
    ground = Ground("docker", version)
    cluster = prepare(folder, ground)
    assert cluster.node("node-1").tree().version == version
    action(cluster)
    grade = grade_journal(folder, list(cluster.journal), (), ground)
    assert grade.passed is not bool(text)
    assert text in "\n".join(map(str, grade.results))
    if not text:
        assert set(grade.observed) == {p.key for p in folder.definition.predictions}


def test_a_file_written_on_a_real_node_is_written_in_the_replay_though_its_uid_is_another():
    folder, ground = LabFolder.read(LABS / "07-by-hand"), Ground("docker", 2)
    cluster = prepare(folder, ground)
    folder.answers().reference(cluster)
    named = {"pod": "default/import", "node": "node-1", "action": "write", "file": "memory.max", "value": str(2**29)}
    kinds = [("pod", ""), ("container", "import")]
    written = [{**named, "kind": k, "container": c, "path": f"/kubepods/podelsewhere/{c}"} for k, c in kinds]
    resized = [entry for entry in cluster.journal if entry["action"] != "write"]
    assert grade_apart(folder, written + resized, (), ground).passed
    assert not grade_apart(folder, written[:1] + resized[:0], (), ground).passed


def test_who_dies_first_is_a_table_and_the_first_one_does(tmp_path):
    pytest.importorskip("pandas")
    lab = Lab(LABS / "04-let-the-right-one-die", progress=Progress(tmp_path))
    lab.cluster.advance(5)
    rows = lab.explain_oom().to_dict("records")
    assert [row["name"].partition("/")[0] for row in rows][:2] == ["db", "batch"]
    assert rows[0]["class"] == "Burstable" and rows[0]["badness"] > rows[1]["badness"]
    lab.cluster.advance(55)
    assert lab.cluster.get("Pod", "db").status.phase == "Failed"


@pytest.mark.parametrize("folder", BY_NAME)
def test_what_a_hint_tells_to_call_is_there(folder):
    texts = [(folder.path / name).read_text() for name in ("lab.toml", "check.py", "lab.ipynb")]
    called = {name for text in texts for name in re.findall(r"\blab\.([a-z_]+)\(", text)}
    assert called <= set(dir(Lab)), called - set(dir(Lab))


def test_an_action_cannot_be_later_than_the_check():
    assert timed([{"action": "advance", "seconds": 300, "at": 400.0}], 10.0, 30.0) == [
        {"action": "advance", "seconds": 20.0}
    ]


def test_a_lab_that_needs_more_processors_than_there_are_says_so(monkeypatch, tmp_path):
    engine = SimpleNamespace(info=lambda: {"NCPU": 1}, close=lambda: None)
    monkeypatch.setattr("kitlib.node.real.engine.connect", lambda: engine)
    lab = Lab(LABS / "06-cpus-of-its-own", "docker", progress=Progress(tmp_path))
    assert (lab.kernel, lab.why) == ("simulated", "on real nodes this lab needs 2 CPUs, the engine has 1")


def test_a_lab_that_needs_the_simulated_kernel_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("KITLIB_NODES", "docker")
    lab = Lab(LABS / "09-pending-three-reasons", progress=Progress(tmp_path))
    assert (lab.kernel, lab.why.partition(":")[0]) == (
        "simulated",
        "this lab needs what only the simulated kernel gives",
    )

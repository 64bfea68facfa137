"""The labs: reference solutions pass, untouched starts fail, and every wrong answer fails with a message of its own.

The README's test command tries a sample of the answers; the stage `thorough` of `.ci/run` tries the others.
"""

import re
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lab
from kitlib.lab.definition import SIMULATED, Definition, Ground, LabFolder, variant_of
from kitlib.lab.grader import STOPPED, grade, grade_journal, prepare, timed
from kitlib.lab.grading_process import grade_apart
from kitlib.lab.history import History
from kitlib.lab.progress import Progress
from tests.sizes import sampled

LABS = Path(__file__).parents[2] / "labs"
FOLDERS = [LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
BY_NAME = [pytest.param(folder, id=folder.name) for folder in FOLDERS]
RIGHT = [
    pytest.param(folder, sentence, id=f"{folder.name}: {sentence}")
    for folder in FOLDERS
    for sentence in folder.answers().right
]
WRONG = [
    pytest.param(folder, one, id=f"{folder.name}: {one.tries}") for folder in FOLDERS for one in folder.answers().wrong
]


def graded(folder, action, ground=SIMULATED):
    """The grade of a learner who does `action`, without the replay in between."""
    cluster = prepare(folder, ground)
    history = History(cluster)
    action(cluster)
    return grade(folder, cluster, (), None, history)


def replayed(folder, action, ground=SIMULATED):
    """The same as it really happens: the journal is replayed on a fresh cluster."""
    cluster = prepare(folder, ground)
    action(cluster)
    return grade_journal(folder, list(cluster.journal), (), ground)


@pytest.mark.parametrize("folder", sampled(BY_NAME, 6, pytest.mark.thorough))
def test_the_untouched_start_gives_no_point_and_no_solution(folder):
    for seconds in (0, 30):
        found = graded(folder, lambda cluster, seconds=seconds: cluster.advance(seconds))
        assert not found.passed and not found.touched
        assert [result.points for result in found.results] == [0.0] * len(found.results)
        assert {result.found for result in found.results} == {"nothing has been changed yet"}
        hints = [hint for task in folder.definition.tasks for hint in task.hints]
        assert not [r for r in found.results for hint in hints if hint in str(r)]


@pytest.mark.parametrize("folder", sampled(BY_NAME, 6, pytest.mark.thorough))
def test_a_change_that_does_not_matter_gives_no_point(folder):
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
    found = graded(folder, lambda cluster: cluster.apply(extra))
    assert found.touched
    assert sum(result.points for result in found.results) == 0, "\n".join(map(str, found.results))


@pytest.mark.parametrize("folder", sampled(BY_NAME, 2, pytest.mark.thorough))
def test_the_reference_solution_passes(folder):
    found = replayed(folder, folder.answers().reference)
    assert found.passed, "\n".join(map(str, found.results))
    assert all(rule.kept for rule in found.rules)
    assert all(result.evidence for result in found.results)
    assert set(found.observed) == {p.key for p in folder.definition.predictions}


@pytest.mark.parametrize(("folder", "sentence"), sampled(RIGHT, 8, pytest.mark.thorough))
def test_another_right_answer_passes(folder, sentence):
    found = graded(folder, folder.answers().right[sentence])
    assert found.passed, "\n".join(map(str, (*found.results, *found.rules)))
    assert all(rule.kept for rule in found.rules)


@pytest.mark.parametrize(("folder", "answer"), sampled(WRONG, 10, pytest.mark.thorough))
def test_a_wrong_answer_fails_with_its_own_message(folder, answer):
    found = graded(folder, answer.act)
    assert not found.passed
    said = "\n".join(map(str, [*(r for r in found.results if not r.passed), *found.rules]))
    assert answer.says in said, said
    assert STOPPED not in said


@pytest.mark.parametrize("folder", BY_NAME)
def test_a_lab_is_complete(folder):
    definition, answers = folder.definition, folder.answers()
    assert len(answers.right) >= 3 and len(answers.wrong) >= 5
    assert 1 <= definition.difficulty <= 3 and definition.minutes > 0
    assert definition.brief and definition.left and definition.edit and definition.opens
    assert all(task.hints for task in definition.tasks)
    assert all(rule.hint for rule in definition.rules)
    assert all(p.why and (p.choices or p.unit) for p in definition.predictions)
    assert (folder.path / "lab.ipynb").exists()
    assert folder.checks().seconds.keys() <= {task.key for task in definition.tasks}


@pytest.mark.parametrize("folder", BY_NAME)
def test_a_lab_announces_and_plays_a_second_situation(folder):
    assert "When you are done" in folder.definition.brief
    assert folder.checks().seconds


@pytest.mark.parametrize("folder", sampled(BY_NAME, 6, pytest.mark.thorough))
def test_another_variant_is_solved_by_its_own_answers_and_not_by_the_first_ones(folder):
    seed = next(n for n in range(1, 100) if LabFolder.read(folder.path, n).definition.edit != folder.definition.edit)
    other = LabFolder.read(folder.path, seed)
    assert graded(other, other.answers().reference).passed
    wrong = other.answers().wrong[-1]
    assert not graded(other, wrong.act).passed, wrong.tries
    cluster = prepare(folder)
    folder.answers().reference(cluster)
    with suppress(KitError):  # the other variant has no such pods
        assert not grade_journal(other, list(cluster.journal)).passed


@pytest.mark.parametrize("folder", BY_NAME)
def test_two_neighbours_rarely_share_a_variant(folder):
    variants = [str(sorted(vars(variant_of(folder.path, seed)).items())) for seed in range(40)]
    assert len(set(variants)) >= 12
    again = [str(sorted(vars(variant_of(folder.path, seed)).items())) for seed in range(40)]
    assert variants == again, "a seed always gives the same variant"


@pytest.mark.parametrize("folder", BY_NAME)
def test_no_text_of_a_variant_keeps_a_placeholder(folder):
    for seed in (0, 7):
        one = LabFolder.read(folder.path, seed)
        texts = [one.setup(), msgspec.json.encode(one.definition).decode()]
        assert not [found for text in texts for found in re.findall(r"\$\{?[a-z_]+", text)]


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
            answers = folder.answers(Ground("docker"))
            tried = {"": answers.reference, **{one.says: one.act for one in answers.wrong if one.real}}
            assert len(tried) >= 4
            for text, action in tried.items():
                yield pytest.param(folder, text, action, id=f"{folder.name}: {text or 'the solution'}")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("folder", "text", "action"), sampled(list(attempts_on_real_nodes()), 10, pytest.mark.thorough)
)
def test_a_replay_for_real_nodes_is_graded_alike(folder, text, action, version):
    ground = Ground("docker", version)
    found = graded(folder, action, ground) if text else replayed(folder, action, ground)
    assert found.passed is not bool(text)
    assert text in "\n".join(map(str, (*found.results, *found.rules)))
    if not text:
        assert set(found.observed) == {p.key for p in folder.definition.predictions}


def test_a_file_written_on_a_real_node_is_written_in_the_replay_though_its_uid_is_another():
    folder, ground = LabFolder.read(LABS / "07-by-hand"), Ground("docker", 2)
    cluster = prepare(folder, ground)
    folder.answers(ground).reference(cluster)
    named = {"pod": "default/import", "node": "node-1", "action": "write", "file": "memory.max", "value": str(2**29)}
    kinds = [("pod", ""), ("container", "import")]
    written = [{**named, "kind": k, "container": c, "path": f"/kubepods/podelsewhere/{c}"} for k, c in kinds]
    resized = [entry for entry in cluster.journal if entry["action"] != "write"]
    assert grade_journal(folder, written + resized, (), ground).passed
    assert not grade_apart(folder, written[:1] + resized[:0], (), ground).passed


def test_who_dies_first_is_a_table_and_the_first_one_does(tmp_path):
    lab = Lab(LABS / "04-let-the-right-one-die", seed=0, progress=Progress(tmp_path))
    lab.cluster.advance(5)
    rows = lab.explain_oom().rows
    assert [row["name"].partition("/")[0] for row in rows][:2] == ["db", "batch"]
    assert rows[0]["class"] == "Burstable" and rows[0]["badness"] > rows[1]["badness"]
    lab.cluster.advance(55)
    assert lab.cluster.get("Pod", "db").status.phase == "Failed"


def test_events_that_differ_only_in_their_object_are_one_row(tmp_path):
    lab = Lab(LABS / "04-let-the-right-one-die", seed=0, progress=Progress(tmp_path))
    for turn, (message, count) in enumerate((("far", 3), ("near", 1), ("far", 2))):
        for number in range(count):
            name = f"p{number}"
            about = {"kind": "Pod", "namespace": "default", "name": name}
            event = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.{turn}"},
                "involvedObject": about,
            }
            lab.cluster.apply({**event, "reason": "Odd", "message": message, "type": "Normal"})
    told = [(row["object"], row["message"]) for row in lab.events("Odd").rows]
    assert told == [("pod/p0 and 2 more", "far"), ("pod/p0", "near"), ("pod/p0 and 1 more", "far")]


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
    lab = Lab(LABS / "06-cpus-of-its-own", "docker", seed=0, progress=Progress(tmp_path))
    assert (lab.kernel, lab.why) == ("simulated", "on real nodes this lab needs 2 CPUs, the engine has 1")


def test_a_lab_that_needs_the_simulated_kernel_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("KITLIB_NODES", "docker")
    lab = Lab(LABS / "10-affinity-with-spread", progress=Progress(tmp_path))
    text = "this lab needs what only the simulated kernel gives: a cluster of release 1.23"
    assert (lab.kernel, lab.why) == ("simulated", text)
    assert text in lab._repr_html_(), "the learner reads it"


@pytest.mark.parametrize("number", ["17", "18", "20", "21"])
def test_a_lab_of_the_kernel_that_cannot_be_done_on_real_nodes_says_what_they_lack(number):
    (definition,) = (one.definition for one in FOLDERS if one.name.startswith(number))
    assert "docker" not in definition.kernels
    assert definition.why_simulated != Definition(title="", difficulty=1, minutes=1, tasks=()).why_simulated


def test_a_refused_manifest_without_a_pod_leaves_the_lab_as_it_was() -> None:
    lab = Lab("14-preemption-that-does-not-help", seed=7)
    before = list(lab.cluster.journal)
    wrong = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: x}\nvalue: 9999999999999\n"
    with pytest.raises(KitError):
        lab.replace(wrong)
    assert list(lab.cluster.journal) == before


def test_a_manifest_can_be_applied_again_while_its_pod_runs() -> None:
    """A program that ignores SIGTERM as process 1 keeps the pod's name until the grace period is over."""
    lab = Lab("09-pending-three-reasons", seed=7)
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: again}
spec:
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: busybox, command: [sleep, infinity], resources: {requests: {cpu: %s}}}]
"""
    found = []
    for cpu in ("1m", "2m"):
        lab.replace(pod % cpu)
        now = lab.cluster.get("Pod", "again")
        found.append((now.status.phase, str(now.spec.containers[0].resources.requests["cpu"])))
    assert found == [("Running", "1m"), ("Running", "2m")]

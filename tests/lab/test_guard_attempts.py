"""Ways to the points that solve nothing are refused, and right solutions by other routes are not.

guard_attempts.yaml holds a sample of those that were tried, by kind; `wrong` and `right` of a lab's own answers.yaml
are the mistakes and the ways that its author thought of. The README's test command tries every third case; the stage
`thorough` of `.ci/run` tries the others.
"""

import re
from pathlib import Path

import pytest
import yaml

from kitlib.lab.answers import Answers
from kitlib.lab.definition import LabFolder
from kitlib.lab.experiment import as_applied
from kitlib.lab.grader import STOPPED, grade, prepare
from kitlib.lab.history import History
from kitlib.lab.variant import fill
from tests.sizes import sampled

LABS = Path(__file__).parents[2] / "labs"
FILE = Path(__file__).with_name("guard_attempts.yaml")


def attempts():
    """(lab, its answers of guard_attempts.yaml), for the first variant."""
    for number, text in re.findall(r'^"(\d\d)":\n((?: .*\n)+)', FILE.read_text(), re.MULTILINE):
        folder = LabFolder.read(next(LABS.glob(f"{number}-*")))
        one = yaml.safe_load(fill(text, folder.variant, str(FILE)))
        text = yaml.safe_dump({"reference": [], "right": {}, "wrong": [], **one})
        yield folder, Answers.read(text, str(FILE), folder.setup())


FOUND = list(attempts())
WRONG = [pytest.param(f, one, id=f"{f.name[:2]} {one.tries}") for f, answers in FOUND for one in answers.wrong]
RIGHT = [pytest.param(f, act, id=f"{f.name[:2]} {text}") for f, answers in FOUND for text, act in answers.right.items()]


def graded(folder, act):
    cluster = prepare(folder)
    history = History(cluster)
    act(cluster)
    return grade(folder, cluster, (), None, history)


@pytest.mark.parametrize(("folder", "answer"), sampled(WRONG, 3, pytest.mark.thorough))
def test_a_way_round_the_task_gives_no_full_points(folder, answer):
    found = graded(folder, answer.act)
    said = "\n".join(map(str, [*(r for r in found.results if not r.passed), *found.rules]))
    assert not found.passed and answer.says in said, said
    assert STOPPED not in said


@pytest.mark.parametrize(("folder", "act"), sampled(RIGHT, 3, pytest.mark.thorough))
def test_another_route_gives_full_points(folder, act):
    found = graded(folder, act)
    assert found.passed, "\n".join(map(str, (*found.results, *found.rules)))


def test_a_pod_of_the_setup_that_is_written_to_was_not_put_on_a_node_by_hand():
    folder = LabFolder.read(LABS / "20-the-drain-that-never-ends")

    def act(cluster):
        for pod in cluster.list("Pod", selector={"app": folder.variant.web}):
            cluster.patch("Pod", pod.metadata.name, {"metadata": {"annotations": {"note": "x"}}})
        folder.answers().reference(cluster)

    found = graded(folder, act)
    assert found.passed, "\n".join(map(str, (*found.results, *found.rules)))


REFUSED = {
    # A change of the pod checkout, which incident 3 is about -> the points of the five tasks.
    "within a container: a lower memory limit": ({"limits": {"memory": "999Mi"}}, {}, 8),
    "within a container: another image": ({}, {"image": "other:1"}, 8),
    "beyond it: a port of the node": ({}, {"ports": [{"containerPort": 80, "hostPort": 80}]}, 0),
    "beyond it: a request that shrinks": ({"requests": {"cpu": "1m"}}, {}, 0),
}


@pytest.mark.parametrize("tries", sampled([pytest.param(t, id=t) for t in REFUSED], 2, pytest.mark.thorough))
def test_a_refused_change_within_a_container_takes_the_points_of_its_task_only(tries):
    resources, fields, points = REFUSED[tries]
    folder = LabFolder.read(LABS / "16-capstone")

    def act(cluster):
        folder.answers().reference(cluster)
        made = as_applied(cluster.pod(folder.variant.checkout))
        (main,) = made["spec"]["containers"]
        for kind, amounts in resources.items():
            main["resources"].setdefault(kind, {}).update(amounts)
        main.update(fields)
        cluster.delete("Pod", folder.variant.checkout, grace=0)
        cluster.apply(made)
        cluster.advance(30)

    found = graded(folder, act)
    assert sum(result.points for result in found.results) == points, "\n".join(map(str, found.results))
    assert "no longer what it was" in str(found.rules[-1]) or "less than" in str(found.rules[-1])

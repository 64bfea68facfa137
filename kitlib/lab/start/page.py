"""The start page's actions: prepare a node, keep the guess, run, measure a limit, update the map."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from kitlib.advisor import first_kill as kill
from kitlib.api.errors import KitError
from kitlib.lab.course_map import FIRST_PATH, continue_with, course_map, first_path, grouped
from kitlib.lab.launch import START
from kitlib.lab.lesson import Lesson
from kitlib.lab.prediction import Prediction
from kitlib.lab.progress import Progress
from kitlib.lab.start import throttle
from kitlib.widgets._parts.start_page import StartPage

LESSON = START.removesuffix(".ipynb")
HOW = {
    "docker": "Pods are processes of this machine's kernel, in a disposable container without network.",
    "kubernetes": "Pods are processes of the kernel of a Kubernetes cluster's machine, inside a pod that plays a node.",
    "simulated": "A model that follows the kernel's rules, checked against Linux value for value.",
}
HOW_REAL = "For a real kernel start Docker or Podman, then run <code>kitlib lab --nodes docker</code>."
HOW_REAL_BROWSER = "For a real kernel install kitlib where Docker or Podman runs, then run <code>kitlib lab</code>."


def scene_of(progress: Progress) -> dict[str, Any]:
    """Return the data of the first scenes, and the first stop of the path of ninety minutes, to go on with."""
    pods = [{"name": p.name, "qos": p.qos, "requests": p.requests, "uses": p.uses} for p in kill.PODS]
    card = next(one for one in course_map(progress) if one.number == FIRST_PATH[0])
    return {
        "pods": pods,
        "capacity": kill.CAPACITY,
        "grows": kill.GROWING.name,
        "more": kill.GROWING.wants - kill.GROWING.uses,
        "question": kill.QUESTION,
        "processors": kill.NODE["cpus"],
        "first": throttle.FIRST,
        "lesson": {"path": card.path, "title": f"{card.number} · {card.title}"},
    }


def course_of(progress: Progress) -> dict[str, Any]:
    """Return the course's cards with their progress, by group, the path of ninety minutes, and the next card."""
    cards = course_map(progress)
    on = continue_with(cards, progress)
    groups = [
        {"title": group.title, "before": group.before, "paths": [card.path for card in members]}
        for group, members in grouped(cards)
    ]
    return {
        "cards": [card.as_data() for card in cards],
        "groups": groups,
        "path": [asdict(stop) for stop in first_path(progress)],
        "continue": on.path if on else "",
    }


class _Scenes:
    """The actions of the page's buttons."""

    def __init__(self, nodes: str) -> None:
        self._lesson = Lesson(LESSON, nodes)
        self._progress = Progress()
        self._cluster: Any = None
        self._guess: Prediction | None = None
        self.page = StartPage(
            {
                "hello": self.hello,
                "guess": self.guess,
                "run": self.run,
                "limit": self.limit,
                "map": self.map,
            },
            kernel=self._kernel(),
            scene=scene_of(self._progress),
            course=course_of(self._progress),
        )

    def _kernel(self) -> dict[str, Any]:
        """Return the kernel that answers, and how to get a real one."""
        lesson = self._lesson
        title = "Real kernel" if lesson.kernel == "docker" else "Simulated kernel"
        browser = sys.platform == "emscripten"
        real = "" if lesson.kernel == "docker" else HOW_REAL_BROWSER if browser else HOW_REAL
        how = HOW["kubernetes" if lesson.kernel == "docker" and lesson.as_pods else lesson.kernel]
        return {"real": lesson.kernel == "docker", "title": title, "how": how, "get": real}

    def hello(self) -> None:
        """Prepare the node while the reader reads; the page calls this when it is shown."""
        if self._cluster is None:
            if self.page.kernel["real"]:
                self._report("The node is being made; the first one takes longer, because its image is built.", None)
            self._cluster = self._lesson.cluster([dict(kill.NODE)])
            self.page.kernel = self._kernel()

    def _report(self, text: str, part: float | None) -> None:
        self.page.progress = {"text": text, "part": part}

    def guess(self, value: Any) -> None:
        """Set the learner's guess, which may change before the run."""
        made = Prediction(
            LESSON, "who", kill.QUESTION, choices=[pod.name for pod in kill.PODS], progress=self._progress
        )
        made.answer(str(value))
        self._guess = made

    def run(self) -> None:
        """Start the run in which the kernel kills a process, and show the reason."""
        if self._guess is None:
            raise KitError("Guess first: click the pod that you expect to be killed.")
        self.hello()
        outcome = kill.run(self._cluster, self._report)
        guess = str(self._guess.given)
        said = kill.why(outcome, guess)
        self._guess.observe(outcome.killed or "nobody", said[-1])
        self.page.outcome = {
            **outcome.as_data(),
            "guess": guess,
            "right": guess == outcome.killed,
            "why": said,
            "kernel": self.page.kernel["title"],
        }

    def limit(self, value: Any) -> None:
        """Set another CPU limit in milli-CPU, and measure again."""
        self.hello()
        self.page.reading = throttle.measure(self._cluster, int(value)).as_data()

    def map(self) -> None:
        """Update the map with the current progress."""
        self.page.course = course_of(self._progress)


def make_page(nodes: str = "") -> StartPage:
    """Return the page with its actions. Raises: KitError, if `nodes` is invalid."""
    return _Scenes(nodes).page

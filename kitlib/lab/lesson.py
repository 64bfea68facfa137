"""The first cell of each notebook: the kernel it runs on and why, clusters, and predictions that are kept.

    lesson = Lesson("01")
    cluster = lesson.cluster()

Questions and exercises are in `kitlib.lab.lessons`; the notebook refers to them by their keys.
"""

from __future__ import annotations

import atexit
import html
import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.origin import origin_of, together
from kitlib.lab import host, kubectl, real_nodes, room
from kitlib.lab.exercise import TRIES, Findings, Judgement, Question, judged, tries
from kitlib.lab.gate import OutputGate, shows_all
from kitlib.lab.launch import in_course
from kitlib.lab.lessons import content, content_of_any_copy
from kitlib.lab.notice import notice
from kitlib.lab.pictures import picture_of
from kitlib.lab.prediction import Prediction, Reveal
from kitlib.lab.progress import Progress
from kitlib.lab.summary import Summary
from kitlib.lab.tally import Tally
from kitlib.views.notebook import register
from kitlib.views.tokens import css

if TYPE_CHECKING:
    from kitlib.lab.experiment_run import ExperimentRun
    from kitlib.lab.repetition import WarmUp

T = TypeVar("T")

IN_THE_PAGE = "Python runs in this page, which can start no real nodes"
KERNELS = ("auto", "docker", real_nodes.KUBERNETES, "simulated")
_open: weakref.WeakSet[Any] = weakref.WeakSet()


def choose_kernel(wish: str = "") -> tuple[str, str]:
    """Choose real nodes if an engine answers, else the simulated kernel.

    Args:
        wish: "docker", "kubernetes", "simulated" or "auto"; "" takes KITLIB_NODES, else "auto".

    Returns:
        ("docker" or "simulated", why); nodes that are pods are real ones too, and so "docker" in a course's words.

    Raises:
        KitError: `wish` is not one of these values.
    """
    asked = wish or os.environ.get("KITLIB_NODES") or "auto"
    if asked not in KERNELS:
        raise KitError(f"nodes {asked!r}: choose one of {', '.join(KERNELS)}")
    if sys.platform == "emscripten":
        if asked in ("docker", real_nodes.KUBERNETES):
            raise KitError(f"nodes {asked!r}: {IN_THE_PAGE}; omit the argument")
        return "simulated", IN_THE_PAGE
    if asked == real_nodes.KUBERNETES:
        return "docker", real_nodes.WHY
    if asked != "auto":
        return asked, "chosen by hand"
    from kitlib.cluster import engine_answers

    answers, why = engine_answers()
    return ("docker" if answers else "simulated"), why


class Lesson:
    """A notebook of the course.

    Args:
        name: the notebook's name with or without its number, or its number; predictions are kept under the name.
        nodes: "auto", "docker", "kubernetes" or "simulated"; "" takes KITLIB_NODES.
        because: the reason for the notebook's own choice of `nodes`; "" = the reader's choice.
        progress: the file in which predictions are kept.
        answers: "after" a guess, or "shown" at once, for a trainer; "" takes KITLIB_ANSWERS.

    Attributes:
        kernel: "docker" or "simulated".
        why: the reason for this kernel.
        as_pods: whether real nodes are pods of a Kubernetes cluster.
        print: prints once the open questions have their guesses.
        call_for_help: calls the trainer; with False as argument, withdraws the call.
    """

    def __init__(
        self, name: str, nodes: str = "", *, because: str = "", progress: Progress | None = None, answers: str = ""
    ) -> None:
        with suppress(KitError):  # a notebook that is not of the course
            name = in_course("notebooks", name).stem
        self.name, self._content = name, content_of_any_copy(name)
        self.kernel, self.why = choose_kernel(nodes)
        self.why, self._because = because or self.why, because
        self.as_pods = real_nodes.as_pods(nodes)
        self._by_hand = (nodes or os.environ.get("KITLIB_NODES") or "auto") != "auto"
        register()
        self._progress = progress or Progress()
        self._questions: dict[str, Prediction] = {}
        self._cluster: Any = None
        self._newest: Any = None
        self._stages: list[Any] = []
        self._tally, self._compared, self._told = Tally(), set[str](), set[str]()
        self._served: kubectl.Served | None = None
        self._progress.opened(name)
        self.call_for_help = partial(self._progress.call_for_help, name)
        self._gate = OutputGate(self._questions, shows_all(answers))
        self.print = self._gate.print

    def cluster(self, nodes: Any = 1, **settings: Any) -> Any:
        """Make a cluster on this lesson's kernel, after closing the previous one.

        If real nodes cannot be made and were not requested explicitly, the notebook continues with the simulated
        kernel and says so. Other differences from the request (the cluster's notes) are shown too.

        Args:
            nodes: number of nodes, or a list of node settings.
            settings: settings of `Cluster.simulated`, `Cluster.docker` or `Cluster.kubernetes`.

        Raises:
            KitError: nodes were requested explicitly that cannot be made.
        """
        self._close_main()
        self._close_stages(only_real=True)
        self._cluster = self._newest = self._made(nodes, settings)
        self._served = kubectl.serve(self._cluster)
        self._tell()
        return self._cluster

    def stage(self, nodes: Any = 1, **settings: Any) -> Any:
        """Make a cluster for the widget that opens the notebook; the arguments are those of `cluster`.

        A real one ends when the lesson's own cluster begins: both would share the machine and disturb each other's
        measurements.

        Raises:
            KitError: nodes were requested explicitly that cannot be made.
        """
        made = self._made(nodes, settings)
        self._stages.append(made)
        self._tell()
        return made

    def simulated(self, because: str, nodes: Any = 1, **settings: Any) -> Any:
        """Make a simulated cluster on any kernel; a lesson on real nodes shows the reason.

        Args:
            because: reason for the message, such as "both cgroup versions are compared".
            nodes: number of nodes, or a list of node settings.
            settings: settings of `Cluster.simulated`.
        """
        from kitlib.cluster import Cluster

        if self.kernel == "docker" and because not in self._told:
            self._told.add(because)
            notice(f"Simulated here, not on your real nodes: {because}.")
        made = self._newest = Cluster.simulated(nodes=nodes, **settings)
        self._tally.add(made)
        return made

    def _made(self, nodes: Any, settings: dict[str, Any]) -> Any:
        """Return a cluster on this lesson's kernel; simulated if real nodes were not requested and cannot be made."""
        from kitlib.cluster import Cluster

        made = None
        if self.kernel == "docker":
            try:
                made = real_nodes.real_cluster(as_pods=self.as_pods, nodes=nodes, **settings)
            except KitError as error:
                if self._by_hand:
                    raise
                self.kernel = "simulated"
                self.why = f"an engine answers, but real nodes cannot be made: {str(error).splitlines()[0]}"
                _show(self)
        if made is None:
            made = Cluster.simulated(nodes=nodes, **settings)
        _open.add(made)
        return made

    def _tell(self) -> None:
        """Show the lesson's box again if it has new content."""
        open_ones = self._open_clusters()
        refusals = [refusal.reason for one in open_ones for refusal in origin_of(one).refusals]
        new = {*refusals, *(note for one in open_ones for note in one.notes)} - self._told
        self._told |= new
        if new:
            _show(self)

    def wait(self, happened: Callable[[], Any], at_most: float = 60.0) -> Any:
        """Let time pass until a condition holds: a busy machine takes longer than an idle one.

        Args:
            happened: the condition; evaluated every 0.5 s until it is true.
            at_most: seconds of the cluster's time; three times as long on real nodes, whose machine may be busy.

        Returns:
            The last value of the condition, which is false after a timeout.
        """
        left = at_most * (3 if self.kernel == "docker" else 1)
        while not (found := happened()) and left > 0:
            self._cluster.advance(0.5)
            left -= 0.5
        return found

    def processors(self, wished: int) -> int:
        """Return how many of the requested processors a node can have here: a real node is limited by the machine."""
        if self.kernel != "docker" or self.as_pods:
            return wished
        from kitlib.cluster import engine_processors

        return min(wished, engine_processors() or wished)

    @property
    def cgroup_version(self) -> int:
        """The cgroup version of this lesson's nodes, before any node exists: that of the engine's machine, or 2."""
        if self.kernel != "docker" or self.as_pods:
            return 2
        from kitlib.cluster import engine_cgroup_version

        return engine_cgroup_version() or 2

    def has_systemd(self) -> bool:
        """Return whether a node with the systemd driver is a real one with systemd in it, without building an image."""
        if self.kernel != "docker" or self.as_pods:
            return False
        from kitlib.cluster import engine_has_systemd

        return engine_has_systemd()

    def warm_up(self) -> WarmUp:
        """Return a few questions that this learner has met in earlier notebooks, with new numbers."""
        from kitlib.lab.repetition import WarmUp

        return WarmUp(self.name.partition("-")[0], self._progress)

    def ask(
        self,
        key: str,
        question: str = "",
        *,
        choices: Sequence[str] | None = None,
        unit: str = "",
        tolerance: float = 0.0,
    ) -> Prediction:
        """Return a question to answer before the next cell runs, with buttons or a field.

        Args:
            key: key in the notebook's content, or of a new question.
            question: sentence of a new question.
            choices: its answers; None = a number.
            unit: unit of the number.
            tolerance: allowed relative error of the number.

        Raises:
            KitError: the key is unknown and `question` is empty.
        """
        known = self._content.questions.get(key)
        if known is None and not question:
            raise self._missing("question", key, self._content.questions)
        asked = Question(key, question, tuple(choices or ()), unit, tolerance) if known is None else known
        made = Prediction(
            self.name,
            key,
            asked.text,
            choices=asked.choices or None,
            unit=asked.unit,
            tolerance=asked.tolerance,
            progress=self._progress,
            written=key in self._content.written,
        )
        self._questions[key] = made
        self._gate.close(made)
        return made

    def reveal(self, key: str, observed: Any, why: str = "", **facts: Any) -> Reveal:
        """Return the observation beside the prediction, shown once there is an answer or an "I don't know".

        Args:
            key: key of the question.
            observed: the measured or computed value, which the question maps to one of its choices.
            why: the reason, for a question that is not in the notebook's content.
            facts: values that the reason mentions.

        Raises:
            KitError: the question was not asked.
        """
        if key not in self._questions:
            raise KitError(f"question {key!r} has not been asked in this notebook")
        self._compared.add(key)
        known = self._content.questions.get(key)
        if known is None:
            return self._questions[key].reveal(observed, why)
        answer = known.answer_of(observed) if known.answer_of is not None else observed
        load = host.worst(self._cluster) if known.measured else None
        why = f"{known.why.format(observed=observed, **facts)} {load.sentence if load is not None else ''}".rstrip()
        drawn = None if known.picture is None else picture_of(known, Findings(observed, self._newest, facts))
        return self._questions[key].reveal(answer, why, known.formula, drawn)

    def experiment(
        self,
        key: str | Sequence[str],
        run: Callable[[], T],
        *,
        observed: Callable[[T], Any] | Mapping[str, Callable[[T], Any]] | None = None,
        show: Callable[[T], Any] | None = None,
        **facts: Any,
    ) -> ExperimentRun[T]:
        """Run a function now, and show its result and the reason once the question has a guess.

            experiment = lesson.experiment("pool", run, show=table)
            experiment.value  # what run() returned, for later cells

        Args:
            key: key of the question, or of all questions that the result answers.
            run: the function that is run, once and immediately.
            observed: maps the result to the observation; for several questions, by key. None = the result itself.
            show: maps the result to an object that contains the answer (table, chart, widget, text), or a list; called
                at once.
            facts: values that the reason mentions; a function is called with the result. The fields of a named tuple
                are such values as well.

        Raises:
            KitError: a question was not asked, or several questions have no `observed` each.
        """
        from kitlib.lab.experiment_run import ExperimentRun

        keys = [key] if isinstance(key, str) else list(key)
        read = observed if isinstance(observed, Mapping) else dict.fromkeys(keys[:1], observed or (lambda value: value))
        missing = [one for one in keys if one not in read]
        if missing:
            raise KitError(f"experiment: observed: Required value: a function for {', '.join(missing)}")
        value = run()
        fields = value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else {}
        known = {
            "value": value,
            **fields,
            **{name: fact(value) if callable(fact) else fact for name, fact in facts.items()},
        }
        reveals = [self.reveal(one, read[one](value), **known) for one in keys]
        shown = [] if show is None else show(value)
        return ExperimentRun(reveals, value, shown if isinstance(shown, list | tuple) else [shown])

    def check(self, key: str, answer: Any = ...) -> Judgement:
        """Judge an exercise and keep the result: right, or a hint for the mistake; a solution after two tries.

        Args:
            key: key of the exercise.
            answer: a value, a manifest or a cluster, depending on the exercise; `...` = none yet.

        Raises:
            KitError: the exercise does not exist.
        """
        if key not in self._content.exercises:
            raise self._missing("exercise", key, self._content.exercises)
        made = judged(self._content.exercises[key], answer, self._cluster)
        if made.right is not None:
            kept = {"found": str(answer)[:200], "hint": "" if made.right else made.text, "read": made.read}
            self._progress.record("check", self.name, key, float(made.right), 1.0, **kept)
        return replace(made, solved=self._gate.open_for_all or tries(self._progress.entries(self.name), key) >= TRIES)

    def _missing(self, what: str, key: str, known: Mapping[str, Any]) -> KitError:
        return KitError(f"no {what} {key!r} in notebook {self.name}; valid values: {', '.join(known) or 'none'}")

    def score(self) -> tuple[float, float]:
        """Return the numbers of right answers and of answered questions."""
        return self._progress.score(self.name, ("prediction",))

    def done(self) -> Summary:
        """Return a summary of this notebook's results and the next step; the cluster remains open."""
        exercises = (self._progress.score(self.name, ("check",))[0], float(len(content(self.name).exercises)))
        tally = self._tally.with_open(self._open_clusters())
        tally.predictions = len(self._compared)
        return Summary(self.score(), exercises, self._cluster is not None, str(tally))

    @property
    def notes(self) -> list[str]:
        """The differences from the request, as the open clusters report them, including the host's refusals."""
        open_ones = self._open_clusters()
        refused = together(map(origin_of, open_ones)).refused if open_ones else ""
        notes = [note for one in open_ones for note in one.notes]
        return list(dict.fromkeys([*notes, *([refused] if refused else [])]))

    def _open_clusters(self) -> list[Any]:
        return [*self._stages, *([self._cluster] if self._cluster is not None else [])]

    def close(self) -> None:
        """Close this lesson's open clusters; otherwise they end with the notebook's kernel."""
        self._close_main()
        self._close_stages()

    def _close_stages(self, *, only_real: bool = False) -> None:
        for one in [stage for stage in self._stages if origin_of(stage).real or not only_real]:
            self._tally.add(one)
            one.close()
            self._stages.remove(one)

    def _close_main(self) -> None:
        if self._served is not None:
            self._served.close()
            self._served = None
        if self._cluster is not None:
            self._tally.add(self._cluster)
            self._cluster.close()
            self._cluster = None

    def _kernel_words(self) -> str:
        return _POD_WORDS if self.kernel == "docker" and self.as_pods else _KERNEL_WORDS[self.kernel]

    def __repr__(self) -> str:
        return " ".join((f"{self.name}: {self._kernel_words()} ({self.why})", *map(_sentence, self.notes)))

    def _repr_html_(self) -> str:
        right, of = self.score()
        choice = html.escape(f'Lesson("{self.name}", "{_OTHER[self.kernel]}")')
        other = "" if self._because or sys.platform == "emscripten" else f" Other choice: <code>{choice}</code>."
        score = f" Predictions so far: {right:g} of {of:g} right." if of else ""
        notes = "".join(f"<br>{html.escape(_sentence(note))}" for note in self.notes)
        notes += "<br><code>lesson.call_for_help()</code> calls your trainer." if os.environ.get(room.VARIABLE) else ""
        return (
            f'<style>{css()}</style><p class="kitlib-lesson" style="border-left:2px solid;padding-left:.7em">'
            f"<b>{html.escape(self._kernel_words())}</b> ({html.escape(self.why)}).{other}{score}{notes}</p>"
        )


_KERNEL_WORDS = {"docker": "Real nodes in disposable containers", "simulated": "The simulated kernel"}
_POD_WORDS = "Real nodes as pods of a Kubernetes cluster"
_OTHER = {"docker": "simulated", "simulated": "docker"}


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:].rstrip('.')}."


def _show(lesson: Lesson) -> None:
    """Display the lesson's box again, in a notebook."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        from IPython.display import display

        display(lesson)


def open_clusters() -> list[Any]:
    """Return the clusters of this process's lessons that are not closed."""
    return [cluster for cluster in _open if not cluster.closed]


def _close_all() -> None:
    for cluster in list(_open):
        cluster.close()


atexit.register(_close_all)

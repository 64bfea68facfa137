"""The map of the course: every notebook and lab with its question, its minutes and the learner's progress."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kitlib.lab.launch import START, in_course, in_order
from kitlib.lab.moved import plain
from kitlib.lab.progress import Progress

WORDS_PER_MINUTE = 200
SECONDS_PER_RUN = 30
"""Time to run a code cell that asks nothing, and to look at its result."""
SECONDS_PER_QUESTION = 90
"""Time to answer a question, and to read its answer with the picture; measured by two readers of the path."""
_ASKED = re.compile(r"\blesson\.ask\(\s*[\"']([^\"']+)")


_WARM_UP = "lesson.warm_up()"

FIRST_PATH = ("01", "02", "03b", "05", "11", "12", "13", "14")
"""Numbers of the notebooks of the ninety-minute path after the start page: what everybody needs to know."""
LAST_LINE = "**Ninety minutes:**"
"""Beginning of the line of a notebook before which the path leaves it."""


@dataclass(frozen=True)
class Group:
    """A part of the course that is worked through as a unit.

    Attributes:
        title: heading on the start page.
        before: knowledge that the group requires.
        notebooks: numbers, in order; a lab belongs to the group that contains all notebooks it comes after.
    """

    title: str
    before: str
    notebooks: tuple[str, ...]


_ON_THE_NODE = "01 02 03 03b 04 04b 05 06 06b 07 08 08b 09 10 11 18 19 20 20b"
_THE_SCHEDULER = "12 12b 13 13b 14 14b 15 15b 16 17"
_DAY_TWO = "21 21b 22 22b 23 23b 24"
GROUPS = (
    Group("On the node", "what a pod, a request and a limit are", tuple(_ON_THE_NODE.split())),
    Group("The scheduler", "notebooks 01 and 02", tuple(_THE_SCHEDULER.split())),
    Group("Day two and devices", "notebooks 04, 11 and 14", tuple(_DAY_TWO.split())),
    Group("Older articles", "the notebooks that its sections name", ("25",)),
)
TOGETHER = Group("All of it together", "the node and the scheduler", ())
"""The group of labs that need notebooks of several groups."""


@dataclass(frozen=True)
class Card:
    """A notebook or lab.

    Attributes:
        kind: "notebook" or "lab".
        number: "01".
        name: name of its file or folder.
        title: title in its heading.
        question: its question, or the incident of a lab.
        minutes: duration in minutes.
        path: path of the notebook from the course folder.
        done: right predictions of a notebook, points of a lab.
        of: possible number of them.
        state: "new", "begun" or "done"; a notebook is done when all its questions are answered.
        stars: difficulty of a lab, 1 to 3; 0 for a notebook.
        after: numbers of the notebooks that come before a lab.
    """

    kind: str
    number: str
    name: str
    title: str
    question: str
    minutes: int
    path: str
    done: float
    of: float
    state: str
    stars: int = 0
    after: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return the card as plain values for the page."""
        return {**asdict(self), "after": list(self.after)}


@dataclass(frozen=True)
class Stop:
    """A notebook of the ninety-minute path, from its beginning to the section before which the path leaves it.

    Attributes:
        path: path of the notebook from the course folder.
        minutes: duration of this part in minutes.
        until: heading of the first section that is left out.
        state: "new", "begun" or "done"; it is done when all questions before that section are answered.
    """

    path: str
    minutes: int
    until: str
    state: str


def course_map(progress: Progress) -> list[Card]:
    """Return the cards of the notebooks in order, then those of the labs."""
    scores: dict[str, tuple[float, float]] = {}
    for name in {entry.lab for entry in progress.entries()}:
        scores[name] = progress.score(name)
    cards = [_notebook(path, scores) for path in in_order("notebooks") if path.name != START]
    return cards + [_lab(folder, scores) for folder in in_order("labs")]


def grouped(cards: Sequence[Card]) -> list[tuple[Group, list[Card]]]:
    """Return each group with its notebooks, then its labs, the easiest lab first.

    Raises:
        StopIteration: a notebook is in no group.
    """
    found: dict[str, list[Card]] = {group.title: [] for group in (*GROUPS, TOGETHER)}
    for card in sorted(cards, key=lambda card: (card.kind == "lab", card.stars)):
        about = card.after or (card.number,)
        homes = {next(group.title for group in GROUPS if number in group.notebooks) for number in about}
        found[homes.pop() if len(homes) == 1 else TOGETHER.title].append(card)
    return [(group, found[group.title]) for group in (*GROUPS, TOGETHER)]


def first_path(progress: Progress) -> list[Stop]:
    """Return the stops of the ninety-minute path in order, without the start page."""
    return [_stop(in_course("notebooks", number), progress) for number in FIRST_PATH]


def of_number(number: str) -> str:
    """Return the name, without its number, of the notebook with a number such as "03b"."""
    return plain(in_course("notebooks", number).stem)


def asked_at_stop(number: str) -> set[str]:
    """Return the keys of the questions that a stop of the ninety-minute path asks."""
    return _beginning(in_course("notebooks", number)).asked


def continue_with(cards: Sequence[Card], progress: Progress) -> Card | None:
    """Return the card to continue with; None if all are done.

    For a learner of the ninety-minute path, who has worked on nothing else: the first stop that is not done; after
    the last, the first new notebook. For others it is the card used last if that is not done, else the next one.
    """
    by_name = {plain(card.name): card for card in cards}
    if _only_the_path(by_name, progress):
        left = [stop.path for stop in first_path(progress) if stop.state != "done"]
        return next(card for card in cards if (card.path == left[0] if left else card.state == "new"))
    last = ""
    for entry in progress.entries():
        if entry.lab in by_name:
            last = entry.lab
    if last and by_name[last].state != "done":
        return by_name[last]
    rest = [card for card in cards if card.state != "done"]
    later = [card for card in rest if last and card.kind == by_name[last].kind and card.number > by_name[last].number]
    return next(iter(later or rest), None)


def _only_the_path(by_name: Mapping[str, Card], progress: Progress) -> bool:
    """Return whether the learner has answered nothing but questions of the stops."""
    used = {(entry.lab, entry.task) for entry in progress.entries() if entry.kind != "open" and entry.lab in by_name}
    return used <= {(of_number(number), key) for number in FIRST_PATH for key in asked_at_stop(number)}


def _read(cells: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """Return the prose of a notebook's cells and the sources of its code cells."""
    own = [cell for cell in cells if "kitlib" not in cell["metadata"]]  # questions are read in their widgets
    prose = "\n".join("".join(cell["source"]) for cell in own if cell["cell_type"] == "markdown")
    return prose, ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@dataclass(frozen=True)
class _Beginning:
    """The part of a notebook before the path leaves it: prose, code cells, questions' keys; and the next heading."""

    prose: str
    code: list[str]
    asked: set[str]
    until: str


@cache
def _beginning(path: Path) -> _Beginning:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    last = next(i for i, cell in enumerate(cells) if LAST_LINE in "".join(cell["source"]))
    before, _, after = "".join(cells[last]["source"]).partition(LAST_LINE)
    prose, code = _read(cells[:last])
    asked = {key for source in code for key in _ASKED.findall(source)}
    return _Beginning(f"{prose}\n{before}", code, asked, re.findall(r"^#+ (.+)$", after, re.M)[0])


def _stop(path: Path, progress: Progress) -> Stop:
    taken = _beginning(path)
    answered = {entry.task for entry in progress.entries(path.stem) if entry.kind == "prediction"} & taken.asked
    minutes = round(minutes_of(taken.prose, taken.code))
    return Stop(f"notebooks/{path.name}", minutes, taken.until, _state(len(answered), len(taken.asked)))


def _notebook(path: Path, scores: dict[str, tuple[float, float]]) -> Card:
    prose, code = _read(json.loads(path.read_text(encoding="utf-8"))["cells"])
    heading = next(iter(re.findall(r"^# (.+)$", prose, re.M)), path.stem)
    question = next(iter(re.findall(r"^> (.+)$", prose, re.M)), "").replace("`", "")  # a card shows plain text
    number, _, title = heading.partition(" · ")
    asked = sum(len(_ASKED.findall(source)) for source in code)
    right, answered = scores.get(plain(path.stem), (0.0, 0.0))
    return Card(
        "notebook",
        path.stem.partition("-")[0],
        path.stem,
        title or number,
        question,
        max(5, round(minutes_of(prose, code) / 5) * 5),
        f"notebooks/{path.name}",
        min(right, asked),
        asked,
        _state(answered, asked),
    )


def minutes_of(prose: str, code: Sequence[str]) -> float:
    """Return the minutes that a notebook takes.

    Args:
        prose: its text, without the questions, which are read in their own time; the warm-up counts as one question,
            as at a stop of the ninety-minute path.
        code: the sources of its code cells.
    """
    asked = sum(len(_ASKED.findall(source)) + (_WARM_UP in source) for source in code)
    runs = sum(not (_ASKED.search(source) or _WARM_UP in source) for source in code)
    return len(prose.split()) / WORDS_PER_MINUTE + (asked * SECONDS_PER_QUESTION + runs * SECONDS_PER_RUN) / 60


def _state(reached: float, of: float, *, begun: bool = False) -> str:
    if of and reached >= of:
        return "done"
    return "begun" if reached or begun else "new"


def _lab(folder: Path, scores: dict[str, tuple[float, float]]) -> Card:
    data = tomllib.loads((folder / "lab.toml").read_text(encoding="utf-8"))
    name = folder.name
    parts = [*data.get("tasks", ()), *data.get("predictions", ())]
    total = sum(float(part.get("points", 1)) for part in parts)
    done, of = scores.get(plain(name), (0.0, 0.0))
    return Card(
        "lab",
        name[:2],
        name,
        data["title"],
        data["story"],
        data["minutes"],
        f"labs/{name}/lab.ipynb",
        done,
        max(total, of),
        _state(done if of else 0, max(total, of), begun=bool(of)),
        data["difficulty"],
        tuple(data.get("teaches", ())),
    )

"""The map of the course: every notebook and lab with its question, its minutes and what the learner has done in it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kitlib.lab.launch import START, course_source
from kitlib.lab.progress import Progress

WORDS_PER_MINUTE = 180
SECONDS_PER_CELL = 35
"""A code cell is read, run, and its result is looked at."""
_ASKED = re.compile(r"\blesson\.ask\(")


@dataclass(frozen=True)
class Card:
    """One notebook or lab.

    Attributes:
        kind: "notebook" or "lab".
        number: "01".
        name: as its progress is kept.
        title: from its heading.
        question: what it asks, or what happened.
        minutes: how long it takes.
        path: of the notebook, from the course folder.
        done: right predictions of a notebook, points of a lab.
        of: as many as there are.
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
        """For the page: plain values."""
        return {**asdict(self), "after": list(self.after)}


def course_map(progress: Progress) -> list[Card]:
    """The notebooks in order, then the labs."""
    scores: dict[str, tuple[float, float]] = {}
    for name in {entry.lab for entry in progress.entries()}:
        scores[name] = progress.score(name)
    notebooks = sorted(course_source("notebooks").glob("[0-9][0-9]-*.ipynb"))
    cards = [_notebook(path, scores) for path in notebooks if path.name != START]
    labs = sorted(course_source("labs").glob("*/lab.toml"))
    return cards + [_lab(path, scores) for path in labs]


def continue_with(cards: Sequence[Card], progress: Progress) -> Card | None:
    """Where to go on: what was begun last and is not done, else the first that is new; None when all are done."""
    by_name = {card.name: card for card in cards}
    last = ""
    for entry in progress.entries():
        if entry.lab in by_name:
            last = entry.lab
    if last and by_name[last].state != "done":
        return by_name[last]
    rest = [card for card in cards if card.state != "done"]
    later = [card for card in rest if last and card.kind == by_name[last].kind and card.number > by_name[last].number]
    return next(iter(later or rest), None)


def _notebook(path: Path, scores: dict[str, tuple[float, float]]) -> Card:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    heading = next(iter(re.findall(r"^# (.+)$", prose, re.M)), path.stem)
    question = next(iter(re.findall(r"^> (.+)$", prose, re.M)), "").replace("`", "")  # a card shows plain text
    number, _, title = heading.partition(" · ")
    seconds = len(prose.split()) * 60 / WORDS_PER_MINUTE + len(code) * SECONDS_PER_CELL
    asked = sum(len(_ASKED.findall(source)) for source in code)
    right, answered = scores.get(path.stem, (0.0, 0.0))
    return Card(
        "notebook",
        path.name[:2],
        path.stem,
        title or number,
        question,
        max(5, round(seconds / 300) * 5),
        f"notebooks/{path.name}",
        min(right, asked),
        asked,
        _state(answered, asked),
    )


def _state(reached: float, of: float, *, begun: bool = False) -> str:
    if of and reached >= of:
        return "done"
    return "begun" if reached or begun else "new"


def _lab(path: Path, scores: dict[str, tuple[float, float]]) -> Card:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    name = path.parent.name
    parts = [*data.get("tasks", ()), *data.get("predictions", ())]
    total = sum(float(part.get("points", 1)) for part in parts)
    done, of = scores.get(name, (0.0, 0.0))
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

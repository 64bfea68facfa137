"""The trainer's edition of the labs: worked solutions, pitfalls, talking points, timing, printed sheets, the schedule.

Solutions and wrong answers come from `labs/NAME/solution/answers.yaml`, which the labs' tests run, so they are known
to pass and fail. An installed kit has no solutions, since learners must not have them; a checkout of the source is
required. Names and numbers belong to one variant; learners have their own, unless the room has a fixed one.
"""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab.definition import LabFolder
from kitlib.lab.files import write_whole
from kitlib.lab.lessons import content
from kitlib.lab.misconceptions import behind, notebooks
from kitlib.workshop.roster import Person

SOLUTIONS = "solution/answers.yaml"
DAY = """# The day

## Before people come
* `kitlib workshop FOLDER --rehearse N` on the host, days before; nothing of it stays.
* Start the hub. Open /services/room/ as `trainer`: wait until everybody's server was started.
* Close what is not for the first hour: buttons "Close 03" and so on, or `kitlib room … --close all --open 01`.
* Lay out the sheets (sheets.html). The word of the room goes on the whiteboard, never on a sheet.

## While they work
* /services/room/ on your phone: first those who ask for help, then those who are stuck, longest first.
* Before a prediction is answered: ask it of the room, show the result, let neighbours talk, vote again, run the cell.
* After two thirds of a lab's time: show one learner's way, then the pitfall that most of the room met.

## At the end
* "Collect and sign progress files", then `kitlib lab-report collected --key room-key.pem.pub --recheck -o table.html`.
* `--feedback pages` writes a page for each learner; give it to them, not to the room.
* Stop the hub. Take with you: `collected`, `votes.jsonl`, the hub's key.

## What is kept about whom
| what | where | about |
|---|---|---|
| progress files: what was opened, predicted, done, checked, when | learners' folders, `collected` | each account |
| the roster | roster.csv | names and accounts |
| words of one's own, hashed (bcrypt) | passwords.dbm of the hub | each account |
| votes | votes.jsonl | none: counts only |
| the hub's log and database | the hub's folder | logins with times and addresses |

Say so in the morning, and until when you keep it. To delete everything: stop the hub, then remove the learners' folder,
`collected`, `votes.jsonl`, roster.csv, and the hub's folder with jupyterhub.sqlite, passwords.dbm and its log.
"""


def labs_of(source: Path, seed: int = 0) -> list[LabFolder]:
    """Return the labs of a checkout's folder `labs`.

    Raises:
        KitError: no lab in it has solutions.
    """
    labs = [LabFolder.read(path.parent, seed) for path in sorted(source.glob("*/lab.toml"))]
    if not any((lab.path / SOLUTIONS).exists() for lab in labs):
        raise KitError(
            f"{source}: no lab has the file {SOLUTIONS}; an installed kit has no solutions, so use the folder `labs` "
            "of a source checkout"
        )
    return labs


def write(folder: Path, source: Path, *, seed: int = 0, people: Sequence[Person] = ()) -> list[str]:
    """Write the trainer's edition and return the names of the files.

    Args:
        folder: the folder to write to, created if missing.
        source: the checkout's folder `labs`.
        seed: seed of the variant.
        people: people for whom sheets are printed; () = one sheet with blanks.

    Raises:
        KitError: the folder cannot be written, or `source` has no solutions.
    """
    labs = labs_of(source, seed)
    texts = {f"{lab.name}.md": lab_text(lab) for lab in labs}
    texts |= {
        "questions.md": questions(),
        "timing.md": timing(labs),
        "day.md": DAY,
        "front.ipynb": json.dumps(front(labs), indent=1, ensure_ascii=False) + "\n",
        "sheets.html": sheets(people),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_whole(folder / name, text)
    except OSError as error:
        raise KitError(f"{folder}: {error.strerror or error}") from error
    return sorted(texts)


def lab_text(lab: LabFolder) -> str:
    """Return a lab for the trainer as Markdown."""
    definition, answers = lab.definition, lab.answers_data()
    parts = [
        f"# Lab {lab.name.partition('-')[0]}: {definition.title}",
        f"{definition.minutes} minutes, difficulty {definition.difficulty} of 3, after notebook "
        f"{' and '.join(definition.teaches) or '-'}. Names and numbers: variant {lab.seed}.",
        f"{definition.story}\n\n{definition.brief.strip()}",
        "\n".join(f"* {command}" for command in definition.commands()),
        "## Ask first",
        *[
            f"{_prediction(prediction)}{_misconceptions('lab ' + lab.name.partition('-')[0], prediction.key)}"
            for prediction in definition.predictions
        ],
        "## A worked solution",
        _steps(answers["reference"]),
        "What is checked, and the rules:",
        "\n".join(
            [f"* {task.title} ({task.points:g})" for task in definition.tasks]
            + [f"* rule: {rule.title}. {_sentence(rule.hint)}" for rule in definition.rules]
        ),
    ]
    if right := answers.get("right"):
        parts += ["## Other ways that pass", *[f"**{_sentence(way)}** {_steps(steps)}" for way, steps in right.items()]]
    parts += [
        "## Pitfalls",
        "What people try, and what the check tells them:",
        "\n".join(f"* {_capital(one['tries'])}: “{one['says']}”." for one in answers["wrong"]),
        "## Hints, from vague to plain",
        "\n".join(f"* {task.key}: {hint}" for task in definition.tasks for hint in task.hints) or "There are none.",
    ]
    if definition.left:
        parts += ["## To talk about at the end", definition.left]
    return "\n\n".join(parts) + "\n"


def _prediction(one: Any) -> str:
    choices = f" ({' / '.join(one.choices)})" if one.choices else f" (a number, {one.unit or 'no unit'})"
    return f"* {one.question}{choices}\n\n  Why: {one.why}"


def _misconceptions(place: str, key: str) -> str:
    """Return the misconceptions behind wrong answers, as a paragraph of a list's item."""
    return "".join(f"\n\n  Who says “{wrong}”: {words}" for wrong, words in behind(place, key).items())


def questions() -> str:
    """Return the questions of all notebooks with the misconceptions behind their wrong answers, as Markdown."""
    parts = ["# Questions of the notebooks", "Ask the room before the cell with the answer is run."]
    for number in notebooks():
        parts.append(f"## Notebook {number}")
        for key, question in content(number).questions.items():
            answers = " / ".join(question.choices) or f"a number, {question.unit}"
            parts.append(f"* **{key}**: {question.text} ({answers}){_misconceptions(number, key)}")
    return "\n\n".join(parts) + "\n"


def _steps(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the steps of an answer as sentences."""
    return " ".join(_step(step) for step in steps)


def _step(step: Mapping[str, Any]) -> str:
    if "change" in step:
        made = [
            f"delete `{field}`" if value is None else f"set `{field}` to {_value(value)}"
            for field, value in (step.get("set") or {}).items()
        ]
        how = "Edit" if step.get("update") else "Change the manifest of"
        text = f"{how} {step['change']}: {', '.join(made)}." if made else f"Make {step['change']} again, as it was."
    elif "apply" in step:
        kinds = [f"{one['kind']} {one['metadata']['name']}" for one in step["apply"] if isinstance(one, Mapping)]
        text = f"Apply {', '.join(kinds) or 'the manifests'}:\n\n{_block(step['apply'])}\n\n"
    elif "resize" in step:
        text = f"Resize the pod {step['resize']} in place: {_value(step['containers'])}."
    elif "patch" in step:
        text = f"Patch {step['patch']} with {_value(step['with'])}."
    elif "write" in step:
        of = "all pods" if step.get("above") else step["write"]
        text = f"Write {_value(step.get('value', step.get('v2')))} into a cgroup file of {of} by hand."
    elif "drain" in step:
        text = f"Drain {step['drain']} for {step.get('for', 60)} s."
    elif "bind" in step:
        text = f"Bind {step['bind']} to {step['to']}."
    elif "wait" in step:
        text = f"Let {step['wait']} s pass."
    else:
        verb, name = next((key, value) for key, value in step.items() if key in ("delete", "evict"))
        text = f"{verb.capitalize()} {name}."
    return f"{text} The cluster may refuse it." if step.get("refused") else text


def _value(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value}`"


def _block(value: Any) -> str:
    return textwrap.indent(json.dumps(value, indent=1, ensure_ascii=False), "    ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return f"{_capital(text).rstrip('.')}." if text else ""


def timing(labs: Sequence[LabFolder]) -> str:
    """Return the labs' times, as Markdown."""
    rows = [
        f"| {lab.name.partition('-')[0]} | {lab.definition.title} | {lab.definition.minutes} | "
        f"{-(-2 * lab.definition.minutes // 3)} | {lab.definition.difficulty} | {', '.join(lab.definition.teaches)} |"
        for lab in labs
    ]
    total = sum(lab.definition.minutes for lab in labs)
    head = "| lab | title | minutes | show one way after | difficulty | after notebook |\n|---|---|---|---|---|---|"
    return (
        f"# Times\n\nAll labs together: {total} minutes. guide.md has timetables.\n\n{head}\n" + "\n".join(rows) + "\n"
    )


def front(labs: Sequence[LabFolder]) -> dict[str, Any]:
    """Return the notebook of the front machine: each lab opened, its questions, cells for one learner's solution."""
    cells = [
        _cell(
            "markdown",
            "title",
            "# At the front\n\nRun a lab's cells while the room watches. Ask the room before a guess.",
        )
    ]
    for lab in labs:
        number = lab.name.partition("-")[0]
        cells.append(
            _cell("markdown", f"{number}-title", f"## Lab {number}: {lab.definition.title}\n\n{lab.definition.story}")
        )
        cells.append(
            _cell(
                "code", f"{number}-open", f"from kitlib.lab import Lab\n\nlab = Lab({lab.name!r}, seed={lab.seed})\nlab"
            )
        )
        for prediction in lab.definition.predictions:
            cells.append(
                _cell("markdown", f"{number}-{prediction.key}-ask", f"Ask the room: **{prediction.question}**")
            )
            cells.append(_cell("code", f"{number}-{prediction.key}-guess", f"lab.predict({prediction.key!r})"))
        cells.append(_cell("code", f"{number}-edit", "lab.edit()"))
        cells.append(_cell("code", f"{number}-check", "lab.check()"))
        cells += [
            _cell("code", f"{number}-{one.key}-reveal", f"lab.reveal({one.key!r})")
            for one in lab.definition.predictions
        ]
        if lab.definition.left:
            cells.append(_cell("markdown", f"{number}-left", f"To talk about: {lab.definition.left}"))
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, name: str, text: str) -> dict[str, Any]:
    cell = {"cell_type": kind, "id": f"front-{name}"[:64], "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def sheets(people: Sequence[Person]) -> str:
    """Return a page to print with a card for each person: the account and the first steps."""
    blank = "_" * 24
    cards = "".join(
        f"<section><h2>{html.escape(person.name)}</h2><p>Address: <b>{blank}</b></p>"
        f"<p>Account: <b>{html.escape(person.account)}</b></p>"
        "<p>Password: a word of your own, 7 characters or more. You choose it now; do not write it here.</p>"
        "<p>Word of the room: on the whiteboard.</p><p>Stuck? <b>I need help</b>, below the lab’s editor or at "
        "<b>/services/room/</b>. Votes: <b>/services/room/vote/</b></p></section>"
        for person in (people or (Person(blank, blank),))
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Sheets</title><style>body{font:13pt system-ui;'
        "margin:0}section{border:1px dashed #767676;padding:8mm;width:95mm;height:70mm;box-sizing:border-box;"
        "float:left;break-inside:avoid}h2{margin:0 0 3mm}p{margin:1.5mm 0}@page{size:A4;margin:8mm}</style>"
        f"{cards}</html>\n"
    )

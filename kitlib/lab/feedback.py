"""A page for each learner from the instructor's table: labs, tries, minutes, results of the replay, predictions."""

from __future__ import annotations

import html
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.lab import submissions
from kitlib.lab.files import write_whole
from kitlib.lab.report import LearnerRow


def write(folder: Path, rows: list[LearnerRow]) -> int:
    """Write NAME.html for every learner and return the number of pages.

    Raises:
        KitError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for row in rows:
            write_whole(folder / f"{row.learner.replace('/', '_')}.html", page(row))
    except OSError as error:
        raise KitError(f"{folder}: {error.strerror or error}") from error
    return len(rows)


def page(row: LearnerRow) -> str:
    """Return one learner's page."""
    course = submissions.course_labs()
    labs = "".join(
        f"<tr><th scope=row>{html.escape(course[lab].title)}</th><td>{points:g} of {of:g}</td>"
        f"<td>{row.tries.get(lab, 0)}</td><td>{row.hints.get(lab, 0)}</td><td>{row.minutes.get(lab, 0):.0f}</td></tr>"
        for lab, (points, of) in row.labs.items()
    )
    told = "".join(f"<li>{html.escape(text)}</li>" for text in row.not_confirmed or ())
    guesses = "".join(
        f"<li>{html.escape(place)}: {sum(answers.values())} of {len(answers)} right"
        f"{_wrong([key for key, right in answers.items() if not right])}</li>"
        for place, answers in row.predictions.items()
    )
    name = html.escape(row.name or row.learner)
    confirmed = "a replay confirmed them" if row.not_confirmed == () else "not replayed"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{name}</title><style>body{{font:16px system-ui;margin:2em;max-width:50em}}"
        "table{border-collapse:collapse}th,td{padding:.3em .8em;border-bottom:1px solid #767676;text-align:left}"
        f"</style><h1>{name}</h1><p>{row.points:g} points"
        f"{f' ({confirmed})' if row.not_confirmed in ((), None) else ''}.</p><table><thead><tr><th scope=col>Lab"
        "<th scope=col>Points<th scope=col>Checks<th scope=col>Hints<th scope=col>Minutes</tr></thead>"
        f"<tbody>{labs}</tbody></table>{f'<h2>Not confirmed by a replay</h2><ul>{told}</ul>' if told else ''}"
        f"{f'<h2>Predictions</h2><ul>{guesses}</ul>' if guesses else ''}</html>\n"
    )


def _wrong(keys: list[str]) -> str:
    return f"; look again at: {html.escape(', '.join(keys))}" if keys else ""

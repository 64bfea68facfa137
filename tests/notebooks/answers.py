"""Whether a text gives an answer away."""

from __future__ import annotations

import re
from typing import Any

SMALL = 4
"""Below it a number stands in many texts: it counts only with its noun beside it."""


def gives_away(answer: Any, unit: str, text: str) -> bool:
    """Return whether a text contains an answer.

    Args:
        answer: the right answer: a number, or one of the choices.
        unit: the unit of the number, or the noun that it counts.
        text: prose, code or the output of a cell.
    """
    if isinstance(answer, str) and not answer.isdigit():
        words = re.escape(" ".join(answer.split()))
        return re.search(rf"(?<![\w-]){words}(?![\w-])", " ".join(text.split()), re.IGNORECASE) is not None
    answer = float(answer)
    number = re.escape(f"{answer:g}")
    noun = re.escape(unit.rstrip("s")) if unit else ""
    if noun:
        return re.search(rf"(?<![\w.]){number}\s?{noun}", text) is not None
    return answer >= SMALL and re.search(rf"(?<![\w.]){number}(?![\w.]|\.\d)", text) is not None


def singles_out(answer: Any, choices: Any, unit: str, text: str) -> bool:
    """Return whether a text gives an answer away: a number, or a choice where most other choices do not stand.

    A scenario names all its pods, so the name of one of them is no answer; a text that has the right choice and hardly
    another one is.
    """
    if not gives_away(answer, unit, text):
        return False
    others = [one for one in choices if one != answer]
    return not others or 2 * sum(gives_away(one, "", text) for one in others) < len(others)

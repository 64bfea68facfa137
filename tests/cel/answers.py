"""What an expression gives, or the words of its error."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.cel.expression import compile_expression


def answer(text: str, **names: Any) -> Any:
    """The value of an expression whose names are of any type; of an error the first line of its text."""
    try:
        made = compile_expression(text, dict.fromkeys(names, "dyn"), max_length=4096)
        return made.evaluate(names, 100_000)
    except KitError as error:
        return str(error).split("\n")[0]

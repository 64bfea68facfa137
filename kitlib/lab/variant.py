"""Variants of a lab: other names, numbers and victims by seed, so that two neighbours do not share an answer.

A lab's `variant.py` has one function, `variant(choose)`, which returns the values by name: `choose("web", "shop")`
picks one of its options. Seed 0 picks the first option everywhere. The values replace `$name` in lab.toml, the setup
and the answers, and checks read them from `facts.variant`.

The seed is KITLIB_LAB_SEED, which an instructor can set, else a number that is drawn once for each learner and kept
beside the progress file.
"""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from string import Template
from types import SimpleNamespace
from typing import Any

from kitlib.api.errors import KitError

MAX_SEED = 2**31 - 1
Choose = Callable[..., Any]


def values_of(function: Callable[[Choose], Mapping[str, Any]] | None, lab: str, seed: int) -> SimpleNamespace:
    """Return the values of a variant.

    Args:
        function: `variant` of the lab's variant.py; None = the lab has one variant.
        lab: the lab's name; the same seed draws independently for each lab.
        seed: seed of the draw; 0 takes each first option.
    """
    if function is None:
        return SimpleNamespace()
    drawn = random.Random(f"{lab}:{seed}")

    def choose(*options: Any) -> Any:
        picked = drawn.choice(options)
        return options[0] if seed == 0 else picked

    return SimpleNamespace(**function(choose))


def fill(text: str, values: SimpleNamespace, where: str = "") -> str:
    """Return a text with `$name` replaced by the variant's values.

    Raises:
        KitError: the text uses a name that the variant does not have.
    """
    try:
        return Template(text).substitute(vars(values))
    except (KeyError, ValueError) as error:
        raise KitError(f"{where or 'lab'}: the variant does not define the placeholder ${error}") from None


def fill_all(data: Any, values: SimpleNamespace, where: str = "") -> Any:
    """Return plain data with every text filled; a text that consists of one `$name` becomes the value itself."""
    if isinstance(data, dict):
        return {fill(key, values, where): fill_all(one, values, where) for key, one in data.items()}
    if isinstance(data, list):
        return [fill_all(one, values, where) for one in data]
    if isinstance(data, str):
        if data[:1] == "$" and hasattr(values, data[1:]):
            return getattr(values, data[1:])
        return fill(data, values, where)
    return data


def check_seed(seed: Any, name: str = "seed") -> int:
    """Return a seed as a number.

    Raises:
        KitError: the seed is not a whole number from 0 to `MAX_SEED`.
    """
    try:
        found = int(str(seed))
    except ValueError:
        found = -1
    if not 0 <= found <= MAX_SEED:
        raise KitError(f"{name}: must be a whole number from 0 to {MAX_SEED}, got {seed!r}")
    return found


def learners_seed(folder: Path) -> int:
    """Return the seed of the labs for the learner whose progress is kept in `folder`.

    Raises:
        KitError: KITLIB_LAB_SEED is not a valid seed.
    """
    fixed = os.environ.get("KITLIB_LAB_SEED")
    if fixed:
        return check_seed(fixed, "KITLIB_LAB_SEED")
    file = folder / "lab-seed"
    with suppress(OSError, KitError):
        return check_seed(file.read_text(encoding="ascii").strip(), str(file))
    drawn = secrets.randbelow(MAX_SEED) + 1
    with suppress(OSError):  # a full or read-only disk: this variant lasts as long as the notebook
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{drawn}\n", encoding="ascii")
    return drawn

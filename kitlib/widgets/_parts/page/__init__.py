"""The code of the page: scripts and one style sheet, sent to the browser unchanged from this folder.

Imported by the parts of widgets and by the start page. Face: `script`, `style`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kitlib.views.tokens import css

_FOLDER = Path(__file__).parent


def text(name: str) -> str:
    """Return the content of a file in this folder."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def script(name: str, **constants: Any) -> str:
    """Return a script of this folder, preceded by constants that it reads by name."""
    given = "".join(f"const {key} = {json.dumps(value)};\n" for key, value in constants.items())
    return given + text(name)


def style() -> str:
    """Return the style sheet of the tokens and of all widgets, also for the kit's own pages."""
    return css() + text("kitlib.css")

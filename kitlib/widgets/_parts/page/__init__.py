"""What runs in the page: scripts and one style sheet, sent to the browser as they stand in this folder.

Imported by the parts of widgets and by the start page. Face: `script`, `style`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kitlib.views.tokens import css

_FOLDER = Path(__file__).parent


def text(name: str) -> str:
    """A file of this folder."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def script(name: str, **constants: Any) -> str:
    """A script of this folder, with constants that it finds under their names."""
    given = "".join(f"const {key} = {json.dumps(value)};\n" for key, value in constants.items())
    return given + text(name)


def style() -> str:
    """The design as one style sheet: the tokens and what all widgets share; for pages of the kit's own too."""
    return css() + text("kitlib.css")

"""The text of each question as a Markdown cell above the cell that asks it: a notebook can be read where nothing runs.

    python tests/notebooks/written_questions.py

writes them anew after a question of `kitlib/lab/lessons`, a lab or a notebook has changed; a test holds both equal. The
notebooks and labs that README names also get a picture of the situation (`situations.py`). The picture's file is
drawn anew by Chromium where the drawing has changed; the cell keeps the digests of the drawing and of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kitlib.lab.definition import LabFolder
from kitlib.lab.exercise import Question
from kitlib.lab.lessons import content

sys.path.insert(0, str(Path(__file__).parent))
from course import ASKED, NAMES, NOTEBOOKS, ROOT
from situations import SITUATIONS, Picture

LABS = sorted({name for name, _ in SITUATIONS if name not in NAMES})
"""Labs with a written question: those that README names."""
PREDICTED = re.compile(r'lab\.predict\(\s*"([^"]+)"')
VARIANT = "\n\n*The names and numbers are those of one variant; yours has its own.*"


def text_of(question: Question) -> str:
    """Return a question as a block of Markdown: what is asked, then the choices or the unit."""
    lines = [f"> **Predict:** {_plain(question.text)}"]
    if question.choices:
        lines += [">", "> " + " · ".join(f"*{_plain(choice)}*" for choice in question.choices)]
    elif question.unit and question.unit not in question.text:
        lines[0] += f" ({_plain(question.unit)})"
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Escape what Markdown, or the formulas in it, would read as marks."""
    return re.sub(r"([\\`*_$<>|\[\]])", r"\\\1", text.strip())


def notebook_of(name: str) -> Path:
    """Return the file of a notebook of the course, or of a lab."""
    return NOTEBOOKS / f"{name}.ipynb" if name in NAMES else ROOT / "labs" / name / "lab.ipynb"


def picture_of(name: str, key: str) -> Path:
    """Return the file of the picture above a question; Jupyter serves no hidden folder."""
    return notebook_of(name).parent / "pictures" / f"{name[:2]}-{key}.png"


def questions_of(name: str) -> Mapping[str, Question]:
    """Return the questions of a notebook by key; those of a lab in the words of its first variant."""
    if name in NAMES:
        return content(name).questions
    found = LabFolder.read(ROOT / "labs" / name).definition.predictions
    return {one.key: Question(one.key, one.question, list(one.choices), unit=one.unit) for one in found}


def with_questions(name: str, notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with one Markdown cell above each question, and no others that were written.

    Args:
        name: stem of its file, which is the lesson's name, or the lab's name.
        notebook: in nbformat 4.
    """
    questions = questions_of(name)
    asked = ASKED if name in NAMES else PREDICTED
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        if cell["metadata"].get("kitlib", {}).keys() & {"question", "picture"}:
            continue
        if cell["cell_type"] == "code":
            for key in asked.findall("".join(cell["source"])):
                if key in questions:
                    cells += [*_picture(name, key), _question(name, questions[key])]
        cells.append(cell)
    return {**notebook, "cells": cells}


def _picture(name: str, key: str) -> list[dict[str, Any]]:
    """Return the cell of the picture above a question, if it has one."""
    if (name, key) not in SITUATIONS:
        return []
    picture, file = SITUATIONS[name, key](), picture_of(name, key)
    text = f"![{_plain(picture.sentence)}](pictures/{file.name})"
    digests = {"drawing": digest(picture.svg.encode()), "file": digest(file.read_bytes()) if file.exists() else ""}
    return [_cell(name, f"picture {key}", text, {"picture": key, **digests})]


def _question(name: str, question: Question) -> dict[str, Any]:
    text = text_of(question) + ("" if name in NAMES else VARIANT)
    return _cell(name, question.key, text, {"question": question.key})


def _cell(name: str, what: str, text: str, about: dict[str, str]) -> dict[str, Any]:
    return {
        "cell_type": "markdown",
        "id": hashlib.sha256(f"{name} {what}".encode()).hexdigest()[:8],
        "metadata": {"kitlib": about},
        "source": text.splitlines(keepends=True),
    }


def digest(data: bytes) -> str:
    """Return the first half of the SHA-256 of a drawing or of a file."""
    return hashlib.sha256(data).hexdigest()[:32]


def draw() -> None:
    """Draw the pictures that are missing, or have another drawing than the notebook's cell tells."""
    stale: dict[Path, Picture] = {}
    for (name, key), of in SITUATIONS.items():
        cells = json.loads(notebook_of(name).read_text("utf-8"))["cells"]
        kept = [cell["metadata"].get("kitlib", {}) for cell in cells]
        picture, file = of(), picture_of(name, key)
        told = next((one["drawing"] for one in kept if one.get("picture") == key), "")
        if told != digest(picture.svg.encode()) or not file.exists():
            stale[file] = picture
    if not stale:
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = os.environ.get("KITLIB_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(device_scale_factor=2)
        for file, picture in stale.items():
            file.parent.mkdir(exist_ok=True)
            page.set_content(f'<body style="margin:0">{picture.svg}')
            page.locator("svg").screenshot(path=file)
        browser.close()


def main() -> None:
    """Write the pictures, and the cells of all notebooks and labs."""
    draw()
    for name in [*NAMES, *LABS]:
        path = notebook_of(name)
        notebook = with_questions(name, json.loads(path.read_text("utf-8")))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

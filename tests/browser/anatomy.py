"""Measure the share of a notebook's height that pictures, forms, code, tables and prose take in JupyterLab.

    python tests/browser/anatomy.py OUT.json [--shown] [--shots FOLDER] [NUMBER ...]

Each notebook is run as a whole in a window of 1440 px. "Run" is what Run All leaves: questions are open. With `--shown`
answers are shown at once. Forms are the fields of questions and the cards that wait for a guess; exercises count apart.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

from visits import OpenNotebook, restored

ROOT = Path(__file__).parents[2]
SCREEN = 880
"""Height of a screen in pixels, on which a picture or a question is to be seen."""
KINDS = ("picture", "form", "code", "table", "text", "prose", "question", "exercise")

MEASURE = """() => {
  const cells = [...document.querySelectorAll(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")];
  const high = one => one ? one.getBoundingClientRect().height : 0;
  const rows = [];
  for (const cell of cells) {
    if (cell.classList.contains("jp-MarkdownCell")) {
      const said = cell.innerText.trim();
      const drawn = [...cell.querySelectorAll("img")].some(one => high(one) > 40);
      const kind = drawn ? "picture" : said.startsWith("Predict:") && said.length < 600 ? "question" : "prose";
      rows.push([kind, high(cell), said.slice(0, 60)]);
      continue;
    }
    const code = cell.querySelector(".jp-InputArea")?.innerText ?? "";
    const exercise = code.includes("lesson.check(");
    rows.push([exercise ? "exercise" : "code", high(cell.querySelector(".jp-Cell-inputWrapper")), code.slice(0, 60)]);
    for (const out of cell.querySelectorAll(".jp-OutputArea-child")) {
      const said = out.innerText.trim();
      const asks = out.querySelector("input[type=radio], input[placeholder='your number']");
      const waits = /^(\\[\\d+\\]:\\s*)?(Answer the question above|This is shown when)/.test(said);
      const pictures = "svg, canvas, .kitlib-chart, .kit-tree, .kitlib-board, .kitlib-grid, .kitlib-cells";
      const drawn = [...out.querySelectorAll(pictures)].some(one => high(one) > 40);
      const kind = exercise ? "exercise" : waits ? "form"
        : out.querySelector(".kitlib-verdict") && !drawn ? "form" : drawn ? "picture" : asks ? "form"
        : out.querySelector("table") ? "table" : "text";
      rows.push([kind, high(out), said.slice(0, 60)]);
    }
  }
  return rows;
}"""


def shares(rows: list[list]) -> dict[str, float]:
    """Return each kind's share of the height in per cent, and the height in pixels."""
    total = sum(row[1] for row in rows)
    return {kind: round(100 * sum(row[1] for row in rows if row[0] == kind) / total, 1) for kind in KINDS} | {
        "px": round(total)
    }


def bare(rows: list[list]) -> list[tuple[float, str]]:
    """Return the stretches of more than a screen without a picture or a question: pixels and first words."""
    found: list[tuple[float, str]] = []
    high, first = 0.0, ""
    for kind, pixels, said in [*rows, ["picture", 0.0, ""]]:
        if kind in ("picture", "form", "question", "exercise"):
            if high > SCREEN:
                found.append((round(high), first))
            high, first = 0.0, ""
        else:
            high, first = high + pixels, first or said
    return found


def measure(browser, folder: Path, names: list[str], shots: Path | None) -> dict[str, dict]:
    """Run notebooks and return their rows and shares by name."""
    found = {}
    with restored(browser, folder, KITLIB_ANSWERS=os.environ.get("KITLIB_ANSWERS", "after")) as visit:
        for name in names:
            found[name] = measured(visit.page, name, shots)
            print(name.partition("-")[0], found[name]["shares"], found[name]["bare"], flush=True)
    return found


def measured(page, name: str, shots: Path | None = None) -> dict:
    """Run a notebook in JupyterLab; return its rows, its shares and its stretches without a picture or a question."""
    book = OpenNotebook(page, f"notebooks/{name}.ipynb")
    page.evaluate(
        """() => { const { content } = window.jupyterapp.shell.currentWidget;
        content.notebookConfig = { ...content.notebookConfig, windowingMode: "none" }; }"""
    )
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        """() => window.jupyterapp.shell.currentWidget.content.widgets.every(({ model }) =>
        model.type !== "code" || model.executionCount && model.executionState !== "running")""",
        timeout=300_000,
    )
    page.wait_for_timeout(1500)
    rows = page.evaluate(MEASURE)
    if shots is not None:
        photograph(page, shots, name)
    book.close()
    return {"shares": shares(rows), "bare": bare(rows), "rows": rows}


def photograph(page, shots: Path, name: str) -> None:
    """Save the notebook in pictures of one screen each."""
    scroller = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer"
    high, step = page.evaluate(
        f"() => {{ const o = document.querySelector('{scroller}'); return [o.scrollHeight, o.clientHeight]; }}"
    )
    for index in range(high // step + 1):
        page.evaluate(f"y => document.querySelector('{scroller}').scrollTo(0, y)", index * step)
        page.wait_for_timeout(150)
        page.locator(scroller).screenshot(path=str(shots / f"{name.partition('-')[0]}-{index:02d}.png"))


def main() -> None:
    """Measure and write the rows and shares to a file."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--shown", action="store_true", help="answers are shown at once")
    parser.add_argument("--shots", type=Path)
    parser.add_argument("numbers", nargs="*")
    given = parser.parse_intermixed_args()
    os.environ["KITLIB_ANSWERS"] = "shown" if given.shown else "after"
    names = [one.stem for one in sorted((ROOT / "notebooks").glob("*.ipynb")) if one.stem[:2] != "00"]
    names = [one for one in names if not given.numbers or one.partition("-")[0] in given.numbers]
    if given.shots is not None:
        given.shots.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp())
    chromium = os.environ.get("KITLIB_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        found = measure(browser, folder, names, given.shots)
        browser.close()
    shutil.rmtree(folder, ignore_errors=True)
    given.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()

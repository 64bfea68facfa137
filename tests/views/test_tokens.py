"""The tokens of the visual language: legible in both themes, and the only place of colours and units."""

import re
from pathlib import Path

import pytest

from kitlib import charts
from kitlib.charts.svg import TINT
from kitlib.views.tokens import DARK, LIGHT, NAMES, css, paint

ROOT = Path(charts.__file__).parents[1]
TEXTS = [name for name in LIGHT if name.endswith("-text")] + ["ink", "soft"]
MARKS = ["blue", "orange-mark", "green", "red", "guess", "grey", "focus", *(f"series-{n}" for n in (1, 2, 3, 4))]
THEMES = {"light": LIGHT, "dark": DARK}
EXPORTS = {"picture_svg.js", "share.js"}  # files without a page around them, drawn in the light theme
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b|rgba?\(|hsla?\(")
NO_HUE = ("rgba(128,128,128", "rgba(255,255,255", "rgba(0,0,0,0)", "#767676")  # of plotly's figures: grid, none, text


def contrast(one: str, other: str) -> float:
    """The contrast of two colours `#rrggbb`, 1 to 21. Source: WCAG 2.2, contrast ratio."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mix(colour: str, percent: float, ground: str) -> str:
    """`colour` laid over `ground` as CSS's color-mix in sRGB does it."""
    pairs = zip(_parts(colour), _parts(ground), strict=True)
    return "#" + "".join(f"{round(a * percent / 100 + b * (1 - percent / 100)):02x}" for a, b in pairs)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in _parts(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["ground", "raised"])
def test_texts_have_the_contrast_of_wcag_aa_and_marks_that_of_graphics(theme, ground):
    colours = THEMES[theme]
    assert {
        n: round(contrast(colours[n], colours[ground]), 2) for n in TEXTS if contrast(colours[n], colours[ground]) < 4.5
    } == {}
    assert {
        n: round(contrast(colours[n], colours[ground]), 2) for n in MARKS if contrast(colours[n], colours[ground]) < 3
    } == {}


@pytest.mark.parametrize("theme", THEMES)
def test_ink_is_legible_on_every_filled_area(theme):
    colours = THEMES[theme]
    for name in (*MARKS, "orange"):
        area = mix(colours[name], TINT, colours["ground"])
        assert contrast(colours["ink"], area) >= 4.5, name


def test_contrast_and_mixing_are_those_of_the_standards():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert mix("#0072b2", 42, "#ffffff") == "#94c4df"


def test_both_themes_have_the_same_tokens_and_the_page_gets_all_of_them():
    assert list(LIGHT) == list(DARK) and len(NAMES) == len(LIGHT)
    for name, value in LIGHT.items():
        assert css().count(f"--kit-{name}:") >= 2 and value in css()
        assert paint(value) == paint(name) == f"var(--kit-{name},{value})"
    assert paint("none") == "none"


def files():
    for room in ("charts", "widgets", "views"):
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in (".py", ".js", ".css") and path.name not in {"tokens.py", *EXPORTS}:
                yield path


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.name)
def test_no_picture_names_a_colour_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    for allowed in NO_HUE:
        text = text.replace(allowed, "")
    found = [m.group() for m in COLOUR.finditer(text) if m.group() not in ("#000", "#0000")]
    assert found == [], "colours come from kitlib.views.tokens"


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.name)
def test_pictures_use_only_tokens_that_there_are(path):
    used = set(re.findall(r"var\(--kit-([a-z][a-z0-9-]*)", path.read_text(encoding="utf-8")))
    sizes = {"radius", "small", "body", "title", "limit", "font", "tint", "fill", "move"} | {"wide"}
    assert used <= set(LIGHT) | sizes


def test_amounts_are_in_cpus_and_mi():
    Mi = 2**20
    made = [
        charts.usage_chart([1, 2], {"a": [50 * Mi, 90 * Mi]}, limits={"a": 100 * Mi}),
        charts.eviction_gauge(
            [
                {
                    "signal": "memory.available",
                    "available": 50 * Mi,
                    "capacity": 1024 * Mi,
                    "threshold": 9 * Mi,
                    "met": False,
                }
            ]
        ),
        charts.oom_ranking([{"name": "a", "qos": "node", "memory_bytes": 9 * Mi, "oom_score_adj": 0, "badness": 2304}]),
    ]
    for chart in made:
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", chart.svg())
        assert not [text for text in texts if re.search(r"\d[kMG]\b|\bpages\b|\bbytes\b|\bMiB\b|\d{6}", text)], (
            chart.title
        )
    ticks = re.findall(r">(\d+)Mi</text>", made[0].svg())
    assert {"32", "64", "96"} <= set(ticks)  # multiples of a power of two


def test_forced_colours_replace_every_token_with_a_system_colour():
    block = css().partition("@media (forced-colors:active)")[2]
    for name in LIGHT:
        found = re.search(rf"--kit-{name}:(\w+);", block)
        assert found and found[1] in ("Canvas", "CanvasText", "GrayText", "Highlight"), name

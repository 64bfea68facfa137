"""Static pictures in the page's colours: the basic marks as SVG text.

Colours are given as tokens (or as their light values) and written as `var(--kit-…)`, so a picture adapts to light and
dark pages. On a page without tokens (a file, GitHub) the light values are used. Text has the page's text colour.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kitlib.views.tokens import LIMIT, SMALL, css, paint

GROUND = paint("ground")
_OWN = "§"
"""Placeholder in IDs until a picture is complete."""
_RISING = "M-1.5 9.5L9.5 -1.5M-1.5 1.5L1.5 -1.5M6.5 9.5L9.5 6.5"
_STROKES = {
    "up": "M0 8L8 0",
    "down": "M0 0L8 8",
    "cross": "M0 0L8 8M0 8L8 0",
    "plus": "M4 0V8M0 4H8",
    "over": _RISING,
    "stopped": _RISING,
    "leaves": "M-1.5 -1.5L9.5 9.5M6.5 -1.5L9.5 1.5M-1.5 6.5L1.5 9.5",
}
"""Shape -> strokes; the kit's own shapes are `over` (used above the request), `stopped` and `leaves`."""
TINT = 42
"""Opacity of a hue in an area in percent, on which ink is legible."""
LETTER = 6.2
"""Average width of a letter of 12 pixels: for estimates of room, never for positions inside a text."""


class Drawing:
    """An SVG picture to which marks are added.

    Args:
        width: width in pixels of its own scale; the page scales it to its column.
        still: whether nothing in it can be moved, so that it has no interactive parts.
    """

    def __init__(self, width: int, still: bool = False) -> None:
        self.width, self.height, self.still = width, 0.0, still
        self.out: list[str] = []
        self._patterns: dict[str, str] = {}

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        *,
        stroke: str = "",
        weight: float = 1,
        dash: str = "",
        tint: float = 100,
        words: str = "",
        key: str = "",
    ) -> None:
        """Draw a box.

        Args:
            x: left edge in pixels.
            y: upper edge in pixels.
            width: width in pixels; negative counts as 0.
            height: height in pixels; negative counts as 0.
            fill: token of the fill, or "none".
            stroke: token of the outline; "" = none.
            weight: width of the outline in pixels.
            dash: SVG stroke-dasharray of the outline.
            tint: opacity of the fill in percent.
            words: text under the pointer.
            key: name across pictures, by which a page animates the box to its new place.
        """
        name = f' data-key="{html.escape(key)}"' if key else ""
        box = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        faint = f' fill-opacity="{tint / 100:g}"' if tint != 100 else ""
        line = f' stroke="{paint(stroke)}" stroke-width="{weight:g}"' if stroke else ""
        line += f' stroke-dasharray="{dash}"' if dash else ""
        self._put(f'<rect{name} {box} fill="{paint(fill)}"{faint}{line}', "rect", words)

    def hatch(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str,
        shape: str = "over",
        words: str = "",
        key: str = "",
    ) -> None:
        """Draw a hatched box: `over` for usage above the request, `leaves` for removed objects, or a pattern's name."""
        found, box = self._pattern(shape, colour), f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        name = f' data-key="{html.escape(key)}"' if key else ""
        self._put(f'<rect{name} x="{x:.1f}" y="{y:.1f}" {box} fill="url(#{found})"', "rect", words)

    @contextmanager
    def part(self, hit: tuple[float, float, float, float] | None = None, **names: object) -> Iterator[None]:
        """Group the marks drawn inside into an interactive part of the page; a still picture only has the marks.

        Args:
            hit: x, y, width and height of the pointer's target, at least 24 pixels each way (WCAG 2.5.8); None = no
                target.
            names: attributes such as `data_handle` (can be dragged), `data_press`, `data_carry`, `data_drop`, `role`.
        """
        if self.still:
            yield
            return
        told = "".join(f' {name.replace("_", "-")}="{html.escape(str(value))}"' for name, value in names.items())
        self.out.append(f"<g{told}>")
        if hit is not None:
            x, y, width, height = hit
            box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            self.out.append(f'<rect class="kitlib-hit" {box} fill="none" pointer-events="all"/>')
        yield
        self.out.append("</g>")

    def path(
        self, way: str, stroke: str, *, weight: float = 1.5, dash: str = "", fill: str = "none", tint: float = 100
    ) -> None:
        """Draw a path of SVG commands."""
        faint = f' fill-opacity="{tint / 100:g}"' if tint != 100 else ""
        line = f' stroke="{paint(stroke)}" stroke-width="{weight:g}"' if stroke else ""
        line += f' stroke-dasharray="{dash}"' if dash else ""
        self.out.append(f'<path d="{way}" fill="{self._fill(fill)}"{faint}{line}/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = "line", **more: float) -> None:
        self.path(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", stroke, weight=more.get("weight", 1))

    def limit(self, x1: float, y1: float, x2: float, y2: float, *, reached: bool = False) -> None:
        """Draw a limit: a solid line in ink; if it is reached, a thicker one in orange."""
        self.path(
            f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}",
            "orange-mark" if reached else "ink",
            weight=LIMIT + 1.5 if reached else LIMIT,
        )

    def cross(self, x: float, y: float, size: float = 5) -> None:
        """Draw a red cross, which marks an end."""
        way = f"M{x - size:.1f} {y - size:.1f}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}"
        self.path(way, "red", weight=2.5)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = "ink",
        *,
        anchor: str = "start",
        size: float = SMALL,
        bold: bool = False,
        struck: bool = False,
        halo: bool = False,
    ) -> None:
        """Draw a text; with `halo` it is legible over marks."""
        more = f' font-size="{size:g}"' if size != SMALL else ""
        more += f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += ' font-weight="600"' if bold else ""
        more += ' text-decoration="line-through"' if struck else ""
        if halo:
            more += f' paint-order="stroke" stroke="{GROUND}" stroke-width="3" stroke-linejoin="round"'
        fill = paint(colour, "currentColor" if colour == "ink" else "")
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{more}>{html.escape(text)}</text>')

    def svg(self, title: str, sentence: str) -> str:
        """Return the whole document, with title and sentence for screen readers."""
        body = "".join(self._patterns.values()), "\n".join(self.out)
        # IDs of one page must differ from picture to picture, also between layouts with the same marks.
        own = f"{zlib.crc32(f'{self.width}'.encode() + ''.join(body).encode()):08x}"
        defs, marks = (part.replace(_OWN, own) for part in body)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height:.0f}" '
            f'width="{self.width}" role="img" aria-label="{html.escape(f"{title}. {sentence}")}" '
            f'font-family="system-ui,-apple-system,sans-serif" font-size="{SMALL}" '
            'style="max-width:100%;height:auto;overflow:visible">'
            f"<title>{html.escape(title)}</title><desc>{html.escape(sentence)}</desc>"
            f"{f'<defs>{defs}</defs>' if defs else ''}\n{marks}\n</svg>"
        )

    def _put(self, start: str, tag: str, words: str) -> None:
        self.out.append(f"{start}><title>{html.escape(words)}</title></{tag}>" if words else f"{start}/>")

    def _fill(self, fill: str) -> str:
        return f"url(#{self._pattern('over', fill[5:])})" if fill.startswith("over:") else paint(fill)

    def _pattern(self, shape: str, colour: str) -> str:
        key = f"kit-{_OWN}-{shape}-{colour.lstrip('#')}"
        if key not in self._patterns:
            self._patterns[key] = _pattern_of(shape, paint(colour), key)
        return key


def _pattern_of(shape: str, colour: str, key: str) -> str:
    """Return a pattern of 8 pixels: a light wash of the colour, with strokes or dots in full colour."""
    strength, weight = {"over": (0.2, 2.0), "leaves": (0.1, 1.5), "stopped": (0.3, 1.0)}.get(shape, (TINT / 100, 1.0))
    marks = f'<path d="{_STROKES.get(shape, "")}" stroke="{colour}" stroke-width="{weight:g}"/>'
    if shape == "dots":
        marks = f'<circle cx="4" cy="4" r="1.3" fill="{colour}"/>'
    box = 'width="8" height="8"'
    ground = f'<rect {box} fill="{GROUND}"/><rect {box} fill="{colour}" fill-opacity="{strength:g}"/>'
    return f'<pattern id="{key}" {box} patternUnits="userSpaceOnUse">{ground}{marks}</pattern>'


LAYOUTS = (250, 460, 680)
"""Widths in pixels of the layouts of a picture, so that its text is never scaled down: a phone, half and whole page."""


def fitting(pictures: Mapping[int, str]) -> str:
    """Return HTML with a picture in several layouts, of which a page shows the widest that fits.

    The rules need no script and follow the width of the output, not of the window. A page that removes or does not know
    them (GitHub, old browsers) shows the widest layout.

    Args:
        pictures: width in pixels -> the layout as SVG text.

    Source: CSS Containment 3, 5 (container queries).
    """
    widths = sorted(pictures, reverse=True)
    rules, parts = "", ""
    for place, width in enumerate(widths):
        hidden = f".kitlib-fits>.kitlib-wide-{width}{{display:none!important}}"
        shown = f".kitlib-fits>.kitlib-wide-{width}{{display:block!important}}"
        rules += f"@container (max-width:{widths[place - 1] - 0.5:g}px){{{shown}}}" if place else ""
        rules += f"@container (max-width:{width - 0.5:g}px){{{hidden}}}" if width != widths[-1] else ""
        off = ' style="display:none"' if place else ""
        parts += f'<div class="kitlib-wide-{width}"{off}>{pictures[width]}</div>'
    return f'<style>.kitlib-fits{{container-type:inline-size}}{rules}</style><div class="kitlib-fits">{parts}</div>'


def framed(picture: str, sentence: str, table: str = "") -> str:
    """Return a picture for a notebook: the tokens, the picture, its sentence, and the table behind it, folded.

    Args:
        picture: the picture as SVG text, or the HTML of `fitting`.
        sentence: the caption, also for screen readers.
        table: the table as HTML; "" = none.
    """
    more = (
        '<details style="font-size:12px"><summary style="cursor:pointer">The table behind the picture</summary>'
        f"{table}</details>"
        if table
        else ""
    )
    style = f"<style>{css()}</style>"
    words = f'<figcaption style="font-size:14px;line-height:1.5;max-width:80em">{html.escape(sentence)}</figcaption>'
    return f'{style}<figure class="kitlib-still" style="margin:4px 0">{picture}{words}{more}</figure>'


def fitted(text: str, room: float) -> str:
    """Return a text truncated with … to about `room` pixels."""
    letters = max(1, int(room / LETTER))
    return text if len(text) <= letters else text[: letters - 1] + "…"


def binary_ticks(high: float, most: int = 5) -> Sequence[int]:
    """Return ticks for bytes: multiples of a power of two, from 0 to `high`, at most `most` + 1."""
    step = 1
    while high / step > most:
        step *= 2
    return range(0, int(high) + 1, step)


def decimal_ticks(high: float, most: int = 5) -> Sequence[float]:
    """Return ticks for CPUs or counts: multiples of 1, 2 or 5 times a power of ten, from 0 to `high`."""
    step = 10.0**-3
    factors = (2, 2.5, 2)
    n = 0
    while high / step > most:
        step *= factors[n % 3]
        n += 1
    return [round(i * step, 6) for i in range(int(high / step + 1e-9) + 1)]

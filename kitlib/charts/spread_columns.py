"""Zones as columns of pods on one base line, under the dashed line that a new pod must not exceed.

The line is at the lowest domain's count plus maxSkew: a new pod fits into a column if its top does not exceed it.
KEP-895 (even pods spreading): skew = matching pods in the domain + self match - global minimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.charts.base import Row
from kitlib.charts.svg import LETTER, Drawing, fitted

FLOOR, HEAD, TALL = 40, 32, 26
"""Pixels below the base line for names, above the highest row, and of a pod if there is enough room."""
GUTTER, WIDE = 190.0, 560
"""Pixels left of the columns for the line's name, and the minimum width of a picture that has them."""
MOST_TALL = 300
"""Maximum height of all rows in pixels; many pods have lower rows."""
MANY = 24
"""Number of columns above which bricks and names are omitted and a column is one block."""


def lowest(domains: Sequence[Row]) -> int:
    """Return the global minimum for the skew; 0 while there are fewer domains than minDomains."""
    return min((int(row["counted"]) + 1 - int(row["skew"]) for row in domains), default=0)


def rows_shown(domains: Sequence[Row], max_skew: int) -> int:
    """Return the number of pod rows in the picture: two more than the highest column or the line."""
    return max([lowest(domains) + max_skew, *(int(row["pods"]) + 1 for row in domains)]) + 1


def row_height(rows: int) -> float:
    """Return the height of a pod's row in pixels."""
    return min(TALL, MOST_TALL / rows)


def skew_at(y: float, rows: int, least: int) -> int:
    """Return the maxSkew for a height of the dragged line, at least 1.

    Args:
        y: pixels from the top of the picture.
        rows: rows in the picture when the drag began.
        least: the global minimum.
    """
    return max(1, round((HEAD + rows * row_height(rows) - y) / row_height(rows)) - least)


def spread_columns(
    domains: Sequence[Row],
    max_skew: int,
    *,
    sentence: str,
    strict: bool = True,
    chosen: str = "",
    pods: Mapping[str, Sequence[str]] | None = None,
    rows: int = 0,
    width: int = 720,
    still: bool = False,
) -> str:
    """Return domains as columns of pods as SVG; unless it is still, a page can drag the line and drop the next pod.

    Args:
        domains: {"domain", "pods", "counted", "skew", "allowed"}, as for `spread_chart`.
        max_skew: the constraint's maxSkew.
        sentence: description of the picture.
        strict: whether the constraint refuses (DoNotSchedule); otherwise the line only reduces a node's score.
        chosen: the domain that the scheduler selects for the next pod.
        pods: domain -> names of its matching pods, from bottom to top.
        rows: rows of pods in the picture; 0 = `rows_shown`. A page keeps it unchanged while the line is dragged.
        width: width in pixels.
        still: whether nothing can be moved, so that the picture has no handles.
    """
    picture = Drawing(width, still)
    count = max(1, len(domains))
    most, least = rows or rows_shown(domains, max_skew), lowest(domains)
    tall, gap = row_height(most), 8 if count <= MANY else 1
    floor = HEAD + most * tall
    left = GUTTER if width >= WIDE else 4.0  # the line's name is left of the columns, or above them
    room = (width - 28 - left) / count
    line = floor - (least + max_skew) * tall
    for place, row in enumerate(domains):
        x, wide = left + room * place + gap / 2, room - gap
        beside = any(int(domain["pods"]) > int(domain["counted"]) for domain in domains)
        inner = min(wide / (1.3 if beside else 1), 120.0)
        bx = x + (wide - inner * (1.3 if beside else 1)) / 2
        name = str(row["domain"])
        names = list((pods or {}).get(name, ()))
        with picture.part((x, HEAD, wide, floor - HEAD), data_drop=name):
            _bricks(picture, row, names, bx, inner, floor, tall, count > MANY)
            _next(picture, row, bx, inner, floor, tall, chosen=name == chosen, many=count > MANY)
        if count <= MANY:
            middle, left_out = bx + inner / 2, int(row["pods"]) - int(row["counted"])
            picture.text(middle, floor + 16, fitted(name, room), anchor="middle", bold=name == chosen)
            said = f"skew {row['skew']}" if room > 60 else str(row["skew"])
            said += f", {left_out} not counted" if left_out and room > 140 else ""
            picture.text(middle, floor + 31, said, "soft", anchor="middle", size=11)
    picture.line(0, floor, width, floor, "ink")
    _line(picture, line, width, least, max_skew, strict)
    if not still:
        with picture.part((2, 0, 84, 24), data_carry="next"):
            picture.rect(2, 1, 84, 21, "ground", stroke="green", weight=2, dash="5 3", words="drag it into a column")
            picture.text(44, 16, "next pod", anchor="middle")
    picture.height = floor + FLOOR
    return picture.svg("Spread over domains", sentence)


def _bricks(
    picture: Drawing, row: Row, names: Sequence[str], x: float, wide: float, floor: float, tall: float, many: bool
) -> None:
    """Draw the pods of a domain; those that the constraint does not count are beside the column, dotted."""
    counted, all_pods = int(row["counted"]), int(row["pods"])
    if many:
        picture.rect(x, floor - counted * tall, wide, counted * tall, "blue", tint=42)
        return
    for n in range(all_pods):
        name = names[n] if len(names) == all_pods else ""
        ours = n < counted
        y = floor - ((n if ours else n - counted) + 1) * tall
        with picture.part(None, **({"data_carry": name} if name else {})):
            key = name and f"brick {name}"
            words = f"{name or 'a pod'} in {row['domain']}" + ("" if ours else ", not counted by the constraint")
            if not ours:
                picture.hatch(x + wide + 3, y + 1, wide * 0.24, tall - 2, "grey", "dots", words=words, key=key)
                continue
            picture.rect(x, y + 1, wide, tall - 2, "blue", stroke="blue", tint=42, words=words, key=key)
            if tall >= 15 and wide > 44 and name:
                picture.text(x + wide / 2, y + tall / 2 + 4, fitted(name, wide), anchor="middle")


def _next(
    picture: Drawing, row: Row, x: float, wide: float, floor: float, tall: float, *, chosen: bool, many: bool
) -> None:
    """Draw the position of the next pod: green if it is allowed, crossed out if not."""
    name, allowed = str(row["domain"]), bool(row["allowed"])
    y = floor - (int(row["counted"]) + 1) * tall
    room = not allowed or bool(row.get("room", True))
    told = "may" if allowed else "may not"
    told = told if room else "finds no node, though the constraint says it may"
    label = f"the next pod {told} go to {name}: skew {row['skew']}{', chosen' if chosen else ''}"
    names: dict[str, object] = {"data_press": name, "role": "button", "tabindex": 0, "aria_label": label}
    if many:
        names = {}
    middle, colour = x + wide / 2, "green" if room else "soft"
    hit = None if many else (x, y + tall / 2 - 12, wide, 24)
    with picture.part(hit, **names):
        if allowed:
            if chosen:
                picture.rect(x, y + 1, wide, tall - 2, "green", tint=42)
            picture.rect(x, y + 1, wide, tall - 2, stroke=colour, weight=2, dash="5 3")
            words = "★ next" if chosen else "next" if room else "no node"
            if tall >= 13 and wide > LETTER * len(words):
                picture.text(middle, y + tall / 2 + 4, words, anchor="middle", bold=chosen)
        else:
            picture.rect(x, y + 1, wide, tall - 2, stroke="red", dash="2 3")
            picture.cross(middle, y + tall / 2, min(6.0, tall / 2 - 2, wide / 2))


def _line(picture: Drawing, y: float, width: int, least: int, max_skew: int, strict: bool) -> None:
    """Draw the bound lowest + maxSkew as a line, which a page can drag unless the picture is still."""
    names = {
        "data_handle": "maxSkew",
        "role": "slider",
        "tabindex": 0,
        "aria_label": "maxSkew, the line",
        "aria_orientation": "vertical",
        "aria_valuemin": 1,
        "aria_valuemax": max(10, max_skew),
        "aria_valuenow": max_skew,
        "aria_valuetext": f"maxSkew {max_skew}, at most {least + max_skew} pods in a domain",
    }
    with picture.part((0, y - 18, width, 24), **names):
        picture.path(f"M0 {y:.1f}H{width}", "ink", weight=2, dash="8 5")
        if not picture.still:
            picture.path(f"M{width - 22} {y - 5:.1f}h14M{width - 22} {y + 5:.1f}h14", "soft", weight=1.5)
        bound = "no pod above it" if strict else "counts against a node"
        sums = f"lowest {least} + maxSkew {max_skew} = {least + max_skew}"
        if width >= WIDE:
            picture.text(2, y - 5, sums, bold=True, halo=True)
            picture.text(2, y + 15, bound, "soft", halo=True)
        else:
            x = 2 if picture.still else 94
            picture.text(x, 16, fitted(sums, width - x), bold=True)

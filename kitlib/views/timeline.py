"""A kubelet's timeline (actions, times, reasons) as a table and as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kitlib.kubelet.loop.timeline import TimelineEntry

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["seconds", "actor", "action", "about", "detail", "source"]


def timeline_rows(source: Iterable[TimelineEntry] | Any, *actors: str, about: str = "") -> list[dict[str, Any]]:
    """Return one row per entry, oldest first.

    Args:
        source: a timeline, or a node of a cluster.
        actors: the parts of the kubelet to include; none = all.
        about: text that the entry's object must contain: a pod's name, a part of a path.
    """
    found = entries(source, *actors, about=about)
    rows = [(e.time, e.actor, e.action, e.about, e.detail, e.source) for e in found]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def timeline_frame(source: Iterable[TimelineEntry] | Any, *actors: str, about: str = "") -> pd.DataFrame:
    """Return the rows of `timeline_rows` as a data frame."""
    import pandas as pd

    return pd.DataFrame(timeline_rows(source, *actors, about=about), columns=COLUMNS)


def timeline_text(source: Iterable[TimelineEntry] | Any, *actors: str, about: str = "") -> str:
    """Return the entries as lines of a log."""
    return "\n".join(str(entry) for entry in entries(source, *actors, about=about))


def entries(source: Iterable[TimelineEntry] | Any, *actors: str, about: str = "") -> list[TimelineEntry]:
    """Return the selected entries of a timeline or of a node's kubelet."""
    ask = getattr(source, "timeline", None)
    found = ask() if callable(ask) else source
    return [e for e in found if (not actors or e.actor in actors) and about in e.about]

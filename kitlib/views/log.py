"""The log of a scheduler with a clock, as a table for screen readers too: time, kind, reason, object, message."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kitlib.scheduler.driver import Happening


def log_html(log: Sequence[Happening], most: int = 30) -> str:
    """Return the last entries as an HTML table, the newest at the bottom."""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("s", "kind", "reason", "object", "message"))
    rows = "".join(
        f"<tr><td>{happening.time_ms / 1000:g}</td><td>{escape(happening.kind)}</td><td>{escape(happening.reason)}</td>"
        f"<td>{escape(happening.pod)}</td><td>{escape(happening.message)}</td></tr>"
        for happening in log[-most:]
    )
    earlier = f" (the last {most} of {len(log)})" if len(log) > most else ""
    return (
        f'<table role="log" aria-label="What happened"><caption>What happened{earlier}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )

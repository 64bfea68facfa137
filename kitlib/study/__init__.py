"""Teaching tools around the scheduler: scenarios, comparison of releases, replay, sweeps (`study.sweep`), benchmark.

Imported by examples, cluster and what is above them; controllers do not know it.
Face: `sweep`, `scenario`, `compare`, `replay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kitlib.study.sweeps.sweep import sweep

__all__ = ["sweep"]


def __getattr__(name: str) -> Any:
    """Import `sweep` on first access, so that the package's other modules work without numpy."""
    if name == "sweep":
        from kitlib.study.sweeps.sweep import sweep

        return sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

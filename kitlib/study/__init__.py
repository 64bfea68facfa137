"""Teaching tools around the scheduler: scenarios, comparison of releases, replay, sweeps (`study.sweep`), benchmark."""

from kitlib.study.sweeps.sweep import sweep

__all__ = ["sweep"]

"""Sweeps: one scenario over a grid of parameters and random seeds (`sweep`), and the results (`Results`).

Imported by `study`, commands and lessons. Face: `sweep`, `Results`.
"""

from kitlib.study.sweeps.results import Results
from kitlib.study.sweeps.row import SweepProgress, SweepRow
from kitlib.study.sweeps.sweep import Sweep, sweep

__all__ = ["Results", "Sweep", "SweepProgress", "SweepRow", "sweep"]

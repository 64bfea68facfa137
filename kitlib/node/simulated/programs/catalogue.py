"""The catalogue of the programs of simulated containers: importing the modules registers them."""

from __future__ import annotations

from kitlib.node.simulated.programs import files, languages, stress, text, waiting
from kitlib.node.simulated.programs.registry import find, names, on_sigterm

__all__ = ["MODULES", "find", "names", "on_sigterm"]

MODULES = (files, languages, stress, text, waiting)

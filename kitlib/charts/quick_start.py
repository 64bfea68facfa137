"""Loads plotly without modules that it does not need: saves two to three seconds and 25 MB per kernel.

plotly loads nbformat to read its version when `figure.show()` sends a picture to a notebook; nbformat loads
jsonschema, which loads a grammar of internationalised addresses. If nbformat is not loaded yet, plotly gets a
substitute that has only the version.

Source: plotly.io._renderers, `optional_imports.get_module("nbformat")`.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from types import SimpleNamespace


def quick_start() -> None:
    """Load plotly's figures without nbformat; no effect if either is loaded, or plotly has changed."""
    if "plotly.io._renderers" in sys.modules or "nbformat" in sys.modules:
        return
    try:
        version = metadata.version("nbformat")
        optional = import_module("_plotly_utils.optional_imports")
        kept_out: set[str] = optional._not_importable
    except (ImportError, AttributeError, metadata.PackageNotFoundError):
        return
    kept_out.add("nbformat")
    try:
        renderers = import_module("plotly.io._renderers")
    finally:
        kept_out.discard("nbformat")
    if getattr(renderers, "nbformat", True) is None:
        renderers.nbformat = SimpleNamespace(__version__=version)  # type: ignore[attr-defined]

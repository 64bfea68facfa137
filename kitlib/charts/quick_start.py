"""plotly without what it loads and does not need: two to three seconds and 25 MB less in every learner's kernel.

plotly loads nbformat to ask for its version when `figure.show()` sends a picture to a notebook; nbformat loads
jsonschema, and that a grammar of internationalised addresses. Where nbformat is not loaded yet, plotly is given its
version alone.

Source: plotly.io._renderers, `optional_imports.get_module("nbformat")`.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from types import SimpleNamespace


def quick_start() -> None:
    """Load plotly's figures without nbformat; nothing where either is loaded already, or plotly has changed."""
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

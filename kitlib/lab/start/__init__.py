"""The start page: a kill to guess, a limit to drag, and the map of the course. `start()` shows it in a notebook.

Imported by notebooks, the site and the sidebar. Face: `start`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["start"]


def start(nodes: str = "") -> Any:
    """Return the start page as a widget.

    Args:
        nodes: "auto", "docker", "kubernetes" or "simulated"; "" takes KITLIB_NODES.

    Raises:
        KitError: the widgets' packages are not installed, or `nodes` is not one of these values.
    """
    try:
        from kitlib.lab.start.page import make_page
    except ModuleNotFoundError as error:
        from kitlib.api.errors import KitError

        raise KitError(f"{error.name} is not installed: pip install 'kitlib[notebook]'") from error
    return make_page(nodes)

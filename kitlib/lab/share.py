"""A cluster, or a widget with its inputs, as a link and as one line of code.

The state is in the link's fragment, which browsers do not send to a server. `kitlib lab LINK` and the browser site
open it. `kitlib.cluster.shared` and `kitlib.widgets.shared` validate the content of links.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.file_format import check_format
from kitlib.cluster.shared import (
    FORMAT,
    MARK,
    SharedState,
    converted,
    line_of,
    made_again,
    state_in,
    state_of,
    unpacked,
)

__all__ = ["code", "line_of", "link", "opened", "state_in", "state_of"]


def link(cluster: Any, site: str = "") -> str:
    """Return a link that opens the cluster again, at a site or by `kitlib lab`. Raises: KitError, as `state_of`."""
    return f"{site.partition('#')[0]}#{MARK}{state_of(cluster)}"


def code(cluster: Any) -> str:
    """Return a line of Python that opens the cluster again. Raises: KitError, as `state_of`."""
    return line_of(state_of(cluster))


def opened(text: str) -> Any:
    """Return the cluster or widget that a link or a state describes, after repeating all recorded actions.

    Raises:
        KitError: the link is invalid; nothing is created then.
    """
    document = unpacked(state_in(text))
    check_format(document, FORMAT, "share", "version")
    if isinstance(document, dict) and "widget" in document:
        from kitlib.widgets.shared import SharedScene, opened_scene

        return opened_scene(converted(document, SharedScene))
    return made_again(converted(document, SharedState))

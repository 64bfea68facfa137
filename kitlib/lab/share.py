"""A scenario as a link of its own, and as one line of code: a cluster, or a widget with what was done in it.

The state stands in the link's fragment, which no browser sends to a server. `kitlib lab LINK` and the browser site open
it. What a link may hold is checked by `kitlib.cluster.shared` and `kitlib.widgets.shared`.
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
    """A link that opens the cluster again, by a site's address or `kitlib lab`. Raises: KitError, as `state_of`."""
    return f"{site.partition('#')[0]}#{MARK}{state_of(cluster)}"


def code(cluster: Any) -> str:
    """One line of Python that opens the cluster again. Raises: KitError, as `state_of`."""
    return line_of(state_of(cluster))


def opened(text: str) -> Any:
    """The cluster or the widget that a link or a state describes: made again, and everything done again.

    Raises:
        KitError: the link is none, or holds what a scenario cannot have; nothing is made then.
    """
    document = unpacked(state_in(text))
    check_format(document, FORMAT, "share", "version")
    if isinstance(document, dict) and "widget" in document:
        from kitlib.widgets.shared import SharedScene, opened_scene

        return opened_scene(converted(document, SharedScene))
    return made_again(converted(document, SharedState))

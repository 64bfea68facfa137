"""DefaultBinder: tells the API server which node a pod has got; here the cluster does it.

Source: plugins/defaultbinder.
"""

from __future__ import annotations

from kitlib.scheduler.plugin import Plugin


class DefaultBinder(Plugin):
    """Binds the pod to its node; the cluster does it."""

    name = "DefaultBinder"

"""The validation of Events in events.k8s.io, which is stricter than in the core group.

Source: registry/core/event eventStrategy; registry/events/rest.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import Invalid
from kitlib.apiserver.validation.events import EVENTS as EVENTS
from kitlib.apiserver.validation.events import validate_event, validate_event_update


def check_event(event: Any, standing: Any) -> None:
    """Raise Invalid for an Event that events.k8s.io does not accept.

    Args:
        event: the Event in its stored form.
        standing: the Event that it replaces; None for a new one.

    Raises:
        Invalid: with the field errors.
    """
    if standing is None:
        errors = validate_event(event, EVENTS)
    else:
        errors = validate_event_update(event, standing, EVENTS)
    if errors:
        raise Invalid("Event.events.k8s.io", event.name, errors)

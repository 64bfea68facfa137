"""Events over events.k8s.io, whose rules are stricter than those of the core group.

Source: registry/core/event eventStrategy; registry/events/rest.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import Invalid
from kitlib.apiserver.validation.events import EVENTS as EVENTS
from kitlib.apiserver.validation.events import validate_event, validate_event_update


def check_event(event: Any, standing: Any) -> None:
    """Refuse an event that events.k8s.io does not take.

    Args:
        event: in its stored form.
        standing: the event that it replaces; None for a new one.

    Raises:
        Invalid: with the field errors.
    """
    if standing is None:
        errors = validate_event(event, EVENTS)
    else:
        errors = validate_event_update(event, standing, EVENTS)
    if errors:
        raise Invalid("Event.events.k8s.io", event.name, errors)

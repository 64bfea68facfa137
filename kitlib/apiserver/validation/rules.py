"""The interface of a module of rules: `KINDS`, with one rule for a new object and one for an update of each type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kitlib.api.field_errors import Errors
from kitlib.api.meta import KubeObject

Create = Callable[[Any], Errors]
Update = Callable[[Any, Any], Errors]
Rules = Mapping[type[KubeObject], tuple[Create, Update]]

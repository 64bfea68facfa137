"""Validation with Kubernetes' own field paths and messages: `validate_pod_create`, `validate_pod_update`, `FieldError`.

The rules stand by subject: `fields` (names, labels, selectors), `resources`, `scheduling`, `containers`, `pod`.

Source: pkg/apis/core/validation/validation.go.
"""

from kitlib.api.validation.fields import FieldError
from kitlib.api.validation.pod import validate_pod_create, validate_pod_update

__all__ = ["FieldError", "validate_pod_create", "validate_pod_update"]

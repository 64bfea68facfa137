"""What holds for all tests: a busy machine makes a property slower to check, not wrong."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("kit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kit")

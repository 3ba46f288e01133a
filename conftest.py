"""Settings of every test in the workspace."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Machines differ in speed and may be busy: how long an example takes proves nothing. What bounds a test is its timeout.
settings.register_profile("workspace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("workspace")

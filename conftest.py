"""Settings of every test in the workspace."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Machines differ in speed and may be busy: how long an example takes proves nothing. What bounds a test is its timeout.
settings.register_profile("workspace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("workspace")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: at any time some of them wait for processes and deadlines."""
    return (os.cpu_count() or 1) + 1

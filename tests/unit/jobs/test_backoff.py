"""The waits between attempts: 5 s, times four, at most ten minutes."""

from datetime import timedelta

import pytest

from jobs.actions import backoff


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 5), (2, 20), (3, 80), (4, 320), (5, 600), (50, 600), (30000, 600)]
)
def test_backoff(attempt, seconds):
    assert backoff(attempt) == timedelta(seconds=seconds)

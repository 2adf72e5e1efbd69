import os

import pytest
from slipcover import pytest_plugin


@pytest.mark.skipif(
    not {"SLIPCOVER_ENABLED", "PYTEST_XDIST_WORKER"} <= os.environ.keys(),
    reason="only the workers of `make test` measure coverage this way",
)
def test_workers_stop_watching_a_line_once_it_has_run():
    assert pytest_plugin._slipcover_instance.immediate

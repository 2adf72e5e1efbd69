"""Each kind of job is counted in the queue that its messages go to."""

from __future__ import annotations

import sys

import pytest
from django.conf import settings

from jobs import registry
from timelines.models import StageRun

#: The queue of a stage depends on its run: tests/integration/site/test_metrics.py.
KINDS = [kind for kind in registry.kinds() if kind.job_class is not StageRun]


class Jobs:
    """As many jobs as one asks for."""

    def count(self) -> int:
        return 3


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_is_counted_where_its_messages_go(kind, monkeypatch):
    posted = []
    monkeypatch.setattr(sys.modules[kind.send.__module__], "post", posted.extend)
    kind.send([1, 2, 3])
    queues = {message.queue for message in posted}
    assert kind.count_queues(Jobs()) == dict.fromkeys(queues, 3)
    assert queues <= set(settings.QUEUES)


def test_all_kinds_are_here():
    assert len(KINDS) >= 19

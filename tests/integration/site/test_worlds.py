"""Worlds that are built once come back with all their rows."""

import pytest

from ehr.models import Dataset, SourceRow
from ehr.partitions import drop_partition
from tests.emptying import empty_database
from tests.worlds.judged import make_judged_world

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_world_comes_back_with_its_rows_though_the_partition_was_dropped():
    world = make_judged_world(1)
    rows = list(SourceRow.objects.order_by("encounter", "row_index").values())
    assert rows
    empty_database()
    assert drop_partition(world.dataset.pk)
    again = make_judged_world(1)
    assert again.dataset == world.dataset == Dataset.objects.get()
    assert list(SourceRow.objects.order_by("encounter", "row_index").values()) == rows

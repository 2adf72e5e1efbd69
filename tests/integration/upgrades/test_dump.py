"""Write the database of this release, for the next one's upgrade test.

`OCCURRENT_UPGRADE_DUMP=FILE pytest tests/integration/upgrades/test_dump.py` stores it in FILE.
"""

import os
from pathlib import Path

import pytest

from tests.worlds.upgraded import dump_database, fill_database, find_applied, read_dump

pytestmark = pytest.mark.django_db(transaction=True)
MOST_BYTES = 1_000_000


@pytest.mark.deep
def test_the_database_of_this_release_fits_into_a_file(tmp_path):
    fill_database()
    path = Path(os.environ.get("OCCURRENT_UPGRADE_DUMP") or tmp_path / "release.sql.xz")
    dump_database(path)
    assert path.stat().st_size < MOST_BYTES
    assert ("accounts", "0001_schema") in find_applied(read_dump(path))

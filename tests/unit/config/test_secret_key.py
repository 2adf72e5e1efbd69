"""The embedded installation's signing key: made once, private, the same for all."""

import stat
from concurrent.futures import ThreadPoolExecutor

from config.secret_key import FILE_NAME, stored_secret_key


def test_made_once_and_private(tmp_path):
    key = stored_secret_key(tmp_path / "var")
    assert len(key) >= 64
    assert stored_secret_key(tmp_path / "var") == key
    assert stat.S_IMODE((tmp_path / "var" / FILE_NAME).stat().st_mode) == 0o600


def test_starters_at_the_same_time_agree(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: stored_secret_key(tmp_path / "var"), range(32)))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "var").iterdir()] == [FILE_NAME]

"""The embedded installation's signing key: made once, private, shared."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from config.env import EnvError
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


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 64])
def test_what_is_no_key_is_named_with_the_way_out(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(
        EnvError, match=r"secret_key is no signing key.*Remove it: the next start makes a new one"
    ) as raised:
        stored_secret_key(tmp_path)
    assert "short" not in str(raised.value).replace("too short", "")


def test_a_folder_in_the_place_of_the_key_is_named(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(
        EnvError, match=r"secret_key cannot be used as signing key \(Is a directory\)"
    ):
        stored_secret_key(tmp_path)

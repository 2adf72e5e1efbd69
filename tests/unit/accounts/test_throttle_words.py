"""How long to wait, in words."""

import pytest

from accounts.sign_in.throttle import describe_wait


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (61, "2 minutes"),
        (120, "2 minutes"),
        (899, "15 minutes"),
        (900, "15 minutes"),
    ],
)
def test_words_for(seconds, words):
    assert describe_wait(seconds) == words

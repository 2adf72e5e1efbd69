"""Generated passwords and public ids: their shape, and no look-alikes."""

import re

from accounts.ids import new_public_id
from accounts.sign_in.passwords import generated_password


def test_passwords_have_four_groups_of_five_without_look_alikes():
    for _ in range(200):
        password = generated_password()
        assert re.fullmatch(r"([A-Za-z2-9]{5}-){3}[A-Za-z2-9]{5}", password)
        assert not set(password) & set("ilIoO01")
    assert len({generated_password() for _ in range(200)}) == 200


def test_public_ids_are_twelve_characters_without_look_alikes():
    for _ in range(200):
        assert re.fullmatch(r"[2-9a-hj-km-np-z]{12}", new_public_id())
        assert not set(new_public_id()) & set("il01o")

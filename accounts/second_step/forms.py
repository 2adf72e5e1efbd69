"""The code of a second step, behind the throttle of sign-ins."""

from __future__ import annotations

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.models import Authenticator
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.sign_in import throttle

#: Codes of an app that were used last and count no more. So many are valid at one time.
_USED = "used_codes"
_VALID_AT_ONCE = 3


class CodeForm(AuthenticateForm):
    """Takes a code of an app, or a recovery code.

    One person and address have a few attempts. Only someone who knows the password comes here, so
    that nobody else can use them up.
    """

    def clean_code(self) -> str:
        """Check the code.

        Raises ValidationError for a wrong or used one, or too many attempts.
        """
        key = throttle.make_key(context.request, f"second step of {self.user.pk}")
        count = throttle.spend(key)
        if not count.allowed:
            wait = throttle.describe_wait(count.wait)
            raise ValidationError(f"Too many attempts. Try again in {wait}.", code="locked")
        code: str = super().clean_code()
        if self.authenticator.type == Authenticator.Type.TOTP:
            _use_up(self.authenticator, code)
        throttle.clear(key)
        return code


@transaction.atomic
def _use_up(authenticator: Authenticator, code: str) -> None:
    """Let every code count once, also if several processes answer."""
    row = Authenticator.objects.select_for_update().get(pk=authenticator.pk)
    used = row.data.get(_USED, [])
    if code in used:
        raise ValidationError("This code was used. Wait for the next one.", code="used")
    row.data[_USED] = [code, *used][:_VALID_AT_ONCE]
    row.save(update_fields=["data"])

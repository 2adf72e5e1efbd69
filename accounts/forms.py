"""The forms of the account pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.actions import change_own_password
from accounts.models import Role, User
from accounts.sign_in.password_check import Purpose, WrongPassword, require_password


class SignInForm(AuthenticationForm):
    """Name and password of a sign-in.

    It says how long a locked pair has to wait, and never whether the name exists.
    """

    error_messages = {
        "invalid_login": "That user name and password do not match.",
        "inactive": "That user name and password do not match.",
    }

    def clean(self) -> dict[str, Any]:
        """Check the pair through the throttled backend. Raises ValidationError."""
        if settings.OIDC is not None and settings.OIDC.only:
            raise ValidationError(f"Sign in with {settings.OIDC.name}.", code="provider_only")
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if self.request is None or username is None or not password:
            return self.cleaned_data
        try:
            self.user_cache = require_password(
                username, password, request=self.request, purpose=Purpose.SIGN_IN
            )
        except WrongPassword as refused:
            words = str(refused) if refused.wait else self.error_messages["invalid_login"]
            raise ValidationError(
                words, code="locked" if refused.wait else "invalid_login"
            ) from None
        return self.cleaned_data


class OwnPasswordForm(PasswordChangeForm):
    """Old password, new one twice."""

    def __init__(self, user: User, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        """Check the old password like a sign-in. Raises ValidationError.

        The throttle prevents guessing passwords on this page.
        """
        password: str = self.cleaned_data["old_password"]
        try:
            require_password(
                self.user.get_username(),
                password,
                request=self.request,
                purpose=Purpose.NEW_PASSWORD,
            )
        except WrongPassword as refused:
            raise ValidationError(str(refused), code="password_incorrect") from None
        return password

    def clean(self) -> dict[str, Any]:
        """Reject the old password as the new one. Raises ValidationError.

        The old one is known only after it was checked.
        """
        cleaned: dict[str, Any] = super().clean() or {}
        if "old_password" in cleaned and cleaned["old_password"] == cleaned.get("new_password1"):
            self.add_error("new_password1", "The new password is the old one.")
        return cleaned

    def save(self, commit: bool = True) -> User:
        """Store it through the action, which also records it."""
        user: User = self.user
        change_own_password(by=user, new_password=self.cleaned_data["new_password1"])
        return user


class PasswordForm(forms.Form):
    """The person's own password, once more."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )

    def check(self, request: HttpRequest, purpose: Purpose) -> bool:
        """Check the password of the person who asks; say on the form why not."""
        try:
            require_password(
                request.user.get_username(),
                self.cleaned_data["password"],
                request=request,
                purpose=purpose,
            )
        except WrongPassword as refused:
            self.add_error("password", str(refused))
            return False
        return True


class NewAccountForm(forms.Form):
    """User name and password of a person who was invited."""

    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    password1 = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters, not only digits, no common word.",
    )
    password2 = forms.CharField(
        label="Password again",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Compare the two passwords. Raises ValidationError."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("password1") != cleaned.get("password2"):
            self.add_error("password2", "The two passwords differ.")
        return cleaned


class MemberForm(forms.Form):
    """A person by their user name, and a role."""

    username = forms.CharField(
        max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(choices=Role.choices, label="Role")

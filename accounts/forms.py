"""The forms of the account pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.core.exceptions import ValidationError

from accounts import throttle
from accounts.actions import change_own_password
from accounts.models import Role, User


class SignInForm(AuthenticationForm):
    """Name and password; says how long a locked pair has to wait, and never whether the name exists."""

    error_messages = {
        "invalid_login": "That user name and password do not match.",
        "inactive": "That user name and password do not match.",
    }

    def clean(self) -> dict[str, Any]:
        """Check the pair through the throttled backend. Raises ValidationError."""
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if self.request is None or username is None or not password:
            return self.cleaned_data
        self.user_cache = authenticate(self.request, username=username, password=password)
        if self.user_cache is None:
            raise self._refusal(username)
        return self.cleaned_data

    def _refusal(self, username: str) -> ValidationError:
        if self.request is not None and (seconds := throttle.seconds_locked(throttle.key_of(self.request, username))):
            return ValidationError(f"Too many failed attempts. Try again in {throttle.words_for(seconds)}.", code="locked")
        return ValidationError("That user name and password do not match.", code="invalid_login")


class OwnPasswordForm(PasswordChangeForm):
    """Old password, new one twice."""

    def clean_new_password1(self) -> str:
        """Refuse the old one again. Raises ValidationError."""
        password: str = self.cleaned_data["new_password1"]
        if self.user.check_password(password):
            raise ValidationError("The new password is the old one.")
        return password

    def save(self, commit: bool = True) -> User:
        """Store it through the action, which also records it."""
        change_own_password(by=self.user, new_password=self.cleaned_data["new_password1"])
        return self.user


class MemberForm(forms.Form):
    """A person by their user name, and a role."""

    username = forms.CharField(max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(choices=Role.choices, label="Role")

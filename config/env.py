"""Strict readers for environment variables.

Every reader names the variable it could not use and says how to fix it; a value is never guessed. A
secret or an address may also come from a file: `NAME_FILE=/run/secrets/name` is read if `NAME` is
not set, so that it needs to appear neither in a process listing nor in a compose file. Errors never
repeat a value: it may be a secret.

django-environ's FileAwareEnv reads such files too, but would not shorten this module: it takes an
unknown switch for off, repeats values in errors and has no bounds, so every reader would stay.
"""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Collection, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

BASE_DIR = Path(__file__).resolve().parent.parent
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})
MIN_SECRET_LENGTH = 32

Value = TypeVar("Value")
PathOrNone = TypeVar("PathOrNone", Path, None)


class EnvError(Exception):
    """An environment variable is missing or malformed.

    The message names the variable and says how to fix it, without its value.
    """

    log_safe = True


def environment(dotenv: Path = BASE_DIR / ".env") -> Mapping[str, str]:
    """Return the process environment, backed by the checkout's `.env`.

    `.env` has `NAME=value` lines; other lines raise EnvError.
    """
    if not dotenv.exists():
        return os.environ
    try:
        text = dotenv.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EnvError(
            f"{dotenv} cannot be read ({_reason(error)}). Mend it, or remove it."
        ) from error
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        setting = line.strip()
        if not setting or setting.startswith("#"):
            continue
        name, equals, value = setting.partition("=")
        if not equals or not name.strip().isidentifier():
            raise EnvError(
                f"{dotenv.name}, line {number}: not NAME=value. Write it so, or start the line"
                " with #."
            )
        values[name.strip()] = value.strip().strip("\"'")
    return ChainMap(cast("MutableMapping[str, str]", os.environ), values)


class Env:
    """Reads typed values from `source`, by default `environment()`."""

    def __init__(self, source: Mapping[str, str] | None = None) -> None:
        self._source = environment() if source is None else source

    def text(self, name: str, default: str | None = None) -> str:
        """Return the value of `name`, or of the file that `name`_FILE points to.

        Returns `default` if neither is set; raises EnvError if there is no default.
        """
        value = self._raw(name)
        if value is not None:
            return value
        if default is None:
            raise EnvError(
                f"{name} is not set. Set {name}, or set {name}_FILE to the path of a file with its"
                " value (see .env.example)."
            )
        return default

    def boolean(self, name: str, default: bool | None = None) -> bool:
        """A switch: one of 1/true/yes/on or 0/false/no/off, in any case."""
        value = self._raw(name)
        if value is None:
            return self._or_default(name, default)
        if value.lower() in TRUE_WORDS:
            return True
        if value.lower() in FALSE_WORDS:
            return False
        raise EnvError(
            f"{name} is not a switch. Set it to one of true, yes, on, 1, false, no, off, 0."
        )

    def integer(
        self,
        name: str,
        default: int | None = None,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> int:
        """A whole number within the bounds (both inclusive)."""
        raw = self._raw(name)
        if raw is None:
            return self._or_default(name, default)
        try:
            number = int(raw)
        except ValueError:
            raise EnvError(
                f"{name} is not a whole number. Set it to digits only, for example {name}=8."
            ) from None
        if minimum is not None and number < minimum:
            raise EnvError(f"{name} is too small. Set it to {minimum} or more.")
        if maximum is not None and number > maximum:
            raise EnvError(f"{name} is too large. Set it to {maximum} or less.")
        return number

    def words(self, name: str, default: str = "") -> list[str]:
        """A comma-separated list, blanks trimmed, empty items dropped."""
        return [word.strip() for word in self.text(name, default).split(",") if word.strip()]

    def choice(self, name: str, options: Collection[str], default: str) -> str:
        """Return one of `options`."""
        value = self.text(name, default)
        if value not in options:
            known = ", ".join(sorted(option for option in options if option))
            raise EnvError(f"{name} has an unknown value. Set it to one of: {known}.")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return a JSON object, empty if it is not set."""
        raw = self._raw(name)
        try:
            value = json.loads(raw) if raw else {}
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise EnvError(
                f"""{name} is not a JSON object. Write it on one line as {{"name": …}}, or set {name}_FILE to a file of it."""
            )
        return value

    def url(self, name: str, *, schemes: tuple[str, ...], default: str | None = None) -> str:
        """Return an address with one of `schemes` and with a host or a path.

        Raises EnvError for any other address.
        """
        value = self.text(name, default)
        if value == default:
            return value
        try:
            parts = urlsplit(value)
        except ValueError:
            raise EnvError(
                f"{name} is not an address. Write it as {schemes[0]}://host:port/name."
            ) from None
        if parts.scheme not in schemes:
            raise EnvError(
                f"{name} must start with one of {', '.join(f'{scheme}://' for scheme in schemes)}."
            )
        if not (parts.netloc or parts.path.strip("/")):
            raise EnvError(f"{name} names no host. Write it as {schemes[0]}://host:port/name.")
        return value

    def path(self, name: str, default: PathOrNone) -> Path | PathOrNone:
        """Return the absolute path in `name`_FILE; the file is not read."""
        value = self._source.get(f"{name}_FILE", "").strip()
        return Path(value).absolute() if value else default

    def secret(self, name: str, default: str | None = None) -> str:
        """A secret of at least 32 characters."""
        value = self.text(name, default)
        if len(value) < MIN_SECRET_LENGTH:
            raise EnvError(
                f"{name} is shorter than {MIN_SECRET_LENGTH} characters. "
                """Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))"."""
            )
        return value

    def _raw(self, name: str) -> str | None:
        """Return the stripped value, or None if it is blank and no file is named."""
        value = self._source.get(name, "").strip()
        file_name = self._source.get(f"{name}_FILE", "").strip()
        if value and file_name:
            raise EnvError(f"{name} and {name}_FILE are both set. Keep one of them.")
        if file_name:
            return self._read_file(name, Path(file_name))
        return value or None

    def _read_file(self, name: str, path: Path) -> str:
        try:
            value = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise EnvError(
                f"{name}_FILE points to a file that cannot be read ({_reason(error)}). Check its"
                " path and permissions."
            ) from None
        if not value:
            raise EnvError(
                f"{name}_FILE points to an empty file. Write the value into it or unset the"
                " variable."
            )
        return value

    def _or_default(self, name: str, default: Value | None) -> Value:
        if default is None:
            raise EnvError(f"{name} is not set. Set it (see .env.example).")
        return default


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else "not UTF-8"

"""The keys of an installation, which are never part of its backups."""

from __future__ import annotations

from django.conf import settings

from config.env import Env

PURPOSES = {
    "SECRET_KEY": "signs sessions and the manifests of backups",
    "SECRET_KEY_FALLBACKS": "earlier keys that are still accepted",
    "DATABASE_URL": "the password of the application's role",
    "DATABASE_OWNER_URL": "the password of the owner's role",
    "BROKER_URL": "the password of the broker",
    "EMAIL_HOST_PASSWORD": "sends notifications",
    "OMOP_DATABASE_URL": "the password of the OMOP database",
}


def find_needed_keys() -> dict[str, str]:
    """Return the secrets that are set here: name and purpose, no values.

    SECRET_KEY is always one of them; an embedded installation has it in var/secret_key.
    """
    env = Env()
    needed = {
        name: words
        for name, words in PURPOSES.items()
        if name == "SECRET_KEY" or env.text(name, "")
    }
    for name, endpoint in settings.MODEL_ENDPOINTS.items():
        if variable := endpoint.get("api_key_env"):
            needed[str(variable)] = f"the key of the model {name}"
    return needed

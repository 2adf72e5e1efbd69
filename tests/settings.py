"""The project's settings for a test session, with its own services.

Nothing of the developer's is used. Each session has its embedded services in a directory named
after its process; commands started by a test read it from the environment. Each of pytest-xdist's
workers is such a session: a Celery worker of one must not take jobs that another's test has queued.
"""

import os

from tests.services import VAR_VARIABLE, WORKER_VARIABLE, session_var

if (worker := os.environ.get("PYTEST_XDIST_WORKER", "")) != os.environ.get(WORKER_VARIABLE, ""):
    os.environ.update({VAR_VARIABLE: str(session_var(os.getpid())), WORKER_VARIABLE: worker})
os.environ.setdefault(VAR_VARIABLE, str(session_var(os.getpid())))
os.environ["OCCURRENT_VAR"] = os.environ[VAR_VARIABLE]
os.environ["OCCURRENT_ENV"] = "embedded"
# Playwright's own event loop makes Django refuse the database in the same thread.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
for name in (
    "SECRET_KEY",
    "DEBUG",
    "HTTPS",
    "ALLOWED_HOSTS",
    "DATABASE_URL",
    "DATABASE_OWNER_URL",
    "BROKER_URL",
):
    os.environ.pop(name, None)

from config.settings import *  # noqa: E402, F403
from config.settings import DATABASE_OWNER_URL, database_settings  # noqa: E402

# The test runner creates databases and empties tables. Other processes, and tests that ask for it,
# run as the application's role.
DATABASES = {"default": database_settings(DATABASE_OWNER_URL)}
# WhiteNoise would read 2,000 static files for each test client; now it looks up what is asked for.
WHITENOISE_AUTOREFRESH = True
# Tests ask for much in a minute; those of the limits switch them on.
REQUEST_LIMITS = 0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

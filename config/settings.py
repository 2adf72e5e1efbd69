"""The settings of every process: one file, one environment, no variants.

Without any variable set this is the embedded default (one machine, services under `var/`).
`OCCURRENT_ENV=production` asks for what a deployment must decide itself and refuses to start
without it. Every variable is explained in `.env.example`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kombu import Exchange, Queue
from psycopg.conninfo import conninfo_to_dict

from accounts.ids import ALPHABET, PUBLIC_ID_LENGTH
from config.env import BASE_DIR, Env, EnvError
from config.logging import logging_config
from config.openid import read_provider
from config.releases.version import read_version
from config.secret_key import stored_secret_key
from config.services.paths import default_paths
from llm_runtime.roles import PRESETS

env = Env()

ENVIRONMENT = env.text("OCCURRENT_ENV", "embedded")
if ENVIRONMENT not in ("embedded", "production"):
    raise EnvError(
        "OCCURRENT_ENV is neither embedded nor production. Set it to one of the two, or leave it"
        " out."
    )
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.boolean("DEBUG", False)
if PRODUCTION and DEBUG:
    raise EnvError(
        "DEBUG is on in production, where error pages would show patient text. Unset DEBUG."
    )

#: Of this installation; the API has a version of its own.
VERSION = read_version()
SERVICES = default_paths()
SECRET_KEY = (
    env.secret("SECRET_KEY")
    if PRODUCTION or env.text("SECRET_KEY", "")
    else stored_secret_key(SERVICES.var)
)
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
HTTPS = env.boolean("HTTPS", PRODUCTION)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "" if PRODUCTION else "localhost,127.0.0.1,[::1]")
if PRODUCTION and not ALLOWED_HOSTS:
    raise EnvError(
        "ALLOWED_HOSTS is not set. Set it to the host names that users type, separated by commas."
    )
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")

# Applications. Ours are listed from the lowest layer to the highest.

INSTALLED_APPS = [
    "accounts",
    "jobs",
    "llm_runtime",
    "ehr",
    "timelines",
    "adjudication",
    "cohorts",
    "config",
    "accounts.admin_site.config.SuperuserAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    # Their addresses are not included; `accounts.urls` names the few views that are used.
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "allauth.usersessions",
]

MIDDLEWARE = [
    "config.request_log.RequestLogMiddleware",
    "config.health.middleware.ProbeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.static.StaticFilesMiddleware",
    # After static files: everything else may show patients' data.
    "accounts.requests.middleware.NoStoreMiddleware",
    "csp.middleware.CSPMiddleware",
    "accounts.requests.guard.RequestGuardMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.requests.middleware.UploadMiddleware",
    "accounts.sign_in.devices.KnownDeviceMiddleware",
    "accounts.requests.middleware.SessionLimitMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.requests.middleware.FirstPasswordMiddleware",
    "accounts.second_step.middleware.SecondStepMiddleware",
    "accounts.requests.limits.TooManyRequestsMiddleware",
    "config.web.rate_limits.RateLimitMiddleware",
    "accounts.audit.downloads.DownloadTrailMiddleware",
    "adjudication.views.asking.AskFirstMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "accounts.requests.context_processors.study",
            ],
            "builtins": ["accounts.templatetags.components"],
        },
    }
]

# Data. The embedded services are addressed here and started by manage.py or `make services`, so
# that importing the settings starts nothing.

POSTGRESQL = ("postgresql", "postgres")
DATABASE_URL = env.url("DATABASE_URL", schemes=POSTGRESQL, default=SERVICES.database_url)
EMBEDDED_DATABASE = SERVICES.database_url == DATABASE_URL
# Migrations run as this role; without it the application's role owns its tables
# (docs/adr/0035-database-roles.md).
DATABASE_OWNER_URL = env.url(
    "DATABASE_OWNER_URL",
    schemes=POSTGRESQL,
    default=SERVICES.database_owner_url if EMBEDDED_DATABASE else DATABASE_URL,
)
if EMBEDDED_DATABASE and SERVICES.database_owner_url != DATABASE_OWNER_URL:
    raise EnvError(
        "DATABASE_OWNER_URL is set without DATABASE_URL. Set both, or neither for the embedded"
        " database."
    )
BROKER_URL = env.url(
    "BROKER_URL", schemes=("redis", "rediss", "redis+socket", "unix"), default=SERVICES.broker_url
)


# A connection whose other end is gone without a word ends within a minute, not after hours. An
# address may say otherwise (`?keepalives_idle=…`). A unix socket needs none of this.
KEEPALIVE = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


def database_settings(url: str) -> dict[str, Any]:
    """Return Django's connection settings for a PostgreSQL address.

    psycopg parses it, so socket directories and options work as written.
    """
    parts = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.pop("dbname", "occurrent"),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": parts.pop("port", ""),
        # A connection that died with the server is noticed on checkout and replaced.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **KEEPALIVE,
            **parts,
            "pool": {
                "min_size": 0,
                "max_size": env.integer("DATABASE_POOL_SIZE", 20, minimum=2),
                "timeout": 10,
            },
        },
    }


DATABASES = {"default": database_settings(DATABASE_URL)}
if DATABASE_OWNER_URL != DATABASE_URL and not DATABASES["default"]["USER"]:
    raise EnvError(
        "DATABASE_URL names no role, but DATABASE_OWNER_URL is set. Write it as"
        " postgresql://role:password@host/name."
    )

# People and sessions.

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.sign_in.backends.ThrottledBackend"]
# After so many failed attempts for one name from one address, that pair waits.
SIGN_IN_ATTEMPTS = env.integer("SIGN_IN_ATTEMPTS", 5, minimum=1)
SIGN_IN_LOCK_MINUTES = env.integer("SIGN_IN_LOCK_MINUTES", 15, minimum=1)
# After so many from one address, and in all, only browsers that know the person go on.
SIGN_IN_ADDRESS_ATTEMPTS = env.integer("SIGN_IN_ADDRESS_ATTEMPTS", 50, minimum=1)
SIGN_IN_TOTAL_ATTEMPTS = env.integer("SIGN_IN_TOTAL_ATTEMPTS", 500, minimum=1)
# So many passwords are checked at once in one web process: each check keeps a core busy.
PASSWORD_CHECKS = env.integer("PASSWORD_CHECKS", 1, minimum=1)
# Multiplies how often a person may ask for what is costly (`config.web.rate_limits`).
REQUEST_LIMITS = env.integer("REQUEST_LIMITS", 1, minimum=0)
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
] + [{"NAME": "accounts.sign_in.password_variety.VariedPasswordValidator"}]
# The organisation's OpenID Connect provider, or None (docs/sign-in.md). django-allauth does the
# protocol and the second steps; our adapters decide who gets in.
OIDC = read_provider(env, production=PRODUCTION)
ACCOUNT_ADAPTER = "accounts.provider.account_adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
# Our own throttle counts attempts, in the database and on its time.
ACCOUNT_RATE_LIMITS = False
SOCIALACCOUNT_ADAPTER = "accounts.provider.adapters.ProviderAdapter"
# Second steps of people with a password here: an app (TOTP) or a passkey, and recovery codes.
SECOND_STEP = env.choice("SECOND_STEP", ("nobody", "admins", "everyone"), default="nobody")
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_FORMS = {"authenticate": "accounts.second_step.forms.CodeForm"}
# Nobody can guess a passkey, and a limit for each address would lock out colleagues behind it.
MFA_RATE_LIMITS = False
MFA_TOTP_ISSUER = "Occurrent"
# The clock of a phone may be half a minute off.
MFA_TOTP_TOLERANCE = 1
# Browsers allow passkeys without HTTPS on "localhost" alone.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS
ACCOUNT_REAUTHENTICATION_METHODS = ["password"]
# A link that invites a person ends after so many days.
INVITATION_DAYS = env.integer("INVITATION_DAYS", 7, minimum=1, maximum=365)
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "accounts:sign_in"

# A session ends after half an hour without a request, and with the browser.
SESSION_COOKIE_AGE = env.integer("SESSION_IDLE_MINUTES", 30, minimum=1) * 60
SESSION_SAVE_EVERY_REQUEST = True
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
# However busy, a session ends after a working day.
SESSION_LONGEST_HOURS = env.integer("SESSION_LONGEST_HOURS", 12, minimum=1)

# Security.

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if env.boolean("BEHIND_PROXY", False) else None
)
SECURE_CONTENT_TYPE_NOSNIFF = True
# Nothing leaves for other sites. Not "no-referrer": under it browsers send `Origin: null` with our
# own forms, which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

SELF = "'self'"
NONE = "'none'"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        # Plotly's styles are a file, too (`templates/_components/plotly.html`).
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

# Language, time, static files.

LANGUAGE_CODE = "en-gb"
USE_I18N = False
# Notes and rows have the record's local clock without a zone. Only the application's own times
# (claims, audit) have a zone.
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
# Names that follow from the content let browsers keep a file for a year. `make run` collects the
# files and sets this.
HASHED_STATIC = env.boolean("HASHED_STATIC", PRODUCTION)
STATIC_ROOT = BASE_DIR / "staticfiles" if PRODUCTION else SERVICES.var / "static"
# The plot's script comes from its Python package, which is not imported for it.
PLOTLY = find_spec("plotly")
STATICFILES_DIRS = [
    BASE_DIR / "static",
    *(
        [("plotly", Path(PLOTLY.origin).parent / "package_data")]
        if PLOTLY and PLOTLY.origin
        else []
    ),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "config.static.HashedStorage"
            if HASHED_STATIC
            else "django.contrib.staticfiles.storage.StaticFilesStorage"
        )
    },
}
WHITENOISE_USE_FINDERS = not HASHED_STATIC
MEDIA_ROOT = SERVICES.var / "files"

# API.

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        # The first class decides the answer to an unauthenticated request: 401, and how to
        # authenticate.
        "accounts.api_access.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["config.web.rate_limits.PersonThrottle"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["accounts.api_access.parsing.CheckedJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 100,
}
# Tokens are stored as digests, in a model of our own (`accounts.api_access.tokens`).
KNOX_TOKEN_MODEL = "accounts.ApiToken"
# Its own migrations would create a table of the replaced model. Nothing empties that table, and it
# prevents other tables from being emptied.
MIGRATION_MODULES = {"knox": None}
REST_KNOX = {
    "TOKEN_TTL": timedelta(days=env.integer("API_TOKEN_DAYS", 90, minimum=1)),
    "AUTH_HEADER_PREFIX": "Bearer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Occurrent",
    "DESCRIPTION": (
        "Textual time series of hospital admissions: occurrences, their times, and the evidence"
        " behind each."
    ),
    "VERSION": "1",
    "EXTENSIONS_INFO": {"x-release": VERSION},
    "OAS_VERSION": "3.1.1",
    "PATH_CONVERTER_OVERRIDES": {
        "public_id": {
            "type": "string",
            "pattern": f"^[{ALPHABET}]{{{PUBLIC_ID_LENGTH}}}$",
            "example": "k7m2p9w4x8qz",
        },
        "uid4": {"type": "string", "pattern": "^[0-9a-f]{4}$", "example": "a3f0"},
        "number": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1, "example": 1},
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "accounts.api_access.examples.add_examples",
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    # Two fields of one name with different values would get names like "Judge8d3Enum".
    "ENUM_NAME_OVERRIDES": {
        "JobStateEnum": "jobs.models.JobState",
        "CaseStateEnum": "timelines.api.choices.CASE_STATES",
        "TimelineKindEnum": "timelines.api.choices.KINDS",
        "BasisEnum": "timelines.api.choices.BASES",
        "TimesEnum": "cohorts.api.choices.TIMES",
        "OccurrenceTimesEnum": "cohorts.api.choices.OCCURRENCE_TIMES",
        "MembershipEnum": "cohorts.api.choices.MEMBERSHIP",
        "RuleKindEnum": "cohorts.api.choices.RULE_KINDS",
        "MemberKindEnum": "cohorts.api.choices.MEMBER_KINDS",
        "MemberStateEnum": "cohorts.api.choices.MEMBER_STATES",
        "DatasetStateEnum": "ehr.models.Dataset.State",
        "AnswerEnum": "adjudication.models.Decision.Answer",
        "JudgeEnum": "adjudication.judge_runs.forms.JUDGES",
        "PacketStateEnum": "adjudication.models.Packet.State",
        "LaunchStateEnum": "adjudication.models.RecipeLaunch.State",
        "StepStateEnum": "adjudication.models.RecipeStep.State",
        "StepKindEnum": "adjudication.models.RecipeStep.Kind",
        "DifferenceEnum": "adjudication.review.search_steps.CHOICES",
    },
}

# Models. Embedder and reranker by one name, which model serves which role, and the named models that
# a run may choose instead (docs/reference/models.md). None of them has keys: an entry names the variable with its key,
# which is read when the model is first used.

MODEL_PRESET = env.choice("MODEL_PRESET", PRESETS, default="")
MODEL_ROLES = env.mapping("MODEL_ROLES")
MODEL_ENDPOINTS = env.mapping("MODEL_ENDPOINTS")
MODEL_KEY = env.text
# Packages without Django read the folder of models from the process environment.
if _model_folder := env.text("MODEL_FOLDER", ""):
    os.environ["MODEL_FOLDER"] = _model_folder

# Imports. What is larger is refused with the name of the setting.

# A longer note takes a stage minutes, and a page seconds.
IMPORT_NOTE_BYTES = env.integer("IMPORT_NOTE_BYTES", 1_000_000, minimum=1)
# Rows of one case; uncompressed bytes of its file if each case has its own file, else of its rows.
IMPORT_CASE_ROWS = env.integer("IMPORT_CASE_ROWS", 2_000_000, minimum=1, maximum=2**31 - 1)
IMPORT_CASE_BYTES = env.integer("IMPORT_CASE_BYTES", 500_000_000, minimum=1)
# How many times its own size a gzipped or Parquet file may become (beyond 16 MB); tables of text
# reach about 30.
IMPORT_EXPANSION = env.integer("IMPORT_EXPANSION", 200, minimum=1)
# The database of `import_dataset --format omop --schema NAME`; only read.
OMOP_DATABASE_URL = env.url("OMOP_DATABASE_URL", schemes=POSTGRESQL, default="")

# Uploads of the import page. Their files are below MEDIA_ROOT, which workers of the queue ingest need.
UPLOAD_BYTES = env.integer("UPLOAD_BYTES", 10_000_000_000, minimum=1)
UPLOAD_FILES = env.integer("UPLOAD_FILES", 20_000, minimum=1)
# A command that ends with 0 if the files in its last argument, a folder, are clean.
UPLOAD_SCANNER = env.text("UPLOAD_SCANNER", "")
UPLOAD_SCANNER_SECONDS = env.integer("UPLOAD_SCANNER_SECONDS", 600, minimum=1)
DATA_UPLOAD_MAX_NUMBER_FILES = UPLOAD_FILES
FILE_UPLOAD_HANDLERS = ["ehr.uploads.receiving.ReceivingHandler"]
# Folders of the server that study admins may import: each, and the folders directly inside it.
IMPORT_FOLDERS = env.words("IMPORT_FOLDERS")
# Webhooks. Their addresses are https and public, unless these allow others (a receiver inside the
# hospital).
WEBHOOK_HTTP = env.boolean("WEBHOOK_HTTP", False)
WEBHOOK_PRIVATE = env.boolean("WEBHOOK_PRIVATE", False)

# Exports. Their files are deleted so many days after they were written.
EXPORT_DAYS = env.integer("EXPORT_DAYS", 7, minimum=1)

# Monitoring (docs/monitoring.md).

# A monitoring server sends it as a bearer token to read /metrics. Without it, nothing is counted
# or shown.
METRICS_TOKEN = env.secret("METRICS_TOKEN") if env.text("METRICS_TOKEN", "") else ""
# With less free on the disk of the files, /readyz says no.
FREE_DISK_BYTES = env.integer("FREE_DISK_BYTES", 1_000_000_000, minimum=0)

# Anchors: heads of the chains, signed in a file outside the database (docs/adr/0071-anchors.md).
ANCHOR_FILE = env.path("ANCHOR", SERVICES.var / "anchors.jsonl")
ANCHOR_KEY_FILE = env.path("ANCHOR_KEY", SERVICES.var / "anchor_key.pem")
ANCHOR_TSA_URL = env.url("ANCHOR_TSA_URL", schemes=("https", "http"), default="")
ANCHOR_TSA_CERTIFICATES_FILE = env.path("ANCHOR_TSA_CERTIFICATES", None)
ANCHOR_EMAIL = env.words("ANCHOR_EMAIL")
# How often a worker appends the heads; 0 leaves it to `manage.py anchor_chain`.
ANCHOR_SECONDS = env.integer("ANCHOR_SECONDS", 3600, minimum=0)

LOGGING = logging_config(level=env.text("LOG_LEVEL", "INFO").upper())
LOGGING_CONFIG = "logging.config.dictConfig"

# Work. Why each of these: docs/adr/0004-queue-is-the-row.md.

# A worker that is silent this long has lost its job; the heartbeat comes three times as often.
JOB_LEASE_SECONDS = env.integer("JOB_LEASE_SECONDS", 60, minimum=1)
# A stage or a game that takes longer fails: one that computes here, and one that asks language
# models.
STAGE_SECONDS = env.integer("STAGE_SECONDS", 1800, minimum=1)
MODEL_STAGE_SECONDS = env.integer("MODEL_STAGE_SECONDS", 6 * 3600, minimum=1)
QUEUES = ("ingest", "pipeline", "generate", "embed", "judge")
CELERY_BROKER_URL = BROKER_URL
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in QUEUES]
CELERY_TASK_DEFAULT_QUEUE = "pipeline"
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
# A worker takes a message when it is free to work on it, so that no hint waits behind a long stage.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_DISABLE_PREFETCH = True
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": env.integer("BROKER_VISIBILITY_SECONDS", 6 * 3600, minimum=60),
    # Messages of a killed worker come back within seconds (kombu's defaults sweep every 100 s or
    # so).
    "unacked_restore_throttle": 1,
    "unacked_restore_interval": 5,
}
# Redis gives the lowest number first: messages of the schedule and of work that a dead worker left
# (`jobs.hints`) come before those of a large run.
CELERY_TASK_DEFAULT_PRIORITY = 3
CELERY_TASK_TIME_LIMIT = None
CELERY_TIMEZONE = "UTC"
# The schedule below is all of it: a file of last times would only be one more to damage.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_BEAT_SCHEDULE = {
    "counts": {
        "task": "accounts.tasks.delete_ended_counts",
        "schedule": 3600,
        "options": {"queue": "pipeline", "expires": 600},
    },
    "sweep": {
        "task": "jobs.tasks.sweep",
        "schedule": env.integer("SWEEP_SECONDS", 15, minimum=1),
        # A sweep that nobody fetched in time is replaced by the next one.
        "options": {"queue": "pipeline", "expires": 60},
    },
    "exports": {
        "task": "timelines.tasks.delete_expired",
        "schedule": 600,
        "options": {"queue": "pipeline", "expires": 60},
    },
    "runs": {
        "task": "timelines.tasks.notify_of_runs",
        "schedule": 60,
        "options": {"queue": "pipeline", "expires": 60},
    },
    "recipes": {
        "task": "adjudication.tasks.advance_recipes",
        "schedule": 10,
        "options": {"queue": "pipeline", "expires": 10},
    },
    "reviews": {
        "task": "adjudication.tasks.remind_of_reviews",
        "schedule": 3600,
        "options": {"queue": "pipeline", "expires": 600},
    },
    "webhooks": {
        "task": "jobs.tasks.announce_ended",
        "schedule": 30,
        "options": {"queue": "pipeline", "expires": 30},
    },
}

if ANCHOR_SECONDS:
    CELERY_BEAT_SCHEDULE["anchors"] = {
        "task": "adjudication.tasks.anchor",
        "schedule": ANCHOR_SECONDS,
        "options": {"queue": "pipeline", "expires": 600},
    }

# E-mail carries ids and links, never patient text. Without a host, none is sent or offered.

EMAIL_HOST = env.text("EMAIL_HOST", "")
EMAIL_PORT = env.integer("EMAIL_PORT", 587, minimum=1)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = env.boolean("EMAIL_USE_TLS", True)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "occurrent@localhost")
#: Where people reach this installation: the beginning of links in e-mails.
SITE_URL = env.text("SITE_URL", "")
if EMAIL_HOST:
    CELERY_BEAT_SCHEDULE["mail"] = {
        "task": "accounts.tasks.send_mail",
        "schedule": 60,
        "options": {"queue": "pipeline", "expires": 60},
    }
for _entry in CELERY_BEAT_SCHEDULE.values():
    _entry["options"] |= {"priority": 0}  # type: ignore[operator]

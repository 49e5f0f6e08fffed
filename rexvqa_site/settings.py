"""Settings, one file. What a deployment may change is read from the environment, by name, in docs/settings.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from annotation.site.home_files import UMASK
from rexvqa_site.env import (
    cookie_name,
    counts_in,
    env_bool,
    env_bucket,
    env_certificates,
    env_endpoints,
    env_folders,
    env_int,
    env_media,
    env_networks,
    env_numbers,
    env_pacs,
    env_path,
    env_provider,
    env_receiver,
    env_secret,
    env_senders,
    env_site,
    env_str,
    env_url,
    env_webhooks,
    env_word,
    settings_read,
)

# --- Places ---------------------------------------------------------------------------------------
BASE_DIR = Path(__file__).resolve().parent.parent
HOME = env_path("REXVQA_HOME", BASE_DIR / "var")
MEDIA_ROOT = HOME / "media"
TEMP_ROOT = HOME / "tmp"
BACKUP_ROOT = env_path("REXVQA_BACKUPS", HOME / "backups")
BACKUP_DAYS = env_int("REXVQA_BACKUP_DAYS", 7)  # after which the page of the site asks for a new backup; 0: never
BACKUP_KEY = env_str("REXVQA_BACKUP_KEY")  # a public key of age, for which every backup is encrypted
_seals = env_str("REXVQA_AUDIT_SEALS")
AUDIT_SEALS = Path(_seals).expanduser().resolve() if _seals else None
STATIC_ROOT = HOME / "static"
os.umask(UMASK)
for _folder in (HOME, MEDIA_ROOT, TEMP_ROOT):
    _folder.mkdir(parents=True, exist_ok=True, mode=0o700)
# Where the files of images are: "folder" (MEDIA_ROOT) or "s3://bucket/prefix"; and where else they are looked for.
MEDIA = env_media("REXVQA_MEDIA") or "folder"
MEDIA_ALSO = env_media("REXVQA_MEDIA_ALSO")
MEDIA_S3 = env_bucket()

# --- Keys -----------------------------------------------------------------------------------------
SECRET_KEY = env_secret("REXVQA_SECRET_KEY", HOME / "secret_key")
PSEUDONYM_KEY = env_secret("REXVQA_PSEUDONYM_KEY", HOME / "pseudonym_key")

# --- Address --------------------------------------------------------------------------------------
DEBUG = env_bool("REXVQA_DEBUG")
DEMO = (HOME / "DEMONSTRATION").exists()  # set by "make demo"; a home is a demonstration from its birth or never
BIND = env_str("REXVQA_BIND", "127.0.0.1")
PORT = env_int("PORT", 8000, at_least=1)
PUBLIC_URL = env_site("REXVQA_URL", f"http://127.0.0.1:{PORT}")
HTTPS = PUBLIC_URL.startswith("https:")
_host = urlsplit(PUBLIC_URL).hostname or ""
ALLOWED_HOSTS = sorted({f"[{_host}]" if ":" in _host else _host, "127.0.0.1", "localhost", "[::1]"})
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

# --- Applications ---------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "django_htmx",
    "axes",
    "csp",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "rexvqa_site",
    "annotation",
    "readerstudy",
]
MIDDLEWARE = [
    "annotation.views.site.middleware.ReceiptMiddleware",
    "annotation.views.site.middleware.ProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "annotation.views.site.middleware.NoStoreMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "annotation.views.site.middleware.NulMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotation.views.site.middleware.PersonalTimeZoneMiddleware",
    "annotation.views.site.middleware.BodyLimitMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "annotation.views.site.middleware.SecondFactorMiddleware",
    "annotation.views.site.middleware.ProblemMiddleware",
]
ROOT_URLCONF = "rexvqa_site.urls"
WSGI_APPLICATION = "rexvqa_site.wsgi.application"
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
                "annotation.views.site.home.site",
            ],
            "builtins": [  # tags and filters of every template, which loads nothing
                "django.templatetags.i18n",
                "django.templatetags.static",
                "django.templatetags.tz",
                "django.contrib.humanize.templatetags.humanize",
                "annotation.templatetags.estimates",
                "annotation.templatetags.pages",
                "readerstudy.templatetags.results",
            ],
        },
    }
]
FORM_RENDERER = "annotation.forms.QuickSelects"

# --- Database -------------------------------------------------------------------------------------
# SQLite as measured for many writers: WAL, FULL (an acknowledged answer survives power loss),
# IMMEDIATE (a writer waits instead of failing), 20 s of patience.
SQLITE_OPTIONS: dict[str, Any] = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": (
        "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA cache_size=-64000;PRAGMA mmap_size=134217728;"
    ),
}
# A host that vanishes takes its locks with it after 25 seconds, not after the two hours of TCP. Told to both sides.
SIGNS_OF_LIFE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000}


def database_from(url: str) -> dict[str, Any]:
    """Connection settings for a DATABASE_URL; SQLite gets the measured options, PostgreSQL durable commits."""
    config: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = dict(SQLITE_OPTIONS)
        config["CONN_MAX_AGE"] = None
        config["CONN_HEALTH_CHECKS"] = False
    elif config["ENGINE"] == "django.db.backends.postgresql":
        # A pooler of transactions gives each another connection: no cursor and no prepared statement outlives it.
        mode = config.setdefault("OPTIONS", {}).pop("pool_mode", "session")
        if mode not in ("session", "transaction"):
            raise ImproperlyConfigured("pool_mode of DATABASE_URL must be session or transaction")
        config["DISABLE_SERVER_SIDE_CURSORS"] = mode == "transaction"
        # Compiling a query of ours takes PostgreSQL 200 ms, which no answer to a page wins back.
        on_server = {"synchronous_commit": "on", "jit": "off", **SIGNS_OF_LIFE}
        options = " ".join(f"-c {name.replace('keep', 'tcp_keep')}={value}" for name, value in on_server.items())
        config["OPTIONS"] = {**config["OPTIONS"], **SIGNS_OF_LIFE, "options": options}
    else:
        raise ImproperlyConfigured("DATABASE_URL must name sqlite or postgres")
    return config


DATABASES = {"default": database_from(env_url("DATABASE_URL") or f"sqlite:///{HOME / 'db.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- People ---------------------------------------------------------------------------------------
AUTH_USER_MODEL = "annotation.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "annotation.people.backend.PersonBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
PASSWORD_HASHERS = [
    "annotation.people.backend.PersonHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",  # stored before; hashed anew at the next log-in
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AXES_USERNAME_FORM_FIELD = "username"  # the field of the log-in form; it holds the e-mail address
FAILURES_OF_ACCOUNT_THERE = 8  # of one account from one network address
AXES_FAILURE_LIMIT = "annotation.people.backend.failures_before_lock"
FAILURES_OF_ACCOUNT = 40  # from all addresses together, within AXES_COOLOFF_TIME
FAILURES_OF_ADDRESS = 60  # of all accounts together: a whole hospital may have one address
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # the time that the page names is the time it takes
AXES_LOCKOUT_TEMPLATE = "annotation/people/locked_out.html"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# Of what was sent with a wrong try, which axes keeps. Passwords it leaves out by itself.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "code", "credential", "csrfmiddlewaretoken"]
INVITATION_DAYS = env_int("REXVQA_INVITATION_DAYS", 14, at_least=1)
# Of allauth: the stages of a log-in, second factors, and lists of sessions. Sign-up, passwords and throttling are ours,
# so its own are off.
ACCOUNT_ADAPTER = "annotation.views.people.signing_in.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # seconds after which a password or factor is asked for again
MFA_ADAPTER = "annotation.views.people.signing_in.FactorAdapter"
MFA_FORMS = {"authenticate": "annotation.forms.factors.CodeForm"}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "Reading room"
MFA_TOTP_TOLERANCE = 1  # a code of the 30 seconds before or after: clocks differ
SECOND_FACTOR = env_word("REXVQA_SECOND_FACTOR", ("optional", "required-for-coordinators"))
SECOND_FACTOR_REQUIRED = SECOND_FACTOR != "optional" and not DEMO
OIDC_PROVIDER = None if DEMO else env_provider()  # the only one by which people log in

# --- Web safety -----------------------------------------------------------------------------------
SESSION_ENGINE = "rexvqa_site.sessions"
# Cookies belong to a host, whatever its port: each of several sites on one has names of its own.
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = (cookie_name(_name, PUBLIC_URL) for _name in ("sessionid", "csrftoken"))
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]  # asked on the machine itself, without TLS
SECURE_HSTS_SECONDS = env_int("REXVQA_HSTS_SECONDS", 31_536_000) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
BEHIND_PROXY = env_bool("REXVQA_BEHIND_PROXY")
# Whose X-Forwarded-For is believed; with one address for everybody, wrong passwords of one would lock out all.
TRUSTED_PROXIES = env_networks("REXVQA_TRUSTED_PROXIES", "127.0.0.1 ::1" if BEHIND_PROXY else "")
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "blob:", "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "worker-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
CSRF_FAILURE_VIEW = "annotation.views.site.errors.csrf_failure"

# --- Uploads --------------------------------------------------------------------------------------
UPLOAD_MAX_FILES = env_int("REXVQA_UPLOAD_MAX_FILES", 400, at_least=1)
UPLOAD_MAX_BYTES = env_int("REXVQA_UPLOAD_MAX_MB", 512, at_least=1) * 1024 * 1024
IMAGE_MAX_BYTES = env_int("REXVQA_IMAGE_MAX_MB", 128, at_least=1) * 1024 * 1024
IMAGE_MAX_PIXELS = env_int("REXVQA_IMAGE_MAX_MEGAPIXELS", 40, at_least=1) * 1_000_000
# Folders on the server that the import and upload pages may read; none by default. Separated by ":".
SERVER_FOLDERS = [Path(p).resolve() for p in env_str("REXVQA_SERVER_FOLDERS").split(":") if p]
# Predictions of a submitter: runs for one bank, and files within 24 hours, checks included.
SUBMITTER_RUNS = env_int("REXVQA_SUBMITTER_RUNS", 10, at_least=1)
SUBMITTER_FILES = env_int("REXVQA_SUBMITTER_FILES", 20, at_least=1)
DATA_UPLOAD_MAX_NUMBER_FILES = UPLOAD_MAX_FILES
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
FILE_UPLOAD_TEMP_DIR = str(TEMP_ROOT)
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
FILE_UPLOAD_PERMISSIONS = 0o600

# --- Machines -------------------------------------------------------------------------------------
NODES = env_int("REXVQA_NODES", 1, at_least=1)  # web servers with this database; of several none changes its tables

# --- Background work ------------------------------------------------------------------------------
CELERY_BROKER_URL = env_url("CELERY_BROKER_URL") or "filesystem://"
QUEUE_ROOT = HOME / "queue"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},  # figures, large ones too: of each process
    "counts": counts_in(CELERY_BROKER_URL, NODES),
}

# After so many minutes a job of this queue is ended.
JOB_MINUTES = {"images": 720, "imports": 240, "analysis": 720, "models": 240, "mail": 10}
JOB_MINUTES |= env_numbers("REXVQA_JOB_MINUTES", JOB_MINUTES)
JOB_DAYS = env_int("REXVQA_JOB_DAYS", 30)  # after which letters and jobs of the site itself are deleted; 0: never
JOB_HEARTBEAT_SECONDS = 5
JOB_STALE_SECONDS = env_int("REXVQA_JOB_STALE_SECONDS", 30, at_least=1)

# --- Models ---------------------------------------------------------------------------------------
# The only model servers that are ever asked; their keys are read when they are needed, by annotation.endpoints.
MODEL_ENDPOINTS = env_endpoints("REXVQA_MODEL_ENDPOINTS")
CALLS_WAIT_SECONDS = env_int("REXVQA_CALLS_WAIT_SECONDS", 7200, at_least=1)  # without any answer, before calls pause
# Sentence models that are asked for vectors in this process; nothing of a question leaves it.
EMBEDDING_FOLDERS = env_folders("REXVQA_EMBEDDING_FOLDERS")
CLASSIFIER_FOLDERS = env_folders("REXVQA_CLASSIFIER_FOLDERS")
# Trusted beside the public authorities, for connections to models alone.
MODEL_CERTIFICATES = env_certificates("REXVQA_MODEL_CA_FILE")

# The only addresses that are notified of events; their secrets are read when they are needed (people/deliveries.py).
WEBHOOKS = env_webhooks("REXVQA_WEBHOOKS")

# --- PACS -----------------------------------------------------------------------------------------
# The only archives that are ever asked for images; their passwords are read when they are needed (ingest/fetching.py).
DICOMWEB = env_pacs("REXVQA_DICOMWEB")
DICOMWEB_CERTIFICATES = env_certificates("REXVQA_DICOMWEB_CA_FILE")  # believed beside the public authorities
# Who may send images to "manage.py receive_dicom"; nobody without this.
DICOM_SENDERS = env_senders("REXVQA_DICOM_SENDERS")
DICOM_TITLE = env_str("REXVQA_DICOM_TITLE", "READINGROOM")
DICOM_BIND = env_str("REXVQA_DICOM_BIND", "127.0.0.1")
DICOM_PORT = env_int("REXVQA_DICOM_PORT", 11112, at_least=1)
DICOM_SILENCE_SECONDS = env_int("REXVQA_DICOM_SILENCE_SECONDS", 30, at_least=1)  # after which what came is taken in

# --- E-mail ---------------------------------------------------------------------------------------
EMAIL_HOST = env_str("REXVQA_EMAIL_HOST")
# Without a server a letter goes nowhere: the console is a log, and links in it can be used by whoever reads it.
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'dummy'}.EmailBackend"
EMAIL_TIMEOUT = 10  # seconds
EMAIL_PORT = env_int("REXVQA_EMAIL_PORT", 587)
EMAIL_HOST_USER = env_str("REXVQA_EMAIL_USER")
EMAIL_HOST_PASSWORD = env_str("REXVQA_EMAIL_PASSWORD")
EMAIL_USE_TLS = env_bool("REXVQA_EMAIL_TLS", True)
DEFAULT_FROM_EMAIL = env_str("REXVQA_EMAIL_FROM", "reading-room@localhost")

# --- Language and time ----------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
FORMAT_MODULE_PATH = ["rexvqa_site.formats"]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env_str("REXVQA_TIME_ZONE", "UTC")

# --- Static files ---------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "rexvqa_site.storage.ModuleStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

# --- Interface for programs -----------------------------------------------------------------------
API_REQUESTS_PER_MINUTE = env_int("REXVQA_API_REQUESTS_PER_MINUTE", 600, at_least=1)  # with each token
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "annotation.api.description.Description",
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {  # of docs/openapi.json, see manage.py write_api_schema
    "TITLE": "Reading room",
    "DESCRIPTION": "Banks, reviews and reader studies for programs; see docs/api.md.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PREPROCESSING_HOOKS": ["annotation.api.description.only_resources"],
    "POSTPROCESSING_HOOKS": [
        f"annotation.api.description.{name}" for name in ("with_links", "with_examples", "with_refusals_once")
    ],
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer", "bearerFormat": "rexvqa_..."},
            "session": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
        }
    },
}

# --- Log ------------------------------------------------------------------------------------------
LOG_LEVEL = env_str("REXVQA_LOG_LEVEL", "WARNING")
LOG_FORMAT = env_word("REXVQA_LOG_FORMAT", ("plain", "json"))
HEALTH_TOKEN = env_str("REXVQA_HEALTH_TOKEN")
# Who is told of errors and of times, without identifiers (annotation/site/telemetry.py); nobody by default.
SENTRY_DSN = env_receiver("REXVQA_SENTRY_DSN", r"https?://[^/?#@\s]+@[^?#@\s]+/\d+", "https://KEY@sentry.example.org/1")
OTEL_ENDPOINT = env_receiver("REXVQA_OTEL_ENDPOINT", r"https?://[^?#@\s]+", "http://127.0.0.1:4318")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "annotation.site.logs.WithoutSecrets",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        },
        "json": {"()": "annotation.site.logs.AsJson"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL},  # none of its own, which would write whole addresses
        "axes": {"level": "ERROR"},
        "kombu.connection": {"level": "ERROR"},
        "opentelemetry": {"level": "ERROR"},  # each try of a receiver that is away
    },
}
if SENTRY_DSN:
    LOGGING["handlers"]["sentry"] = {"class": "annotation.site.telemetry.SentryHandler", "level": "ERROR"}
    LOGGING["root"]["handlers"].append("sentry")

# --- What was read, for the page "Settings" --------------------------------------------------------
SETTINGS_READ = settings_read()

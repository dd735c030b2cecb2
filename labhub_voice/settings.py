"""Settings: the environment in, Django's names out. docs/settings.md lists every variable."""

from __future__ import annotations

from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from labhub_voice import env
from labhub_voice.database import database
from labhub_voice.headers import add_headers
from labhub_voice.school import APPS as SCHOOL_APPS
from labhub_voice.school import MIDDLEWARE as SCHOOL_MIDDLEWARE
from labhub_voice.school import school_login

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = Path(env.text("LABHUB_STATE_DIR", str(BASE_DIR / ".labhub")))

# Demo mode is the laptop: known logins, local endpoints allowed. Nothing else may use its key.
DEMO = env.flag("LABHUB_DEMO")
DEBUG = env.flag("LABHUB_DEBUG")
SECRET_KEY = env.text("SECRET_KEY", "demo-mode-only-" + "0" * 40 if DEMO else None)
if not DEMO and len(SECRET_KEY) < 40:
    raise ImproperlyConfigured("SECRET_KEY is too short: use at least 40 random characters.")
# Secrets of before: they still open what they signed or sealed, and seal nothing any more.
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")

ALLOWED_HOSTS = env.words("LABHUB_HOSTS", "localhost,127.0.0.1,[::1]" if DEMO else "")
CSRF_TRUSTED_ORIGINS = env.words("LABHUB_ORIGINS")

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",  # the templates that FORM_RENDERER looks for
    "csp",
    "axes",
    "labs",
]

MIDDLEWARE = [
    "labs.views.request_id.give_id",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Pages with evidence are 90 kB of much the same. The forms' secrets are masked anew in each answer, and Django
    # adds a random length, so that the compressed size gives nothing away.
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
    "labs.views.origin.remember_origin",
    "labs.views.view_as.Seeing",
]

# The school's login: None where it is off, and then nothing of it is loaded.
SCHOOL = school_login(may_be_plain=DEMO)
if SCHOOL is not None:
    INSTALLED_APPS += SCHOOL_APPS
    MIDDLEWARE += SCHOOL_MIDDLEWARE
    SOCIALACCOUNT_ADAPTER = "labs.views.school_login.SchoolErrors"

ROOT_URLCONF = "labhub_voice.urls"
ASGI_APPLICATION = "labhub_voice.asgi.application"
# The step forms' widgets are templates of ours, found like every other one.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "labs.views.notices.new_notices",
            ],
        },
    },
]

DATABASES = {
    "default": database(
        env.text("DATABASE_URL", f"sqlite://{STATE_DIR}/labhub.sqlite3"), int(env.number("LABHUB_DB_POOL", 0))
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
# A printed login link (labs/actions/login_link.py) holds from one class to the next.
PASSWORD_RESET_TIMEOUT = 7 * 24 * 3600
# Five wrong passwords for one name from one address: ten minutes' pause.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 10 / 60
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "registration/locked_out.html"
AXES_RESET_ON_SUCCESS = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEMO
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.flag("LABHUB_BEHIND_PROXY") else None
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
# A long prompt is refused by the form with a sentence; this only bounds what a request may hold at all.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

LANGUAGE_CODE = "en"
LANGUAGES = [("ko", _("Korean")), ("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "labs" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = STATE_DIR / "staticfiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "labhub_voice.static.HashedStaticFiles"},
}

WHITENOISE_ADD_HEADERS_FUNCTION = add_headers

# Pages that a web process works on at once (labhub_voice/pages.py).
LABHUB_WEB_THREADS = int(env.number("LABHUB_WEB_THREADS", 2))

REDIS_URL = env.text("REDIS_URL", "redis://127.0.0.1:6379/0")

# Celery only carries wake-ups; the database decides what runs (ARCHITECTURE.md).
CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1,
    "socket_timeout": 2.5,
    "retry_on_timeout": False,
    "visibility_timeout": 3600,
    # Wake-ups are worth nothing when they are old; the sweep repeats them.
    "max_retries": 0,
}
CELERY_TASK_DEFAULT_QUEUE = "background"
CELERY_TASK_ROUTES = {"labs.tasks.drive": {"queue": "drive"}}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# Times of the engine, in seconds. The drills shorten them.
LABHUB_BEAT_S = env.number("LABHUB_BEAT_S", 5)
LABHUB_LEASE_S = env.number("LABHUB_LEASE_S", 30)
LABHUB_SWEEP_S = env.number("LABHUB_SWEEP_S", 5)
LABHUB_CANCEL_POLL_S = env.number("LABHUB_CANCEL_POLL_S", 0.1)
LABHUB_FIRST_TOKEN_S = env.number("LABHUB_FIRST_TOKEN_S", 60)
LABHUB_IDLE_S = env.number("LABHUB_IDLE_S", 20)
LABHUB_TOTAL_S = env.number("LABHUB_TOTAL_S", 120)
LABHUB_RUN_S = env.number("LABHUB_RUN_S", 900)
LABHUB_OPEN_ATTEMPT_S = env.number("LABHUB_OPEN_ATTEMPT_S", 24 * 3600)
LABHUB_PAUSED_S = env.number("LABHUB_PAUSED_S", 60)
LABHUB_PARTNER_S = env.number("LABHUB_PARTNER_S", 180)
LABHUB_QUEUED_S = env.number("LABHUB_QUEUED_S", 6 * 3600)
# Raw frames of attempts that ended so many days ago are removed; 0 keeps them for ever.
LABHUB_FRAMES_DAYS = env.number("LABHUB_FRAMES_DAYS", 0)
# So many days after its end a course's personal data are erased, where the course says nothing else; 0: never.
LABHUB_ERASE_AFTER_DAYS = int(env.number("LABHUB_ERASE_AFTER_DAYS", 0))
# Times of the live hub, in seconds: states asked from the database, rights checked, pings sent, slow sockets borne.
LABHUB_LIVE_STATE_S = env.number("LABHUB_LIVE_STATE_S", 2)
LABHUB_LIVE_RIGHTS_S = env.number("LABHUB_LIVE_RIGHTS_S", 5)
LABHUB_LIVE_PING_S = env.number("LABHUB_LIVE_PING_S", 10)
LABHUB_LIVE_SLOW_S = env.number("LABHUB_LIVE_SLOW_S", 30)
LABHUB_ALLOW_LOCAL_ENDPOINTS = env.flag("LABHUB_ALLOW_LOCAL_ENDPOINTS", DEMO)
# An admin names a server's log; a page may show only what lies in these.
LABHUB_LOG_FOLDERS = env.words("LABHUB_LOG_FOLDERS", f"{STATE_DIR / 'log'},/var/log/llama")

# Who brings it may read /metrics; without one only staff who are logged in.
LABHUB_METRICS_TOKEN = env.text("LABHUB_METRICS_TOKEN", "")
if 0 < len(LABHUB_METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("LABHUB_METRICS_TOKEN is too short: use at least 20 random characters.")

LOG_FORMAT = env.text("LABHUB_LOG_FORMAT", "plain" if DEMO else "json")
if LOG_FORMAT not in ("plain", "json"):
    raise ImproperlyConfigured(f"LABHUB_LOG_FORMAT must be plain or json, not {LOG_FORMAT!r}.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"()": "labs.logs.Plain", "format": "{asctime} {levelname} {name} {message}", "style": "{"},
        "json": {"()": "labs.logs.JsonLines"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": env.text("LABHUB_LOG_LEVEL", "INFO")},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        # A line for every wake-up, most of which find nothing to do. What fails is an error there, and stays.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        # It writes down who could not log in, by name. Its own table has that, for the admin.
        "axes": {"level": "ERROR"},
    },
}

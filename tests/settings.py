"""The product's own settings in a state directory of their own. Programs started by a test inherit it."""

from __future__ import annotations

import os
import tempfile

# pytest-django reads the settings before any conftest, so this is the first place that can say so.
os.environ.setdefault("LABHUB_DEMO", "1")
if "LABHUB_STATE_DIR" not in os.environ:
    _folder = tempfile.TemporaryDirectory(prefix="labhub-test-")
    os.environ["LABHUB_STATE_DIR"] = _folder.name

# The school's login is loaded here, for its tests; programs that a test starts have it off, as it is by default.
_SCHOOL = {
    "LABHUB_OIDC_ISSUER": "http://127.0.0.1:9",
    "LABHUB_OIDC_CLIENT_ID": "lab",
    "LABHUB_OIDC_SECRET": "lab-secret",
}
os.environ.update(_SCHOOL)

from labhub_voice.settings import *  # noqa: E402, F403

for _name in _SCHOOL:
    del os.environ[_name]

# Hashing is slow on purpose, and hashed names need `collectstatic`; neither is what most tests are about.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# WhiteNoise warns about a folder that is not there, and warnings are errors.
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # noqa: F405

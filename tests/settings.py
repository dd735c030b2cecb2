"""The product's own settings in a state directory of their own. Programs started by a test inherit it."""

from __future__ import annotations

import os
import tempfile

# pytest-django reads the settings before any conftest, so this is the first place that can say so.
os.environ.setdefault("LABHUB_DEMO", "1")
if "LABHUB_STATE_DIR" not in os.environ:
    _folder = tempfile.TemporaryDirectory(prefix="labhub-test-")
    os.environ["LABHUB_STATE_DIR"] = _folder.name

from labhub_voice.settings import *  # noqa: F403

# Hashing is slow on purpose, and hashed names need `collectstatic`; neither is what most tests are about.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# WhiteNoise warns about a folder that is not there, and warnings are errors.
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # noqa: F405

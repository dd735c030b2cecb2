"""HTTP to Django, websockets to the live consumers, behind the origin check and the session."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")
django.setup(set_prefix=False)  # before anything that needs the app registry

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from labhub_voice.pages import PagesHandler  # noqa: E402
from labs.live.boards import draw_with  # noqa: E402
from labs.live.origin import SameOrigin  # noqa: E402
from labs.live.routing import websocket_urlpatterns  # noqa: E402
from labs.metrics.share import Reporter  # noqa: E402
from labs.start import refuse_bad_settings  # noqa: E402
from labs.views.boards import draw  # noqa: E402

refuse_bad_settings()
draw_with(draw)
Reporter("web").start()

application = ProtocolTypeRouter(
    {
        "http": PagesHandler(),
        "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)

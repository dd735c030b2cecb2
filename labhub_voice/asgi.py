"""HTTP to Django, websockets to the live consumers, behind the origin check and the session."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")
http = get_asgi_application()  # before anything that needs the app registry

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

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
        "http": http,
        "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)

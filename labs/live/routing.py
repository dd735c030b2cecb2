"""The addresses of the websockets."""

from django.urls import path

from labs.live.boards import BoardConsumer
from labs.live.consumers import AttemptConsumer

websocket_urlpatterns = [
    path("ws/attempts/<uuid:attempt_id>/", AttemptConsumer.as_asgi()),
    path(
        "ws/courses/<slug:course_slug>/boards/<slug:board>/<str:language>/",
        BoardConsumer.as_asgi(),
    ),
]

"""The addresses of the websockets."""

from django.urls import path

from labs.live.consumers import AttemptConsumer

websocket_urlpatterns = [path("ws/attempts/<uuid:attempt_id>/", AttemptConsumer.as_asgi())]

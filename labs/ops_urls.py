"""The addresses of the pages for those who run the site."""

from django.urls import path

from labs.views.ops import endpoint, endpoint_verbs, endpoints, stuck

urlpatterns = [
    path("endpoints/", endpoints.endpoints, name="endpoints"),
    path("endpoints/now", endpoints.endpoints_now, name="endpoints-now"),
    path("endpoints/add", endpoint.add, name="endpoint-add"),
    path("endpoints/<int:endpoint_id>/", endpoint.endpoint, name="endpoint"),
    path("endpoints/<int:endpoint_id>/now", endpoint.endpoint_now, name="endpoint-now"),
    path("endpoints/<int:endpoint_id>/settings", endpoint.settings, name="endpoint-settings"),
    path("endpoints/<int:endpoint_id>/remove", endpoint.take_away, name="endpoint-remove"),
    path("endpoints/<int:endpoint_id>/do", endpoint_verbs.do, name="endpoint-do"),
    path("endpoints/<int:endpoint_id>/bookings", endpoint_verbs.bookings, name="endpoint-bookings"),
    path("endpoints/<int:endpoint_id>/server", endpoint_verbs.server, name="endpoint-server"),
    path("stuck/", stuck.stuck, name="stuck"),
]

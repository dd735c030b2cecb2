"""The site's addresses: login and language, Django's tables, the lab."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import URLPattern, include, path

from labs.views.login import Login


def school_urls() -> list[URLPattern]:
    """None where the school's login is off: its addresses do not exist then."""
    if settings.SCHOOL is None:
        return []
    from labs.views import school_login

    return [
        path("login/school/", school_login.begin, name="school-login"),
        path("login/school/back/", school_login.back, name="school-login-back"),
    ]


urlpatterns = [
    path("admin/", admin.site.urls),
    path("login/", Login.as_view(), name="login"),
    *school_urls(),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("labs.urls")),
]

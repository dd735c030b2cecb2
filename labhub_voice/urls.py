"""The site's addresses: login and language, Django's tables, the lab."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from labs.views.login import Login

urlpatterns = [
    path("admin/", admin.site.urls),
    path("login/", Login.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("labs.urls")),
]

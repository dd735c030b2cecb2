from django.apps import AppConfig


class LabsConfig(AppConfig):
    name = "labs"
    verbose_name = "LabHub Voice"

    def ready(self) -> None:
        from labs.actions import checks as _actions  # noqa: F401  (registers them)
        from labs.live import checks as _live  # noqa: F401

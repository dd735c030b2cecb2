from django.apps import AppConfig


class LabsConfig(AppConfig):
    name = "labs"
    verbose_name = "LabHub Voice"

    def ready(self) -> None:
        from labs.live import checks  # noqa: F401  (registers them)

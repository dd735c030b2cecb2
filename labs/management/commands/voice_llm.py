"""`manage.py voice_llm ...`: the same as the `voice-llm` command."""

from django.core.management.base import BaseCommand

from labs.voice_llm import main


class Command(BaseCommand):
    help = "The lab's llama-server from a terminal: up, status, health, props, slots, log, down."
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        # Its own parser, so that both names take the same words.
        raise SystemExit(main(argv[2:]))

    def handle(self, *args: str, **options: object) -> None:
        if code := main(list(args)):
            raise SystemExit(code)

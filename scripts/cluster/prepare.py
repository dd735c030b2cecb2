"""Tables, static files, the demo class and the endpoints of the topology. One process: Django loads once."""

from __future__ import annotations

import argparse

import django
from django.core.management import call_command

from scripts.supervisor.prepare import collect_static


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", nargs=2, action="append", metavar=("ADDRESS", "LOG"), required=True)
    got = parser.parse_args()
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    collect_static()
    call_command("demo")
    from labs.actions.endpoint import checked_address
    from labs.models import Endpoint

    for number, (address, log) in enumerate(got.endpoint, 1):
        Endpoint.objects.create(name=f"llama {number}", base_url=checked_address(address), log_path=log)


if __name__ == "__main__":
    main()

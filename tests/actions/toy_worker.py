"""`celery -A tests.actions.toy_worker worker ...`: the product's worker, with the toy step among its steps."""

from __future__ import annotations

from typing import Any

from celery.signals import celeryd_after_setup

from labhub_voice.celery import app

__all__ = ["app"]


@celeryd_after_setup.connect
def add_the_toy_step(**_: Any) -> None:
    from labs.steps import all_steps
    from tests.actions.toy import ToyStep

    all_steps()[ToyStep.key] = ToyStep()

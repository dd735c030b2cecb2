"""A copy made while rows are written, put back into an empty place: every grade is equal. On both engines."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from psycopg.conninfo import conninfo_to_dict

from labhub_voice.database import database
from labs.models import Course, Grade, State
from scripts.backups import copy, postgres
from scripts.backups.__main__ import main
from scripts.backups.contents import GRADES
from scripts.backups.errors import Refused
from tests.views.rows import attempt_in

BEFORE, LEAST_DURING = 3, 2


@pytest.fixture
def url(transactional_db: None) -> str:
    """Of the test's own database."""
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{told['NAME']}"
    try:
        postgres.program("pg_dump")
    except Refused as error:
        pytest.skip(str(error))
    return f"postgresql://{quote(told['USER'])}:{quote(told['PASSWORD'])}@{told['HOST']}:{told['PORT']}/{told['NAME']}"


@pytest.fixture
def empty(url: str, tmp_path: Path) -> Iterator[str]:
    """An empty place of the same kind."""
    if url.startswith("sqlite:"):
        yield f"sqlite://{tmp_path}/restored/labhub.sqlite3"
        return
    name = f"{connection.settings_dict['NAME']}_restored"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield f"{url.rpartition('/')[0]}/{name}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name}")


def graded(course: Course, number: int) -> None:
    user = User.objects.create_user(f"student-{number}")
    with transaction.atomic():
        attempt_in(State.GRADED, user, course)


def grades_in(url: str) -> list[tuple[object, ...]]:
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite://"))) as there:
            return [tuple(row) for row in there.execute(GRADES)]
    with postgres._connect(copy.database(url)) as there:
        return [tuple(row) for row in there.execute(GRADES)]


def test_while_rows_are_written_all_grades_come_back_equal(url: str, empty: str, tmp_path: Path) -> None:
    course = Course.objects.create(slug="voice", title="Voice")
    for number in range(BEFORE):
        graded(course, number)
    going, enough, failed = threading.Event(), threading.Event(), []

    def write() -> None:
        number = BEFORE
        try:
            while not going.is_set():
                graded(course, number)
                number += 1
                if number >= BEFORE + LEAST_DURING:
                    enough.set()
        except Exception as error:
            failed.append(error)
        finally:
            enough.set()
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert enough.wait(20)
        path = copy.save(url, tmp_path / "copies")
    finally:
        going.set()
        writer.join(20)
    assert not failed, "the backup kept nobody from writing"
    found = copy.restore(path, empty)
    saved, live = grades_in(empty), grades_in(url)
    assert len(saved) == found["rows"]["labs_grade"] >= BEFORE + LEAST_DURING
    assert live[: len(saved)] == saved
    assert len(live) == Grade.objects.count()
    with pytest.raises(Refused, match=r"already|not empty"):
        copy.restore(path, empty)
    assert grades_in(empty) == saved


def test_a_damaged_copy_is_refused(url: str, empty: str, tmp_path: Path) -> None:
    path = copy.save(url, tmp_path)
    assert path.stat().st_mode & 0o077 == 0, "it holds everybody's work: for its owner only"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(Refused, match="checksum"):
        copy.restore(path, empty)
    about = copy.beside(path)
    about.write_text(
        json.dumps({**json.loads(about.read_text()), "sha256": copy.checksum(path), "grades": "0"})
    )
    with pytest.raises(Refused):
        copy.restore(path, empty)


def test_the_commands_say_what_they_did(
    url: str, empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    graded(Course.objects.create(slug="voice", title="Voice"), 1)
    assert main(["save", str(tmp_path)]) == 0
    assert "1 grades, 1 attempts, 1 people, migration 0" in capsys.readouterr().out
    [path] = tmp_path.glob("labhub-*[!n]")
    assert main(["restore", str(path), "--into", empty]) == 0
    assert "restored and compared: 1 grades" in capsys.readouterr().out
    assert main(["restore", str(path), "--into", empty]) == 1
    assert main(["restore", str(tmp_path / "none.dump"), "--into", empty]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_what_the_url_asks_for_reaches_the_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`sslmode` that Django obeys and pg_restore does not hear of would send every row in the clear."""
    words = tmp_path / "words"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{words}\n')
    program.chmod(0o755)
    monkeypatch.setattr(postgres, "program", lambda name: str(program))
    told = database("postgresql://lab:se%20cret@db.school:5433/lab%20hub?sslmode=require", pool_size=4)
    postgres._run(told, "pg_restore")
    [given] = [
        line.removeprefix("--dbname=") for line in words.read_text().splitlines() if "--dbname=" in line
    ]
    assert conninfo_to_dict(given) == {
        "host": "db.school",
        "port": "5433",
        "dbname": "lab hub",
        "user": "lab",
        "sslmode": "require",
    }

"""The person's side of a class: an instructor looks as a student and leaves again; the student reads that it was so."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.axe import hindrances
from tests.browser.conftest import LogIn, SitDown

pytestmark = [pytest.mark.browser, pytest.mark.server]


def test_an_instructor_looks_and_the_student_reads_of_it(log_in: LogIn, sit_down: SitDown) -> None:
    student = sit_down(timezone_id="America/New_York")
    student.goto("/me/")
    login = student.locator(".who bdi").inner_text()
    teacher = log_in("choi")
    teacher.goto("/courses/demo/people/")
    row = teacher.locator("tr", has=teacher.get_by_text(login, exact=True))
    row.get_by_role("button", name=re.compile("View as")).click()
    banner = teacher.get_by_role("region", name="Viewing as a student")
    expect(banner).to_contain_text(login)
    teacher.goto("/courses/demo/steps/server-up/")
    expect(banner).to_contain_text("Nothing can be changed")
    expect(teacher.locator(".who")).to_contain_text(login)
    assert hindrances(teacher) == []
    banner.get_by_role("button", name="Stop viewing").click()
    teacher.wait_for_url("**/people/")
    expect(banner).to_have_count(0)

    student.reload()
    expect(student.locator(".who")).to_contain_text("1 new notice")
    expect(student.locator(".notices li.new")).to_contain_text("looked at your pages in this course")
    expect(student.locator(".notices [data-yours]")).to_contain_text("by your clock")
    assert hindrances(student) == []
    with student.expect_download() as download:
        student.get_by_role("link", name="Download").click()
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
        assert "account.json" in archive.namelist()
    student.get_by_role("button", name="Mark all as read").click()
    expect(student.locator(".new-count")).to_have_count(0)

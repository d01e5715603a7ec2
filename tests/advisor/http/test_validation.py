"""Answers that a client has already are not sent again."""

from __future__ import annotations

import pytest

from tests.advisor.in_process import InProcess

POLLED = ("/advise?last=true", "/overview", "/series", "/events", "/history?limit=20")
"""What the page asks for again and again, besides /state, which has the time."""


@pytest.mark.parametrize("path", POLLED)
def test_an_answer_that_the_client_has_is_not_sent_again(replaying: InProcess, path: str) -> None:
    first = replaying.get(path)
    tag = first.headers["etag"]
    assert tag.startswith('W/"')
    for known in (tag, tag.removeprefix("W/"), f'"another", {tag}'):
        again = replaying.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert {"content-type", "content-length", "content-encoding"}.isdisjoint(again.headers)


@pytest.mark.parametrize("path", [*POLLED, "/state"])
def test_another_answer_is_sent_in_whole(replaying: InProcess, path: str) -> None:
    first = replaying.get(path)
    other = replaying.get(path, headers={"If-None-Match": 'W/"another"'})
    assert (other.status_code, other.headers["content-type"]) == (200, first.headers["content-type"])
    assert other.json().keys() == first.json().keys()


def test_each_form_has_a_tag_of_its_own(replaying: InProcess) -> None:
    forms = ("application/json", "text/plain", "text/markdown")
    tags = {replaying.get("/history", headers={"Accept": form}).headers["etag"] for form in forms}
    assert len(tags) == len(forms)


def test_head_is_validated_and_a_problem_is_not(replaying: InProcess) -> None:
    tag = replaying.get("/overview").headers["etag"]
    assert replaying.head("/overview", headers={"If-None-Match": tag}).status_code == 304
    assert replaying.get("/nope", headers={"If-None-Match": tag}).status_code == 404


def test_the_files_of_the_page_are_validated_too(replaying: InProcess) -> None:
    tag = replaying.get("/page/app.js").headers["etag"]
    assert replaying.get("/page/app.js", headers={"If-None-Match": tag}).status_code == 304

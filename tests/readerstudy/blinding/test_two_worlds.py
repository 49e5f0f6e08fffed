"""Blinding: a reader cannot tell two worlds apart that differ in everything that readers must not learn."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.readerstudy.blinding.searching import Search
from tests.readerstudy.blinding.session import Recording, difference

pytestmark = [pytest.mark.django_db, pytest.mark.check]  # the whole session of forty cases, twice
Pair = tuple[Recording, Recording]
TABLES = (
    *("annotation_answerkey", "annotation_report", "annotation_sourceidentifier"),
    *("annotation_modelcall", "annotation_callattempt", "annotation_promptversion", "readerstudy_modelrun"),
    *("readerstudy_modelentry", "readerstudy_prediction", "readerstudy_analysis", "readerstudy_resultslink"),
)
COLUMNS = ("category", "subcategory", "question_class", "difficulty", "task")


def test_forty_cases_are_the_same_byte_for_byte(recordings: Pair) -> None:
    assert difference(*recordings) == ""


def test_the_protocols_differ_in_the_commitment_to_the_keys_and_so_in_their_hash(recordings: Pair) -> None:
    one, other = recordings
    assert one.protocol_sha256 != other.protocol_sha256


def test_the_session_goes_everywhere(recordings: Pair) -> None:
    """Each address answers in each way that it can; nothing fails."""
    told = Counter((_kind(exchange.asked), exchange.status) for exchange in recordings[0].exchanges)
    assert not [kind for kind, status in told if status >= 500]
    assert told["POST commit", 200] >= 43
    assert told["GET images", 200] >= 43 * 2 * 2 * 2
    for kind, status in (
        *(("POST open", status) for status in (200, 404)),
        *(("POST commit", status) for status in (404, 409)),
        *(("POST choice", status) for status in (204, 422)),
        *(("POST remark", status) for status in (200, 422)),
        ("POST events", 204),
        ("POST session", 200),
        ("POST pause", 200),
        ("POST resume", 200),
        ("GET open", 405),
        *(("POST consent", status) for status in (302, 422)),
        *(("POST facts", status) for status in (302, 422)),
        *(("POST display", status) for status in (302, 422)),
        *(("POST done", status) for status in (302, 422)),
        *((f"GET {page}", 200) for page in ("consent", "facts", "instructions", "display", "withdraw", "done", "copy")),
        ("GET invite", 404),
        ("GET images", 404),
        ("GET state", 200),
    ):
        assert told[kind, status], f"{kind} never answered {status}"


def test_a_best_guess_is_among_it(recordings: Pair) -> None:
    """Guesses that were right in one world and wrong in the other: the answers to them were compared above."""
    said = [exchange for exchange in recordings[0].exchanges if b'"kind": "guess"' in exchange.body]
    assert len(said) >= 10
    assert {exchange.status for exchange in said} == {200}


def test_no_planted_word_reaches_the_reader(recordings: Pair) -> None:
    for recording in recordings:
        assert Search(recording.truth.tokens()).leaks(recording.exchanges) == []


@pytest.mark.parametrize("column", COLUMNS)
def test_the_main_block_reads_no_column_that_tells(recordings: Pair, column: str) -> None:
    named = re.compile(rf'"?annotation_revision"?\."?{column}"?\b')
    assert not [asked for asked, sql in _main_block(recordings[0]) if named.search(sql)]


@pytest.mark.parametrize("table", TABLES)
def test_the_main_block_asks_no_table_that_tells(recordings: Pair, table: str) -> None:
    assert not [asked for asked, sql in _main_block(recordings[0]) if table in sql]


def test_the_practice_block_asks_for_keys_and_so_the_search_would_find_them(recordings: Pair) -> None:
    statements = recordings[0].statements
    assert [asked for asked, sql in statements if "annotation_answerkey" in sql and "/commit/" in asked]


def _main_block(recording: Recording) -> list[tuple[str, str]]:
    """The statements from the first answer after practice on."""
    commits = [n for n, (asked, sql) in enumerate(recording.statements) if "annotation_answerkey" in sql]
    return recording.statements[commits[-1] + 1 :]


def _kind(asked: str) -> str:
    """Method and last word of an address: "POST commit", "GET images"."""
    _number, method, address, *_rest = asked.split()
    parts = [part for part in address.partition("?")[0].split("/") if part]
    word = "images" if parts[:1] == ["images"] else parts[-1] if parts else "home"
    return f"{method} {word}"

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.files.kernels import strictjson
from annotation.files.kernels.strictjson import Entry, FileRefused, ObjectReader, entries_of_lines, read_value
from tests.refusals import refuses

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=12,
)


def read(text: str | bytes, **options: Any) -> list[Entry]:
    data = text.encode() if isinstance(text, str) else text
    return list(ObjectReader(io.BytesIO(data), **options))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text("kq1_é", min_size=1, max_size=6), VALUES, max_size=6), st.integers(1, 40), st.booleans())
def test_any_object_comes_back_entry_by_entry_whatever_the_chunks(
    content: dict[str, Any], chunk: int, escaped: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strictjson, "CHUNK_BYTES", chunk)
        entries = read(json.dumps(content, ensure_ascii=escaped, indent=1))
    assert {entry.key: entry.value for entry in entries} == content
    assert [entry.key for entry in entries] == list(content)
    assert not any(entry.faults for entry in entries)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "empty_file", 1, 1),
        ("  \n", "empty_file", 2, 1),
        ("[1]", "schema", 1, 1),
        ('{"a": 1,}', "syntax", 1, 9),
        ('{"a": 1\n"b": 2}', "syntax", 2, 1),
        ('{"a": tru}', "syntax", 1, 7),
        ('{"a": 1} x', "syntax", 1, 10),
        ('{"a": 1}{"b": 2}', "syntax", 1, 9),
        ('{"a": 1', "syntax", 1, 8),
        ("{\"a\": 'x'}", "syntax", 1, 7),
        ('{"a": "\t"}', "syntax", 1, 8),
        ('{"a": 01}', "syntax", 1, 8),
        ('{\n"a": 1,\n  b: 2}', "syntax", 3, 3),
    ],
)
def test_what_is_not_one_object_is_told_with_its_place(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(FileRefused) as caught:
        read(text)
    assert (caught.value.code, caught.value.facts["line"], caught.value.facts["column"]) == (code, line, column)


def test_the_place_of_an_error_counts_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strictjson, "CHUNK_BYTES", 16)
    lines = "".join(f'"q{number}": {{"text": "éé"}},\n' for number in range(50))
    with pytest.raises(FileRefused, match="q49") as caught:
        read("{" + lines + '  "last" 1}')
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (51, 10)


@pytest.mark.parametrize(
    ("member", "field", "code"),
    [
        ('{"x": 1, "x": 2}', "x", "duplicate_field"),
        ('{"x": NaN}', "x", "not_finite"),
        ('{"x": [-Infinity]}', "x", "not_finite"),
        ('{"x": 1e999}', "x", "not_finite"),
        ('{"x": ' + "9" * 5000 + "}", "x", "number_too_long"),
        ('{"x": {"y": ["\\ud800"]}}', "x", "lone_surrogate"),
        ('{"x": "a\\u0000b"}', "x", "nul_character"),
    ],
)
def test_a_spoiled_entry_does_not_end_the_reading(member: str, field: str, code: str) -> None:
    first, second = read('{"bad": ' + member + ', "good": {"x": 1}}')
    assert [(fault.field, fault.code) for fault in first.faults] == [(field, code)]
    assert second == Entry("good", {"x": 1}, ())


def test_a_whole_surrogate_pair_and_an_escaped_backslash_are_no_fault() -> None:
    (entry,) = read('{"a": {"x": "\\ud83d\\ude00 \\\\u0000"}}')
    assert entry.value == {"x": "\U0001f600 \\u0000"}
    assert entry.faults == ()


@pytest.mark.parametrize("data", [b'{"a": "\xff"}', '{"a": "é"}'.encode("latin-1"), '{"a": 1}'.encode("utf-16")])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(FileRefused, match="not UTF-8") as caught:
        read(data)
    assert caught.value.code == "encoding"


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b"\xef\xbb\xbf{}") == []


def test_deep_nesting_is_refused_without_exhausting_the_stack() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for reading in (lambda: read('{"a": ' + deep + "}"), lambda: read_value(deep.encode())):
        with refuses(FileRefused, "too_deep"):
            reading()


def test_a_record_larger_than_the_limit_is_refused_before_it_is_read_whole() -> None:
    class Endless(io.BytesIO):
        served = 0

        def read(self, size: int | None = -1) -> bytes:
            self.served += size or 0
            return b'{"a": "'.ljust(size or 0, b"A") if self.served == size else b"A" * (size or 0)

        def readline(self, size: int | None = -1) -> bytes:
            return self.read(size)

    for reading in (ObjectReader, entries_of_lines):
        stream = Endless()
        with refuses(FileRefused, "too_large"):
            for _entry in reading(stream):
                pass
        assert stream.served < 5_000_000
    with refuses(FileRefused, "too_large", match="larger than 100"):
        read('{"a": "' + "x" * 200 + '"}', max_entry_chars=100)


@pytest.mark.parametrize("part", [b"[]", b"{}", b"1", b'""', b'{"a":1}', b"1e1"])
def test_a_value_of_too_many_parts_is_refused_before_they_are_made(part: bytes) -> None:
    """4.7 MB of them took 6 seconds and 480 MB."""
    tracemalloc.start()
    try:
        with refuses(FileRefused, "too_large", match="more than 200,000 values"):
            read_value(b"[" + part + (b"," + part) * 250_000 + b"]")
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_signs_within_a_text_are_no_parts() -> None:
    text = ',[{\\"' * 100_000
    assert read_value(json.dumps([text, "ä"]).encode()).value == [text, "ä"]


def test_lines_are_numbered_and_a_broken_one_is_a_fault_of_it_alone() -> None:
    found = dict(entries_of_lines(io.BytesIO(b'\xef\xbb\xbf{"a": 1}\n\n{"a"\n[2]\r\n{} {}\n"\xff"\n{"a": 1, "a": 2}')))
    assert {number: entry.value for number, entry in found.items() if not entry.faults} == {1: {"a": 1}, 4: [2]}
    assert {number: entry.faults[0][1:] for number, entry in found.items() if entry.faults} == {
        3: ("syntax", "Line 3, column 5: This is not JSON: expecting ':' delimiter."),
        5: ("syntax", "Line 5, column 3: This is not JSON: text follows the end of the JSON."),
        6: ("encoding", "Line 6: The text is not UTF-8 near byte 1."),
        7: ("duplicate_field", "The field 'a' is there twice."),
    }

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.questionbank.kernels import strictjson
from annotation.questionbank.kernels.strictjson import BankRefused, Entry, ObjectReader

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
    with pytest.raises(BankRefused) as caught:
        read(text)
    assert (caught.value.code, caught.value.facts["line"], caught.value.facts["column"]) == (code, line, column)


def test_the_place_of_an_error_counts_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strictjson, "CHUNK_BYTES", 16)
    lines = "".join(f'"q{number}": {{"text": "éé"}},\n' for number in range(50))
    with pytest.raises(BankRefused, match="q49") as caught:
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
    with pytest.raises(BankRefused, match="not UTF-8") as caught:
        read(data)
    assert caught.value.code == "encoding"


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b"\xef\xbb\xbf{}") == []


def test_deep_nesting_is_refused_without_exhausting_the_stack() -> None:
    with pytest.raises(BankRefused, match="too deeply"):
        read('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")


def test_an_entry_larger_than_the_limit_is_refused_before_it_is_read_whole() -> None:
    class Endless(io.RawIOBase):
        served = 0

        def read(self, size: int = -1) -> bytes:
            self.served += size
            return b'{"a": "' + b"A" * (size - 7) if self.served == size else b"A" * size

    stream = Endless()
    with pytest.raises(BankRefused) as caught:
        list(ObjectReader(stream))  # type: ignore[arg-type]
    assert caught.value.code == "too_large"
    assert stream.served < 2_000_000


def test_a_record_over_the_limit_is_refused_even_when_it_fits_the_buffer() -> None:
    with pytest.raises(BankRefused, match="larger than 100"):
        read('{"a": "' + "x" * 200 + '"}', max_entry_chars=100)

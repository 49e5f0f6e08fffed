"""What an editor may store, and how two wordings differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from annotation.questionbank.kernels.wording import IMAGES, LABELS, PieceKind, Wording, changes, check_wording, pieces

BEFORE = Wording(
    stem="Which finding is absent?",
    options=("An aortic knob", "Pneumothorax", "Visible ribs", "A gastric bubble"),
    key="B",
    explanation="No pleural line is seen on either view.",
    task="negation",
    category="Pleura",
)


def faults(**fields: object) -> list[tuple[str, str]]:
    found = check_wording(replace(BEFORE, **fields), BEFORE, 20)
    return [(one.field, one.code) for one in found]


def test_a_good_wording_has_no_fault() -> None:
    assert faults(stem="Which of these findings is absent?") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"stem": "  "}, ("stem", "completeness")),
        ({"options": ("a", "b", "c")}, ("options", "format")),
        ({"options": ("a", "b", "c", "d", "e")}, ("options", "format")),
        ({"options": ("a", "b", "A ", "d")}, ("options", "duplicate_options")),
        ({"options": ("a", "", "c", "d")}, ("options", "completeness")),
        ({"key": "E"}, ("key", "key_outside_options")),
        ({"explanation": "Short."}, ("explanation", "format")),
        ({"task": "guessing"}, ("task", "unknown_task")),
        ({"difficulty": "impossible"}, ("difficulty", "format")),
        ({"category": "c" * 201}, ("category", "too_long")),
        ({"stem": "Which finding is absent in John Doe, MRN 12345678?"}, ("stem", "identifier")),
    ],
)
def test_the_rules_of_import_hold(fields: dict[str, object], expected: tuple[str, str]) -> None:
    assert expected in faults(**fields)


def test_an_identifier_that_was_there_before_does_not_stop_another_change() -> None:
    marked = replace(BEFORE, stem="Which finding is absent in MRN 12345678?")
    assert [one.code for one in check_wording(marked, BEFORE, 20)] == ["identifier"]
    assert check_wording(replace(marked, category="Lung"), marked, 20) == []


def test_an_explanation_that_was_short_before_stays_as_it_is() -> None:
    short = replace(BEFORE, explanation="")
    assert check_wording(replace(short, stem="Which finding do you not see?"), short, 20) == []


def test_changes_name_the_fields_in_the_order_of_the_editor() -> None:
    after = replace(BEFORE, key="C", stem="Which finding is not there?", options=(*BEFORE.options[:3], "Air"))
    found = changes(BEFORE, after)
    assert [one.field for one in found] == ["stem", "option_d", "key"]
    assert [one.label for one in found] == ["Question", "Option D", "Key"]
    assert [IMAGES, *BEFORE.texts()] == list(LABELS)


def test_a_difference_is_read_word_by_word() -> None:
    found = pieces("No pleural line is seen.", "No clear pleural line is seen here.")
    assert [(kind.value, text) for kind, text in found] == [
        ("same", "No"),
        ("new", " clear"),
        ("same", " pleural line is "),
        ("gone", "seen."),
        ("new", "seen here."),
    ]


@given(st.text(alphabet="ab \n.", max_size=40), st.text(alphabet="ab \n.", max_size=40))
def test_the_pieces_give_back_both_texts(before: str, after: str) -> None:
    found = pieces(before, after)
    assert "".join(text for kind, text in found if kind != PieceKind.NEW) == before
    assert "".join(text for kind, text in found if kind != PieceKind.GONE) == after

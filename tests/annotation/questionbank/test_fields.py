from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.enums import Difficulty, Sex, Task, ViewPosition
from annotation.questionbank.kernels import fields

PLAIN = st.text("abcxyz 0123.,()é", min_size=1, max_size=20).filter(lambda text: text == text.strip() and text)


@settings(max_examples=150, deadline=None)
@given(st.lists(PLAIN, min_size=4, max_size=4), st.sampled_from([". ", ") ", " - ", ".", ")", ": "]))
def test_letters_are_taken_off_and_put_back(texts: list[str], form: str) -> None:
    written = fields.join_options(texts, form)
    found, found_form = fields.split_options(written)
    assert (found, found_form) == (texts, form)
    assert fields.join_options(found, found_form) == written


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=4, max_size=4))
def test_whatever_is_taken_off_can_be_put_back(options: list[str]) -> None:
    try:
        texts, form = fields.split_options(options)
    except fields.FieldRefused:
        return
    assert fields.join_options(texts, form) == options


@pytest.mark.parametrize(
    "options",
    [
        ["A. one", "B. two", "C. three", "four"],
        ["A. one", "B) two", "C. three", "D. four"],
        ["B. one", "A. two", "C. three", "D. four"],
        ["B. one", "C. two", "D. three", "A. four"],
    ],
)
def test_letters_that_make_no_sense_are_refused(options: list[str]) -> None:
    with pytest.raises(fields.FieldRefused):
        fields.split_options(options)


def test_a_text_that_only_looks_like_a_letter_stays_whole() -> None:
    options = ["Staphylococcus", "A. fumigatus", "P. jirovecii", "B. cepacia complex"]
    assert fields.split_options(options) == (options, "")


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("Presence Assessment", Task.PRESENCE),
        ("negation_assessment", Task.NEGATION),
        ("DIFFERENTIAL DIAGNOSIS", Task.DIFFERENTIAL),
        ("Location & Distribution", Task.LOCATION),
        ("location_and_distribution_assessment", Task.LOCATION),
        ("Geometric Information", Task.GEOMETRIC),
        ("Counting", None),
        ("", None),
    ],
)
def test_tasks(name: str, task: Task | None) -> None:
    assert fields.read_task(name) is task


@pytest.mark.parametrize(
    ("spelling", "view"),
    [
        ("AP", ViewPosition.AP),
        ("AP PORTABLE", ViewPosition.AP),
        ("AP AXIAL", ViewPosition.AP),
        ("ANTERO_POSTERIOR", ViewPosition.AP),
        ("POSTERO_ANTERIOR", ViewPosition.PA),
        ("pa", ViewPosition.PA),
        ("LATERAL", ViewPosition.LATERAL),
        ("LAT", ViewPosition.LATERAL),
        ("LL", ViewPosition.LL),
        ("RL", ViewPosition.RL),
        ("Lateral", ViewPosition.LATERAL),
        ("LAO", ViewPosition.OBLIQUE),
        ("RPO", ViewPosition.OBLIQUE),
        *((text, ViewPosition.UNKNOWN) for text in ("N/A", "UNKNOWN", "", "DECUBITUS", "ERECT", "SUPINE", "Frontal")),
        (None, ViewPosition.UNKNOWN),
        (7, ViewPosition.UNKNOWN),
    ],
)
def test_views_are_never_guessed(spelling: object, view: ViewPosition) -> None:
    assert fields.read_view(spelling) is view


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 150), st.sampled_from(["Y", "", "y"]))
def test_ages_in_years_are_capped_at_90(years: int, unit: str) -> None:
    assert fields.read_age(f"{years:03}{unit}") == min(years, 90)


@pytest.mark.parametrize(
    ("value", "years"),
    [
        ("007Y", 7), ("002D", 0), ("011M", 0), ("012M", 1), ("024M", 2), ("060W", 1), ("090Y", 90), ("104Y", 90),
        (58, 58), (58.5, 58), (None, None), ("", None), ("old", None), ("999Y", None), (-3, None), (True, None),
    ],
)  # fmt: skip
def test_ages(value: object, years: int | None) -> None:
    assert fields.read_age(value) == years


@pytest.mark.parametrize(
    ("value", "sex"), [("M", Sex.MALE), ("female", Sex.FEMALE), ("O", Sex.OTHER), (None, Sex.UNKNOWN), (1, Sex.UNKNOWN)]
)
def test_sexes(value: object, sex: Sex) -> None:
    assert fields.read_sex(value) is sex


def test_difficulties() -> None:
    assert fields.read_difficulty(" Easy ") is Difficulty.EASY
    assert fields.read_difficulty("") is Difficulty.UNKNOWN
    assert fields.read_difficulty("trivial") is None


@pytest.mark.parametrize(
    ("path", "folder", "placed"),
    [
        ("cxr/a.png", "", "cxr/a.png"),
        ("../deid_png/a.png", "metadata", "deid_png/a.png"),
        ("./a/../b.png", "", "b.png"),
        ("..a/b.png", "", "..a/b.png"),
    ],
)
def test_paths_inside_the_root(path: str, folder: str, placed: str) -> None:
    assert fields.place_path(path, folder) == placed


@pytest.mark.parametrize(
    "path",
    [
        "../a.png", "a/../../b.png", "/etc/passwd", "http://169.254.169.254/", "file:a", "C:\\a.png", "a\\..\\b",
        "~/a.png", "..", ".", "a\n.png",
    ],
)  # fmt: skip
def test_paths_that_leave_the_root(path: str) -> None:
    with pytest.raises(fields.FieldRefused):
        fields.place_path(path, "")

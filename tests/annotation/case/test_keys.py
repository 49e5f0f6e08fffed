"""A key means one thing in both rooms, and is listed once."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.case.kernels.keys import KEYS, Part, key_of, listed, strokes
from annotation.enums import Difficulty, KeyUse, Verdict
from annotation.models import User
from readerstudy.design.kernels.documents import Rules

HERE = {Part.EVERYWHERE, Part.IMAGES}
BOTH_STEPS = {Part.BLIND, Part.JUDGE, Part.REVIEW}


def acts_of(key: str) -> dict[str, str]:
    return {part: acts[key] for part, acts in strokes().items() if key in acts}


def test_a_key_of_studies_means_nothing_else_in_reviews() -> None:
    for key, act in strokes()[Part.STUDY].items():
        assert {part: found for part, found in acts_of(key).items() if part != Part.STUDY} == {}, (key, act)


def test_what_holds_everywhere_or_at_the_images_is_no_other_key_elsewhere() -> None:
    """But the minus, which is "cannot judge" where the focus is in the form, and smaller where it is at an image."""
    for part in HERE:
        for key in strokes()[part]:
            assert key == "-" or set(acts_of(key)) == {part}, key


def test_each_act_has_its_key() -> None:
    for one in KEYS:
        if one.acts:
            assert len(one.acts.split()) <= len(one.printed), one
    assert [key_of(word) for word in Verdict] == ["A", "V", "J", "U"]
    assert [key_of(word) for word in Difficulty if word] == ["E", "M", "H"]


def test_rules_that_are_off_have_no_line() -> None:
    def acts(rules: Rules) -> set[str]:
        return {one.acts for _part, keys in listed((Part.STUDY, Part.EVERYWHERE), rules) for one in keys}

    assert acts(Rules()) - acts(Rules(slips=False, may_pause=False)) == {"slip", "pause pause"}


@pytest.mark.django_db
def test_which_keys_are_listened_to_is_kept_with_the_person(reviewer: Client, rita: User) -> None:
    assert 'data-keys="all"' in reviewer.get("/profile/").content.decode()
    reviewer.post("/profile/", {"name": rita.name, "time_zone": "UTC", "keys": "digits"})
    assert 'data-keys="digits"' in reviewer.get("/").content.decode()
    reviewer.post("/profile/", {"name": rita.name, "time_zone": "UTC"})
    assert User.objects.get(pk=rita.pk).keys == KeyUse.DIGITS
    assert reviewer.post("/profile/", {"name": "Rita", "time_zone": "UTC", "keys": "some"}).status_code == 422

"""What every table keeps to."""

from __future__ import annotations

from django.apps import apps
from django.db import models

from annotation.enums import Word
from annotation.models.fields import WordField

MODELS = [model for app in ("annotation", "readerstudy") for model in apps.get_app_config(app).get_models()]
SECRET = {"AnswerKey", "Finding", "Report", "SourceIdentifier"}  # reached only by who asks for them by name


FIELDS = [(model.__name__, field) for model in MODELS for field in model._meta.get_fields()]


def test_choices_come_from_a_closed_vocabulary() -> None:
    for model, field in FIELDS:
        if isinstance(field, models.Field) and field.choices:
            assert isinstance(field, WordField), f"{model}.{field.name}"
            assert all(len(str(value)) <= (field.max_length or 0) for value, _name in field.choices), field.name


def test_text_columns_have_no_null() -> None:
    texts = [one for one in FIELDS if isinstance(one[1], models.CharField | models.TextField)]
    assert [f"{model}.{field.name}" for model, field in texts if field.null] == []


def test_times_are_named_so_and_never_taken_by_the_column() -> None:
    for model, field in FIELDS:
        if isinstance(field, models.DateTimeField):
            assert field.name in {"at", "last_login"} or field.name.endswith("_at"), f"{model}.{field.name}"
            if (model, field.name) != ("User", "created_at"):
                assert not field.auto_now, f"{model}.{field.name}"
                assert not field.auto_now_add, f"{model}.{field.name}"


def test_nothing_leads_back_to_what_is_secret() -> None:
    """No related name points at the key, the report or an identifier: no query can join them by accident."""
    for model, relation in FIELDS:
        related = getattr(relation, "related_model", None)
        if relation.auto_created and not relation.concrete and related is not None:
            assert related.__name__ not in SECRET, f"{model}.{relation.name}"


def test_a_word_is_a_string_that_fits_its_column() -> None:
    assert issubclass(Word, str)

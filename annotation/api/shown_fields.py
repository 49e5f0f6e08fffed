"""Fields that resources share: words of a closed vocabulary, moments, and the name of a person."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.enums import Word


class Moment(serializers.DateTimeField):
    """In UTC, whatever the time zone of the person."""

    def __init__(self, **options: Any) -> None:
        super().__init__(default_timezone=UTC, **options)

    def to_internal_value(self, value: Any) -> datetime:
        found: datetime = super().to_internal_value(value)
        if not MINYEAR < found.year < MAXYEAR:  # no date in some zones
            raise serializers.ValidationError(_("Enter a valid date/time."))
        return found


class WordChoice(serializers.ChoiceField):
    """One of a closed vocabulary: the stored value."""

    def __init__(self, words: type[Word], **options: Any) -> None:
        super().__init__(choices=[(word.value, word.label) for word in words], **options)

    def to_representation(self, value: Any) -> Any:
        return value


class PersonName(serializers.CharField):
    """Of whom: the name alone; null for the program itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> str:
        return str(value)

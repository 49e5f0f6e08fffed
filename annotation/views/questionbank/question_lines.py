"""The lines of the list of a bank, made ready for its template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from annotation.enums import Difficulty, ImageState, QuestionState, Task, ViewPosition
from annotation.models import Question, QuestionBank, Revision
from annotation.templatetags.pages import kept_fragment


@dataclass(frozen=True)
class ListedQuestion:
    """A line of the list, ready to be shown: asked by a template, fifty rows take longer than their queries."""

    number: int
    shown_number: str
    address: str
    thumbnail: str
    stem: str
    task: str
    category: str
    difficulty: str
    state: str
    views: SafeString
    tags: list[str]


def listed_questions(
    one: QuestionBank, revisions: list[Revision], tags: dict[int, list[str]], *, with_images: bool
) -> list[ListedQuestion]:
    """The lines of these wordings, in their order; thumbnails ``with_images`` only, tags by question."""
    tasks = {word.value: _(word.label) for word in Task}
    difficulties = {word.value: _(word.label) for word in Difficulty} | {"": _("unknown")}
    states = {
        word.value: kept_fragment("annotation/bank/_state.html", _state_context, word.value) for word in QuestionState
    }
    positions = {word.value: _(word.label) for word in ViewPosition}
    not_there = {word.value: _(word.label) for word in ImageState if word != ImageState.AVAILABLE}
    address, small = reverse("bank", args=[one.slug]), reverse("thumbnail", args=["-"])[:-1]
    rows = []
    for row in revisions:
        images = [image for image in row.question.exam.images.all() if image.public_id not in row.left_out]
        first = images[0] if images and with_images and images[0].state == ImageState.AVAILABLE else None
        preview = getattr(first, "preview", None)
        views = [(positions[i.view_position], not_there.get(i.state, "")) for i in images]
        number = row.question.number
        rows.append(
            ListedQuestion(
                number=number,
                shown_number=intcomma(number),
                address=f"{address}{number}/",
                thumbnail=f"{small}{preview}" if preview else "",
                stem=Truncator(row.stem).chars(300),
                task=tasks[row.task],
                category=row.category,
                difficulty=difficulties[row.difficulty],
                state=states[row.question.state],
                views=mark_safe(", ".join(_view_words(*view) for view in views)),  # noqa: S308 - words of ours
                tags=tags.get(row.question_id, []),
            )
        )
    return rows


def _state_context(value: str) -> dict[str, Any]:
    return {"question": Question(state=value)}


def _view_words(position: str, missing: str) -> str:
    if not missing:
        return format_html("<span>{}</span>", position)
    return format_html('<span class="muted" title="{}">{} ○</span>', missing, position)

"""What teams send to a leaderboard and say of their models."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from readerstudy.enums import SubmissionWay
from readerstudy.leaderboard.kernels.release_rule import MOST_EDITIONS
from readerstudy.leaderboard.kernels.statement import CHOICE, CHOICES, QUESTIONS, TEXT, Asked, problems_of
from readerstudy.leaderboard.running import HERE, teams_to_hand_in
from readerstudy.models import ModelRun, Statement

MOST_STATEMENTS = 10_000


class NameSubmissionForm(PlainForm):
    """Of an edition and a statement their numbers."""

    edition = forms.IntegerField(label=_("Edition"), min_value=1, max_value=MOST_EDITIONS)
    statement = forms.IntegerField(
        label=_("Statement"),
        min_value=1,
        max_value=MOST_STATEMENTS,
        required=False,
        help_text=_("The one that it has, else the newest, if you do not say."),
    )


class HandInForm(PlainForm):
    """For whom a run was made, and where."""

    team = forms.ChoiceField(label=_("Team"))
    way = forms.ChoiceField(label=_("Run through"))

    def __init__(self, run: ModelRun, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.teams = {one.public_id: one for one in teams_to_hand_in(run)}
        self.offer("team", [(name, f"{one.name} ({one.benchmark.name})") for name, one in self.teams.items()])
        self.offer("way", [(way.value, SubmissionWay(way).label) for way in HERE])


def _field_of(asked: Asked) -> forms.Field:
    about: dict[str, Any] = {
        "label": _(asked.label),
        "help_text": _(asked.help) if asked.help else "",
        "required": False,
    }
    if asked.kind == CHOICE:
        return forms.ChoiceField(choices=[("", "—"), *((one, _(one)) for one in CHOICES)], **about)
    return forms.CharField(widget=forms.Textarea(attrs={"rows": 3}) if asked.kind == TEXT else None, **about)


class StatementForm(PlainForm):
    """The list of questions; what is wrong with an answer is said by the list."""

    def __init__(self, *args: Any, newest: Statement | None = None, **kwargs: Any) -> None:
        super().__init__(*args, initial=newest.answers if newest else None, **kwargs)
        self.fields.update({one.name: _field_of(one) for one in QUESTIONS})

    def clean(self) -> dict[str, Any]:
        for problem in problems_of(self.cleaned_data):
            if problem.field not in self.errors:
                self.add_error(problem.field, _(problem.message))
        return self.cleaned_data

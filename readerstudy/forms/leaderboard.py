"""Forms of leaderboards, of teams, of what these send and say, and of editions."""

from __future__ import annotations

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from annotation.forms.account import EmailField
from annotation.models import QuestionBank
from readerstudy.enums import SubmissionWay
from readerstudy.forms.drafts import text_field
from readerstudy.leaderboard.access import MOST_REASON
from readerstudy.leaderboard.benchmarks import MOST_ABOUT, MOST_CONTACT, MOST_NAME, BenchmarkWanted
from readerstudy.leaderboard.kernels.release_rule import MOST_EDITIONS
from readerstudy.leaderboard.kernels.statement import CHOICE, CHOICES, QUESTIONS, TEXT, Asked, problems_of
from readerstudy.leaderboard.running import teams_to_hand_in
from readerstudy.leaderboard.teams import MOST_INSTITUTION, MOST_LINK
from readerstudy.leaderboard.teams import MOST_NAME as MOST_TEAM_NAME
from readerstudy.models import Benchmark, ModelRun, Statement, Team

WAYS = [(one.value, one.label) for one in SubmissionWay if one != SubmissionWay.FILE]  # of what is run here


class BenchmarkForm(PlainForm):
    name = forms.CharField(label=_("Name"), max_length=MOST_NAME)
    bank = forms.ModelChoiceField(
        label=_("Question bank"),
        queryset=QuestionBank.objects.filter(archived_at__isnull=True, is_public=False),
        to_field_name="slug",
        empty_label=None,
        help_text=_("Public banks are not offered."),
    )
    contact = forms.CharField(
        label=_("Contact"), max_length=MOST_CONTACT, help_text=_("To whom teams write; on the public page.")
    )
    about = text_field(
        _("What it measures"),
        _("For its public page: whose images, which questions, what a high score says and what not."),
        most=MOST_ABOUT,
        rows=4,
    )
    editions = text_field(
        _("Dates of the editions"),
        _("One per line, such as 2027-03-01. All that teams have named by then is scored at once."),
        most=12 * MOST_EDITIONS,
        rows=4,
        required=True,
    )

    @classmethod
    def of(cls, benchmark: Benchmark, sent: Any = None) -> BenchmarkForm:
        stored = {name: getattr(benchmark, name) for name in ("name", "contact", "about")}
        dates = "\n".join(f"{one.due_on}" for one in benchmark.editions.all())
        return cls(sent, initial={**stored, "bank": benchmark.bank.slug, "editions": dates})

    def clean_editions(self) -> tuple[date, ...]:
        found = []
        for line in self.cleaned_data["editions"].split():
            try:
                found.append(date.fromisoformat(line))
            except ValueError:
                sentence = gettext("“%(text)s” is no date such as 2027-03-01.") % {"text": line[:20]}
                raise forms.ValidationError(sentence) from None
        return tuple(found)

    def wanted(self) -> BenchmarkWanted:
        return BenchmarkWanted(**self.cleaned_data)


class TwinsForm(PlainForm):
    """What is decided about near-duplicates."""

    numbers = text_field(
        _("Questions"), _("Their numbers, such as 12, 40. Empty: all that nothing is decided about."), most=2_000
    )
    reason = text_field(_("Why they stay"), most=MOST_REASON)
    leave_out = forms.BooleanField(label=_("Leave them out instead"), required=False)

    def clean_numbers(self) -> tuple[int, ...]:
        found = self.cleaned_data["numbers"].replace(",", " ").split()
        if wrong := [one for one in found if not (one.isascii() and one.isdecimal() and len(one) < 10)]:
            raise forms.ValidationError(gettext("“%(text)s” is no number.") % {"text": wrong[0][:20]})
        return tuple(int(one) for one in found)


class TeamForm(PlainForm):
    name = forms.CharField(label=_("Name of the team"), max_length=MOST_TEAM_NAME)
    institution = forms.CharField(label=_("Institution"), max_length=MOST_INSTITUTION)
    contact = EmailField(label=_("Contact"), help_text=_("An e-mail address."))
    link = forms.URLField(
        label=_("Link"),
        max_length=MOST_LINK,
        required=False,
        assume_scheme="https",
        help_text=_("The page of the team: https://... May stay empty."),
    )
    anonymous_until = forms.DateField(
        label=_("Anonymous until"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("Up to 12 months. Until then the board says “Anonymous entry” with a number. May stay empty."),
    )


class MemberForm(PlainForm):
    email = EmailField()


class NameSubmissionForm(PlainForm):
    """Of an edition and a statement their numbers."""

    edition = forms.IntegerField(label=_("Edition"), min_value=1, max_value=MOST_EDITIONS)
    statement = forms.IntegerField(
        label=_("Statement"),
        min_value=1,
        max_value=10_000,
        required=False,
        help_text=_("The one that it has, else the newest, if you do not say."),
    )


class TeamField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, team: Team) -> str:
        return f"{team.name} ({team.benchmark.name})"


class HandInForm(PlainForm):
    """For whom a run was made, and where."""

    team = TeamField(label=_("Team"), queryset=Team.objects.none(), to_field_name="public_id", empty_label=None)
    way = forms.ChoiceField(label=_("Run through"), choices=WAYS)

    def __init__(self, run: ModelRun, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer_rows("team", teams_to_hand_in(run))


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


class VersionForm(PlainForm):
    reason = forms.CharField(
        label=_("Why"), max_length=MOST_REASON, help_text=_("Everybody reads it beside the changes.")
    )


class NoteForm(PlainForm):
    text = text_field(_("Note"), _("Plain text."), most=MOST_REASON, rows=3, required=True)
    entry = text_field(_("About the entry"), _("The id of the entry; empty: about the whole board."), most=40)

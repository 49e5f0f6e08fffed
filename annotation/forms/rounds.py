"""Forms with which a sample is drawn, a round is made and its people are chosen.

Forms of adjudication: who adjudicates a round, and the decision on a question.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import LEAST_WINDOW, MOST_WINDOW, BindingVerdict, RoundSteps, ViewerTool
from annotation.forms import PlainForm, choices_of, seed_field
from annotation.models import QuestionBank, ReviewForm, ReviewRound, SamplingPlan, User
from annotation.models.fields import AsRead
from annotation.outcomes.adjudicating import REASON_LIMIT, adjudicators_of
from annotation.people.roles import possible_reviewers
from annotation.review.assigning import reviewers_of
from annotation.review.calibrating import possible_calibrations
from annotation.review.round_design import RoundDesign, newest_forms
from annotation.review.rounds import MOST_PER_QUESTION
from annotation.review.samples import DEFAULT_PER_THOUSAND, DEFAULT_SEED, MOST_REPEATED
from annotation.review.viewing import Viewing, viewing_of
from annotation.statistics.kernels.sampling import SEED_MAX, RatedBy, StratifyBy

if TYPE_CHECKING:
    OneForm = forms.ModelChoiceField[ReviewForm]
    OnePerson = forms.ModelChoiceField[User]
    SeveralPeople = forms.ModelMultipleChoiceField[User]
else:
    OneForm = OnePerson = forms.ModelChoiceField
    SeveralPeople = forms.ModelMultipleChoiceField


class FormChoice(OneForm):
    def label_from_instance(self, obj: ReviewForm) -> str:
        return gettext("%(name)s, version %(number)d") % {"name": obj.name, "number": obj.version}


class PersonChoice(OnePerson):
    def label_from_instance(self, obj: User) -> str:
        return f"{obj.name} ({obj.email})"


class PeopleChoice(SeveralPeople):
    def label_from_instance(self, obj: User) -> str:
        words = ", ".join(one.word for one in obj.competences.all())
        return f"{obj.name} ({obj.email})" + (f": {words}" if words else "")


class ViewingForm(PlainForm):
    """Tools that a round does without, its smallest window, what a double-click does, and the check of displays."""

    hidden_tools = forms.TypedMultipleChoiceField(
        label=_("Tools to hide"),
        required=False,
        choices=choices_of(ViewerTool),
        coerce=ViewerTool,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A hidden tool has neither a button nor a key on the case page."),
    )
    least_width = forms.IntegerField(
        label=_("Smallest window: width"),
        required=False,
        min_value=LEAST_WINDOW[0],
        max_value=MOST_WINDOW[0],
    )
    least_height = forms.IntegerField(
        label=_("Smallest window: height"),
        required=False,
        min_value=LEAST_WINDOW[1],
        max_value=MOST_WINDOW[1],
    )
    double_click = forms.BooleanField(
        label=_("A double-click on an option submits the blind answer"),
        required=False,
        help_text=_("As Enter does. The blind answer is final."),
    )
    display_check = forms.BooleanField(
        label=_("Reviewers check their display"),
        required=False,
        help_text=_("Before their first question, and again on another screen. Who misses it may go on; you see that."),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and (data.get("least_width") is None) != (data.get("least_height") is None):
            raise forms.ValidationError(gettext("Give the smallest window a width and a height, or neither."))
        return data

    @staticmethod
    def viewing(data: Mapping[str, Any]) -> Viewing:
        """What was asked for, from what a valid form holds."""
        window = (data["least_width"], data["least_height"]) if data["least_width"] is not None else None
        return Viewing(tuple(data["hidden_tools"]), window, data["double_click"], data["display_check"])

    @classmethod
    def of(cls, review_round: ReviewRound) -> ViewingForm:
        return cls(initial=viewing_of(review_round).as_columns())


class DueForm(PlainForm):
    """Until when the reviews are to be in, in the time zone of the person who says so; empty: no due date."""

    due_at = forms.DateTimeField(
        label=_("Due"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def __init__(self, zone: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = gettext("In your time zone, %(zone)s. Reviewers see it in theirs. Empty: no due date.")
        self.fields["due_at"].help_text = words % {"zone": zone}

    def clean_due_at(self) -> datetime | None:
        found: datetime | None = self.cleaned_data["due_at"]
        if found is not None and not MINYEAR < found.year < MAXYEAR:  # no date in some zones
            raise forms.ValidationError(gettext("Enter a valid date/time."))
        return found


class RoundDesignForm(PlainForm):
    """What a draft is called, what it works through, how it is reviewed, and what its reviewers read first."""

    name = forms.CharField(label=_("Name"), max_length=200)
    sample = forms.ModelChoiceField(
        label=_("Sample"),
        queryset=SamplingPlan.objects.filter(archived_at__isnull=True).order_by("-created_at"),
        to_field_name="slug",
        empty_label=None,
    )
    per_question = forms.IntegerField(
        label=_("Reviews of each question"), min_value=1, max_value=MOST_PER_QUESTION, initial=2
    )
    steps = forms.TypedChoiceField(
        label=_("Steps"),
        choices=choices_of(RoundSteps),
        coerce=RoundSteps,
        initial=RoundSteps.FULL.value,
        widget=forms.RadioSelect,
    )
    form = FormChoice(
        label=_("Form"),
        queryset=ReviewForm.objects.none(),
        required=False,
        empty_label=_("The form of the paper"),
        help_text=_("Which grades, choices and flags are asked, and what their values mean."),
    )
    shared_answers = forms.ModelChoiceField(
        label=_("Calibration questions"),
        queryset=ReviewRound.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label=_("none"),
        help_text=_("A closed round with few questions: its reviews are the shared answers."),
    )
    pass_mark = forms.IntegerField(
        label=_("Pass mark, percent"),
        required=False,
        min_value=1,
        max_value=100,
        initial=70,
        help_text=_("Of the judgements that agree with the shared answers."),
    )
    percent_repeated = forms.IntegerField(
        label=_("Hidden repeats, percent"),
        required=False,
        min_value=0,
        max_value=MOST_REPEATED,
        initial=5,
        help_text=_("So many questions come to the same reviewer twice. 0: none."),
    )
    shows_decisions = forms.BooleanField(
        label=_("Reviewers see what became of their questions"),
        required=False,
        help_text=_("After the round is closed: the outcome of each question, without the answers of others."),
    )
    seed = seed_field(_("Decides who gets which question, and in which order."), most=SEED_MAX)
    instructions = forms.CharField(
        label=_("Instructions to the reviewers"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("Reviewers see them before their first question."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen = self.initial.get("form")
        own = newest_forms() if chosen is None else newest_forms() | ReviewForm.objects.filter(pk=chosen)
        self.offer_rows("form", own)
        self.offer_rows("shared_answers", possible_calibrations())

    def design(self, due_at: datetime | None = None) -> RoundDesign:
        """What was asked for beside sample, steps and numbers, after is_valid()."""
        data = self.cleaned_data
        wanted = {name: data[name] for name in ("form", "shared_answers", "pass_mark", "shows_decisions")}
        return RoundDesign(**wanted, percent_repeated=data["percent_repeated"] or 0, due_at=data.get("due_at", due_at))

    @classmethod
    def initial_of(cls, review_round: ReviewRound) -> dict[str, Any]:
        """The fields as this round has them."""
        same = ("name", "steps", "instructions", "percent_repeated", "pass_mark", "shows_decisions", "seed")
        shared = review_round.shared_answers
        return {name: value for name in same if (value := getattr(review_round, name)) is not None} | {
            "sample": review_round.plan.slug,
            "per_question": review_round.reviewers_per_question,
            "form": review_round.form_id,
            "shared_answers": shared.slug if shared is not None else None,
        }


class RoundForm(DueForm, RoundDesignForm, ViewingForm):
    """A new round on a stored sample."""

    reviewers = PeopleChoice(
        label=_("Reviewers"),
        queryset=possible_reviewers(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave empty to invite reviewers first and assign later."),
    )

    @classmethod
    def copy_of(cls, review_round: ReviewRound) -> dict[str, Any]:
        """The fields of a further round like this one, with the people who review in it."""
        number = 2
        while ReviewRound.everywhere.filter(name=(name := f"{review_round.name[:190]}, {number}")).exists():
            number += 1
        people = [person.pk for person in reviewers_of(review_round)]
        viewing = viewing_of(review_round).as_columns()
        return {**cls.initial_of(review_round), **viewing, "name": name, "reviewers": people}


class ReviewersForm(PlainForm):
    """Who reviews in a draft."""

    reviewers = PeopleChoice(
        label=_("Reviewers"), queryset=User.objects.none(), widget=forms.CheckboxSelectMultiple, required=False
    )

    def __init__(self, review_round: ReviewRound, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer_rows("reviewers", possible_reviewers(review_round))


class RoundPersonForm(PlainForm):
    """One person: to add, or to give questions to."""

    person = PersonChoice(label=_("Person"), queryset=User.objects.none())

    def __init__(
        self, review_round: ReviewRound, *args: Any, but_not: QuerySet[User] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        people = possible_reviewers(review_round).prefetch_related(None)
        self.offer_rows("person", people if but_not is None else people.exclude(pk__in=but_not.values("pk")))


class RemoveForm(RoundPersonForm):
    """Who takes what the person who leaves has left open; nobody named: the others, evenly."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        person = self.fields["person"]
        assert isinstance(person, PersonChoice)
        person.required = False
        person.empty_label = gettext("the other reviewers, evenly")


# --- Forms of adjudication: who adjudicates a round, and the decision on a question ---------------
def possible_adjudicators(review_round: ReviewRound, actor: User) -> QuerySet[User]:
    """Whoever may log in and is not one yet; nobody names themselves."""
    present = adjudicators_of(review_round).values("pk")
    return (
        User.objects.filter(is_active=True)
        .exclude(pk__in=present)
        .exclude(pk=actor.pk)
        .order_by(AsRead("name"), "email")
    )


class AdjudicatorForm(PlainForm):
    person = PersonChoice(label=_("Adjudicator"), queryset=User.objects.none())

    def __init__(self, review_round: ReviewRound, actor: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer_rows("person", possible_adjudicators(review_round, actor))


class DecisionForm(PlainForm):
    """Nothing is preselected."""

    decision = forms.ChoiceField(label=_("Decision"), choices=choices_of(BindingVerdict), widget=forms.RadioSelect)
    reason = forms.CharField(label=_("Reason"), max_length=REASON_LIMIT, widget=forms.Textarea(attrs={"rows": 4}))


class DrawForm(PlainForm):
    """What to draw from, and how."""

    bank = forms.ModelChoiceField(
        label=_("Bank"),
        queryset=QuestionBank.objects.filter(archived_at__isnull=True),
        to_field_name="slug",
        empty_label=None,
    )
    by = forms.TypedChoiceField(
        label=_("Stratify by"), choices=choices_of(StratifyBy), coerce=StratifyBy, initial=StratifyBy.DIFFICULTY
    )
    rated_by = forms.TypedChoiceField(
        label=_("Difficulty"),
        choices=choices_of(RatedBy),
        coerce=RatedBy,
        empty_value=RatedBy.STATED,
        initial=RatedBy.STATED,
        required=False,
    )
    per_thousand = forms.IntegerField(
        label=_("Sampling fraction (‰)"),
        min_value=1,
        max_value=1000,
        initial=DEFAULT_PER_THOUSAND,
        error_messages=dict.fromkeys(("min_value", "max_value", "invalid"), _("Give a whole number from 1 to 1000.")),
    )
    seed = seed_field(
        _("Same seed, same sample."),
        most=SEED_MAX,
        initial=DEFAULT_SEED,
        error_messages=dict.fromkeys(("min_value", "max_value", "invalid"), _("Give a whole number, 0 or more.")),
    )


class StoreForm(DrawForm):
    """The same, with what a person agreed to: the name, and the frame that they looked at."""

    name = forms.CharField(label=_("Name"), max_length=200, required=False)
    frame_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)

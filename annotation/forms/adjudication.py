"""Forms of adjudication: who adjudicates a round, and the decision on a question."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.adjudication.adjudicating import REASON_LIMIT, adjudicators_of
from annotation.enums import BindingVerdict
from annotation.forms import PlainForm, choices_of
from annotation.forms.rounds import PersonChoice
from annotation.models import ReviewRound, User


def possible_adjudicators(review_round: ReviewRound, actor: User) -> QuerySet[User]:
    """Whoever may log in and is not one yet; nobody names themselves."""
    present = adjudicators_of(review_round).values("pk")
    return User.objects.filter(is_active=True).exclude(pk__in=present).exclude(pk=actor.pk).order_by("name", "email")


class AdjudicatorForm(PlainForm):
    person = PersonChoice(label=_("Adjudicator"), queryset=User.objects.none())

    def __init__(self, review_round: ReviewRound, actor: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["person"]
        assert isinstance(field, PersonChoice)
        field.queryset = possible_adjudicators(review_round, actor)


class DecisionForm(PlainForm):
    """Nothing is preselected."""

    decision = forms.ChoiceField(label=_("Decision"), choices=choices_of(BindingVerdict), widget=forms.RadioSelect)
    reason = forms.CharField(
        label=_("Reason"), max_length=REASON_LIMIT, widget=forms.Textarea(attrs={"rows": 4}), strip=True
    )

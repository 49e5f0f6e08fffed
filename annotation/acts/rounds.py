"""Which review rounds a coordinator knows, and what is done with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.acts import Act, Confirmation
from annotation.audit.deleting import bring_back
from annotation.enums import AssignmentState, Role, RoundState
from annotation.forms import PlainForm
from annotation.forms.rounds import DueForm, ReviewersForm, ViewingForm
from annotation.models import Assignment, ReviewRound, User
from annotation.models.fields import AsRead
from annotation.outcomes.adjudicating import begin_adjudication
from annotation.refusals import Refused
from annotation.review.assigning import assign_round
from annotation.review.ending import close_round, complete_reviews
from annotation.review.onlookers import may_see_outcomes
from annotation.review.reviewer_progress import Reminded, due_text, remind_reviewers, set_due
from annotation.review.rounds import archive_round, open_round
from annotation.review.viewing import set_viewing
from annotation.site.permissions import (
    acts_as,
    coordinates_any_round,
    is_administrator,
    is_coordinator,
    knows_round,
    may_coordinate,
    may_invite_to_round,
)
from annotation.site.sorted_tables import Columns, by_rank, counted


def coordinated_round(person: User, slug: str) -> ReviewRound:
    """The round, for its coordinators: to strangers it does not exist, others who know it may not."""
    review_round = get_object_or_404(
        ReviewRound.objects.select_related("plan__bank", "created_by", "form", "shared_answers"), slug=slug
    )
    if may_coordinate(person, review_round):
        return review_round
    if knows_round(person, review_round):
        raise PermissionDenied(_("This is for the coordinators of the round."))
    raise Http404


def round_to_invite_to(person: User, slug: str) -> ReviewRound:
    """The round, for people who may invite to it: 404 for strangers to it, 403 for those who only work in it."""
    review_round = get_object_or_404(ReviewRound, slug=slug)
    if may_invite_to_round(person, review_round):
        return review_round
    if knows_round(person, review_round):
        raise PermissionDenied(_("Only the coordinators of this round invite people to it."))
    raise Http404


def check_not_blinded(person: User, review_round: ReviewRound) -> None:
    """Of somebody who coordinates the round. Raises PermissionDenied."""
    if not may_see_outcomes(person, review_round):
        raise PermissionDenied(_("You review in this round yourself: its reviews are hidden until it closes."))


ROUNDS_SORTED_BY: Columns = {
    "round": AsRead("name"),
    "state": by_rank("state", RoundState.values()),
    "bank": AsRead("plan__bank__name"),
    "reviewers": "n_reviewers",
    "reviews": "n_submitted",
    "made": "created_at",
}


def listed_rounds(person: User) -> QuerySet[ReviewRound]:
    """As ``rounds_known_to``. Raises PermissionDenied for whoever coordinates none."""
    if not (is_administrator(person) or coordinates_any_round(person)):
        raise PermissionDenied(_("This is for people who coordinate a round."))
    return rounds_known_to(person)


def rounds_known_to(person: User) -> QuerySet[ReviewRound]:
    """All of them for coordinators of the site and administrators, else those that they coordinate."""
    rows = ReviewRound.objects.all()
    if not (is_coordinator(person) or is_administrator(person)):
        if not acts_as(person, Role.COORDINATOR):
            return rows.none()
        rows = rows.filter(memberships__user=person, memberships__role=Role.COORDINATOR)
    return with_counts(rows)


def with_counts(rows: QuerySet[ReviewRound]) -> QuerySet[ReviewRound]:
    """As lists show them."""
    rows = rows.select_related("plan__bank", "created_by", "shared_answers")
    there = Assignment.objects.exclude(state=AssignmentState.WITHDRAWN)
    return rows.annotate(
        n_assignments=counted(there, "round"),
        n_submitted=counted(Assignment.objects.filter(state=AssignmentState.SUBMITTED), "round"),
        n_reviewers=counted(there, "round", Count("reviewer", distinct=True)),
    )


class ActOnRound(Act[ReviewRound]):
    @classmethod
    def find(cls, person: User, **named: Any) -> ReviewRound:
        return coordinated_round(person, named["slug"])

    def page(self) -> str:
        return reverse("round", args=[self.thing.slug])


class AssignRound(ActOnRound):
    """Assign a draft to these people, anew if it was assigned before."""

    name, route, summary = "round-assign", "assign/", "Assign a round"
    do, form = assign_round, ReviewersForm
    misread = gettext_lazy("Somebody in the list cannot review any more: choose again.")

    def form_for(self, sent: Mapping[str, Any]) -> ReviewersForm:
        return ReviewersForm(self.thing, sent)

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"reviewers": list(data["reviewers"])}

    def says(self, arguments: dict[str, Any], result: int) -> str:
        return ngettext("%(n)s review is assigned.", "%(n)s reviews are assigned.", result) % {"n": result}


class SetViewing(ActOnRound):
    """Which tools of the viewer its reviewers do without, how large their window must be, what a double-click does, and
    whether they check their display: from their next page on. What is not sent is as in an ordinary round.
    """

    name, route, summary = "round-viewing", "viewing/", "Say how reviewers see the images"
    do, form = set_viewing, ViewingForm
    done = gettext_lazy("Stored: it counts for reviewers from their next page on.")

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"viewing": ViewingForm.viewing(data)}


class SetDue(ActOnRound):
    """Until when the reviews are to be in. Nothing ends by itself."""

    name, route, summary = "round-due", "due/", "Set the due date of a round"
    do, form = set_due, DueForm

    def form_for(self, sent: Mapping[str, Any]) -> DueForm:
        return DueForm(self.person.time_zone, sent)

    def says(self, arguments: dict[str, Any], result: object) -> str:
        due = due_text(self.thing, self.person)
        return _("The reviews are due by %(due)s.") % {"due": due} if due else _("The round has no due date.")


class RemindReviewers(ActOnRound):
    """An e-mail to everybody who is not done and had none within a day."""

    name, route, summary = "round-remind", "remind/", "Remind the reviewers of a round"
    do = remind_reviewers

    def says(self, arguments: dict[str, Any], result: Reminded) -> str:
        n = len(result.sent)
        sentences = [ngettext("%(n)s e-mail is being sent.", "%(n)s e-mails are being sent.", n) % {"n": n}]
        if result.too_soon:
            names = ", ".join(person.name for person in result.too_soon)
            sentences.append(_("Reminded within a day already, and not again: %(names)s.") % {"names": names})
        return " ".join(sentences)


class OpenForm(PlainForm):
    without_images = forms.CharField(
        max_length=300, required=False, help_text="why it opens although some images are missing"
    )


class OpenRound(ActOnRound):
    """Reviewers see their questions from now on. Opening an open round changes nothing."""

    name, route, summary = "round-open", "open/", "Open a round"
    do, form = open_round, OpenForm
    done = gettext_lazy("The round is open: its reviewers see their questions now.")


class ConfirmedNumber(forms.IntegerField):
    """Anything but a number within bounds confirms nothing."""

    def clean(self, value: Any) -> int:
        try:
            return super().clean(value) or 0
        except forms.ValidationError:
            return 0


class EndForm(PlainForm):
    confirmed_open = ConfirmedNumber(
        initial=0,
        min_value=0,
        max_value=1_000_000,
        required=False,
        help_text="how many reviews are left open; 409 tells them",
    )


class EndingAct(ActOnRound):
    """With something left open, the page asks first and says how much."""

    form = EndForm
    title: ClassVar[str | Promise]
    follows: ClassVar[str | Promise]

    def button(self, n_open: int) -> str:
        raise NotImplementedError

    def confirmation_after(self, refusal: Refused) -> Confirmation | None:
        if refusal.code != "not_complete":
            return None
        n_open = refusal.facts["n_open"]
        return Confirmation(
            title=str(self.title),
            sentences=[str(refusal), str(self.follows)],
            label=self.button(n_open) % {"n": n_open},
            back=self.page(),
            about=self.thing.name,
            sent={"confirmed_open": n_open},
        )


class CompleteRound(EndingAct):
    """The independent reviews end, and what they agree on is settled."""

    name, route, summary = "round-complete", "complete/", "End the reviews of a round"
    do = complete_reviews
    done = gettext_lazy("The independent reviews are complete. What they agree on is settled.")
    title = gettext_lazy("End the independent reviews")
    follows = gettext_lazy(
        "What is submitted becomes final. A question with all its reviews settles where they agree; one that lacks a "
        "review goes to an adjudicator; one that nobody reviewed stays as it was."
    )

    def button(self, n_open: int) -> str:
        return ngettext("End without %(n)s review", "End without %(n)s reviews", n_open)


class CloseRound(EndingAct):
    """Nothing is reviewed or decided from now on."""

    name, route, summary = "round-close", "close/", "Close a round"
    do = close_round
    done = gettext_lazy("The round is closed.")
    title = gettext_lazy("Close the round")
    follows = gettext_lazy(
        "After closing nobody can answer, change or decide anything, and a closed round does not open again."
    )

    def button(self, n_open: int) -> str:
        if self.thing.state == RoundState.ADJUDICATION:
            return ngettext("Close without %(n)s decision", "Close without %(n)s decisions", n_open)
        return ngettext("Close without %(n)s review", "Close without %(n)s reviews", n_open)


class BeginAdjudication(ActOnRound):
    """From now on the adjudicators see what is not settled."""

    name, route, summary = "round-adjudicate", "adjudicate/", "Begin the adjudication of a round"
    do = begin_adjudication
    done = gettext_lazy("Adjudication has begun: the adjudicators see the questions that are not settled.")


class ArchiveRound(ActOnRound):
    """Off the lists; nothing is deleted."""

    name, route, summary = "round-archive", "archive/", "Archive a round"
    do = archive_round
    done = gettext_lazy("The round is archived.")


class BringBackRound(ActOnRound):
    """An archived round is in the lists again."""

    name, route, summary = "round-bring-back", "bring-back/", "Bring a round back"
    do = bring_back
    done = gettext_lazy("The round is back.")


ROUND_ACTS: tuple[type[ActOnRound], ...] = (
    AssignRound,
    SetViewing,
    SetDue,
    RemindReviewers,
    OpenRound,
    CompleteRound,
    CloseRound,
    BeginAdjudication,
    ArchiveRound,
    BringBackRound,
)

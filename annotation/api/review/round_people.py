"""Who reviews and who decides in a round: listed with their progress, added, removed, reminded, invited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.acts.rounds import coordinated_round, round_to_invite_to, rounds_known_to
from annotation.api.acting import ActedOn
from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice, cleaned
from annotation.api.compared_etags import lock_rows
from annotation.api.questionbank.question_acts import ReasonSent
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.api.review.round_list import REACH, reviewers_named
from annotation.enums import Role
from annotation.forms.people import round_invitation_form
from annotation.forms.rounds import possible_adjudicators
from annotation.models import Invitation, ReviewRound, User
from annotation.outcomes.adjudicating import adjudicators_of, name_adjudicator
from annotation.people.invitations import Grant, IssuedInvitation, invite, open_invitations, revoke
from annotation.people.kept_answers import MadeAnswer
from annotation.people.mailing import send_invitation, try_to_send
from annotation.review.calibrating import let_in, uncalibrated
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reassigning import add_reviewer, reassign, reassign_all, remove_reviewer
from annotation.review.reviewer_progress import ReviewerProgress, reviewer_progress, with_lags
from annotation.site.permissions import ROUND_ROLES, roles_given_in, within_reach


class RoundReviewerShape(Shown):
    id = serializers.IntegerField(source="person.pk")
    name = serializers.CharField(source="person.name")
    email = serializers.CharField(source="person.email")
    n_assignments = serializers.IntegerField(source="n_all")
    n_submitted = serializers.IntegerField()
    n_answered = serializers.IntegerField(help_text="blind answer given, review not submitted")
    n_skipped = serializers.IntegerField()
    n_waiting = serializers.IntegerField()
    n_returned = serializers.IntegerField()
    last_seen = Moment(allow_null=True)
    has_left = serializers.BooleanField()
    must_calibrate = serializers.SerializerMethodField(
        help_text="has questions to do, and to pass the calibration first"
    )
    n_expected = serializers.IntegerField(
        source="lag.n_expected", default=None, allow_null=True, help_text="by now, of who is behind the due date"
    )
    is_overdue = serializers.BooleanField(source="lag.is_overdue", default=False)

    def get_must_calibrate(self, one: ReviewerProgress) -> bool:
        return one.person.pk in self.context["uncalibrated"]


class _OfReviewers(Resource):
    """Begins with the round of the address, which a token reaches or not."""

    shape: ClassVar[type[Shown]] = RoundReviewerShape
    reach = None

    def rows(self) -> QuerySet[User]:
        known = within_reach(self.person, rounds_known_to(self.person), **REACH)
        self.look_at(get_object_or_404(known, slug=self.kwargs["slug"]))
        return User.objects.filter(pk__in=self.progress)

    def look_at(self, review_round: ReviewRound) -> None:
        self.round = review_round
        everybody = with_lags(reviewer_progress(review_round), review_round, timezone.now())
        self.progress = {one.person.pk: one for one in everybody}
        self.uncalibrated = {person.pk for person in uncalibrated(review_round)}

    def context(self) -> dict[str, Any]:
        return {"view": self, "uncalibrated": self.uncalibrated}

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        return super().shown(self.progress[row.pk], only)


class ReviewerSent(SentBody):
    reviewer = serializers.EmailField(help_text="e-mail address of somebody who may review in this round")


class RoundReviewers(_OfReviewers, ListOf[User]):
    """Everybody who has, had or may be given questions in the round, and how far they are; never their answers. A POST
    adds a reviewer: a draft is assigned anew, in an open round they take over an equal share of what waits.
    """

    body = ReviewerSent
    newest_first = False
    makes, status = True, 201
    summary, post_summary = "List reviewers of a round", "Add a reviewer"

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        return super().listed([self.progress[row.pk] for row in rows], cursor, only)

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])
        person = one_reviewer(self.sent(ReviewerSent)["reviewer"], review_round, "reviewer")

        def add() -> MadeAnswer:
            add_reviewer(review_round, person, **self.by())
            self.look_at(review_round)
            return self.made(person, "api-round-reviewer", review_round.slug, person.pk)

        return self.once(add)


def one_reviewer(address: str, review_round: ReviewRound, field: str) -> User:
    """Raises ValidationError at this field."""
    try:
        [person] = reviewers_named([address], review_round)
    except serializers.ValidationError as refusal:
        raise serializers.ValidationError({field: refusal.detail["reviewers"]}) from None  # type: ignore[call-overload]
    return person


class OneRoundReviewer(_OfReviewers, OneOf[User]):
    """One reviewer of a round, and how far they are."""

    lookup = "pk"
    summary = "Read one reviewer of a round"

    def lock(self) -> None:
        self.one()
        lock_rows(self.round)


class LetReviewerIn(OnlyPost, OneRoundReviewer):
    """Somebody may review who has not passed the calibration, for a reason."""

    body = ReasonSent
    summary = "Let a reviewer in without calibration"

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])
        person = self.one()
        let_in(review_round, person, self.sent(ReasonSent)["reason"], **self.by())
        return Response(self.shown(self.one()))


class HandedOver(Shown):
    n_questions = serializers.IntegerField(help_text="that went to others")
    stay = serializers.ListField(
        child=serializers.IntegerField(), help_text="questions that the person cannot be given"
    )


class _HandOver(OnlyPost, _OfReviewers):
    """Answers with what changed hands."""

    shape = HandedOver

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])
        n, stay = self.act_on(review_round, get_object_or_404(self.rows(), pk=named["pk"]))
        return Response(HandedOver({"n_questions": n, "stay": stay}).data)

    def act_on(self, review_round: ReviewRound, person: User) -> tuple[int, Sequence[int]]:
        raise NotImplementedError


class LeaveSent(SentBody):
    to = serializers.EmailField(required=False, help_text="who takes what is left open; not sent: the others, evenly")


class RemoveReviewer(_HandOver):
    """What they submitted stays; what they left open goes to a named person or to the others."""

    body = LeaveSent
    summary = "Take a reviewer out of a round"

    def act_on(self, review_round: ReviewRound, person: User) -> tuple[int, Sequence[int]]:
        address = self.sent(LeaveSent).get("to")
        to = _other_than(person, address, review_round) if address else None
        return remove_reviewer(review_round, person, to=to, **self.by()), []


class ReassignSent(SentBody):
    to = serializers.EmailField(help_text="who takes them")
    assignments = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        min_length=1,
        help_text="not sent: all that are open",
    )
    confirmed = serializers.IntegerField(
        min_value=0, max_value=999_999, required=False, help_text="of all: how many go; 409 tells the number"
    )


class ReassignQuestions(_HandOver):
    """Give open questions of one reviewer to another: those that are named, or all that the other may have. Where all
    are meant, the number that goes must be confirmed: 409 tells it. What was begun stays stored and is not used.
    """

    body = ReassignSent
    summary = "Reassign questions of a reviewer"

    def act_on(self, review_round: ReviewRound, person: User) -> tuple[int, Sequence[int]]:
        sent = self.sent(ReassignSent)
        to = _other_than(person, sent["to"], review_round)
        if names := sent.get("assignments"):
            return self._these(review_round, person, names, to), []
        try:
            handover = reassign_all(review_round, person, to=to, confirmed=sent.get("confirmed"), **self.by())
        except ReviewRefused as refusal:
            if refusal.code == "handover_changed":
                raise _confirmation_needed(refusal) from None
            raise
        return len(handover.names), handover.stay

    def _these(self, review_round: ReviewRound, person: User, names: Sequence[str], to: User) -> int:
        theirs = set(review_round.assignments.filter(reviewer=person).values_list("public_id", flat=True))
        if unknown := sorted(set(names) - theirs):
            sentence = _("This reviewer has no such assignment: %(names)s.") % {"names": ", ".join(unknown)}
            raise serializers.ValidationError({"assignments": [sentence]})
        return reassign(review_round, names, to=to, **self.by())


def _other_than(person: User, address: str, review_round: ReviewRound) -> User:
    to = one_reviewer(address, review_round, "to")
    if to == person:
        raise serializers.ValidationError({"to": [_("Name another person than the one who gives.")]})
    return to


def _confirmation_needed(refusal: ReviewRefused) -> BodyRefused:
    handover = refusal.facts["handover"]
    n, n_begun = len(handover.names), handover.n_begun
    sentence = _(
        "%(n)s of %(all)s open questions can go; %(begun)s of them were begun. Send the first number to confirm."
    )
    facts = {"n": n, "all": handover.n_open, "begun": n_begun}
    message = " ".join(filter(None, (sentence % facts, handover.reasons)))
    return BodyRefused("handover_changed", message, status=409, n=n, n_open=handover.n_open, n_begun=n_begun)


class RemindedShape(Shown):
    sent = serializers.ListField(child=PersonName(), help_text="to whom an e-mail is being sent")
    too_soon = serializers.ListField(child=PersonName(), help_text="reminded within a day already")


class Reminds(ActedOn):
    shape = RemindedShape

    def answer(self, result: Any) -> Any:
        return self.shown(result)


# --- who decides ----------------------------------------------------------------------------------
class AdjudicatorShape(Shown):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    email = serializers.CharField()


class AdjudicatorSent(SentBody):
    adjudicator = serializers.EmailField(help_text="e-mail address of somebody with an account")


class Adjudicators(ListOf[User]):
    """Who decides what the reviews of a round do not settle. A POST names one more."""

    shape, body = AdjudicatorShape, AdjudicatorSent
    newest_first = False
    makes, status = True, 201
    summary, post_summary = "List adjudicators of a round", "Name an adjudicator"
    reach = None

    def rows(self) -> QuerySet[User]:
        return adjudicators_of(coordinated_round(self.person, self.kwargs["slug"]))

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])
        address = self.sent(AdjudicatorSent)["adjudicator"].lower()

        def name() -> MadeAnswer:
            person = possible_adjudicators(review_round, self.person).filter(email=address).first()
            if person is None:
                sentence = _("Nobody of this address can be named: %(address)s.") % {"address": address}
                raise serializers.ValidationError({"adjudicator": [sentence]})
            name_adjudicator(review_round, person, **self.by())
            return self.made(person)

        return self.once(name)


class RoundInvitationShape(Shown):
    id = serializers.IntegerField(source="pk")
    role = WordChoice(Role)
    email = serializers.CharField()
    name = serializers.CharField()
    created_by = PersonName()
    created_at = Moment()
    expires_at = Moment()
    link = serializers.CharField(
        default=None, allow_null=True, help_text="in the answer that makes it, and never again"
    )
    was_sent = serializers.BooleanField(default=None, allow_null=True, help_text="by e-mail, in that answer")


class RoundInvitationSent(SentBody):
    email = serializers.EmailField(
        max_length=254, default="", allow_blank=True, help_text="empty: you hand the link over yourself"
    )
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    role = serializers.ChoiceField(choices=[(role.value, role.label) for role in ROUND_ROLES], default=Role.REVIEWER)


class LinkOnce(Resource):
    """What gives out the link of an invitation says it in that answer alone, and sends it where it has an address."""

    def once_with_link(self, issue: Callable[[], IssuedInvitation], *, status: int = 201) -> Response:
        made: list[IssuedInvitation] = []

        def give_out() -> MadeAnswer:
            made.append(issue())
            return MadeAnswer(status, self.shown(made[0].invitation))

        response = self.once(give_out)
        if made:
            response.data["link"] = made[0].link
            response.data["was_sent"] = try_to_send(lambda: send_invitation(made[0]))
        return response


class RoundInvitations(LinkOnce, ListOf[Invitation]):
    """Links into a round that can still be used, of the roles that the person gives. A POST invites: the answer holds
    the link, which is kept nowhere. Sent again with the same Idempotency-Key, the answer says the same without it.
    """

    shape, body = RoundInvitationShape, RoundInvitationSent
    makes, status = True, 201
    summary, post_summary = "List open invitations to a round", "Invite to a round"
    reach = None

    def rows(self) -> QuerySet[Invitation]:
        return _invitations_of(self.person, self.kwargs["slug"])

    def post(self, request: Request, **named: Any) -> Response:
        review_round = round_to_invite_to(self.person, named["slug"])
        sent = self.sent(RoundInvitationSent)
        form = round_invitation_form(self.person, review_round, {**sent, "roles": [sent["role"]]})
        data = cleaned(form)
        grants = [Grant(role, review_round) for role in data["roles"]]
        return self.once_with_link(lambda: invite(*grants, email=data["email"], name=data["name"], **self.by()))


def _invitations_of(person: User, slug: str) -> QuerySet[Invitation]:
    review_round = round_to_invite_to(person, slug)
    return open_invitations(timezone.now()).filter(round=review_round, role__in=roles_given_in(person, review_round))


class RevokeRoundInvitation(OnlyPost, OneOf[Invitation]):
    """The link gives this role no more."""

    lookup = "pk"
    shape = RoundInvitationShape
    summary = "Revoke an invitation to a round"
    reach = None

    def rows(self) -> QuerySet[Invitation]:
        return _invitations_of(self.person, self.kwargs["slug"])

    def post(self, request: Request, **named: Any) -> Response:
        invitation = self.one()
        revoke(invitation, **self.by())
        return Response(self.shown(invitation))

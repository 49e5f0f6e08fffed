"""What decides beside the role that an address asks for: the functions of the program, asked as its pages ask them.

A rule returns, or raises Http404 or PermissionDenied. Which address has which rule: rule_of_routes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.acts.rounds import coordinated_round, round_to_invite_to, rounds_known_to
from annotation.audit.deleting import find_deleted, may_restore, opens
from annotation.ingest.serving import may_see
from annotation.jobs.queueing import jobs_of, may_manage
from annotation.models import (
    Assignment,
    PairTrial,
    Question,
    QuestionBank,
    QuestionComment,
    Rendition,
    ReviewRound,
    Settlement,
    User,
)
from annotation.people.accounts import sessions_of
from annotation.refusals import Refused
from annotation.review.assignments import named_assignment, own_assignment, rounds_of
from annotation.review.commenting import check_reads, parts_of
from annotation.review.kernels.visibility import DiscussionPart
from annotation.review.onlookers import rounds_in_sight, sees_decisions
from annotation.site.permissions import coordinates_any_round, is_administrator, is_coordinator
from annotation.validators.judging_pairs import may_follow
from annotation.views.adjudication import adjudicated_round
from annotation.views.people import invitations
from annotation.views.review.rounds import overseen_round, seen_round
from annotation.views.site.decorators import AuthenticatedRequest
from readerstudy.acts.leaderboards import (
    MemberAct,
    NameSubmission,
    SubmissionAct,
    TeamAct,
    WithdrawSubmission,
    known_statement,
    known_submission,
    known_team,
    run_benchmark,
    taken_benchmark,
)
from readerstudy.acts.models import (
    changeable_entry,
    changeable_run,
    check_enters_models,
    check_lists_models,
    check_works_with_models,
    import_of,
    known_entry,
    known_run,
    listed_entry,
    run_of,
)
from readerstudy.acts.studies import check_seen, coordinated_study, listed_studies, overseen_study, seen_analysis
from readerstudy.enrolment.reader_status import own_enrolment
from readerstudy.leaderboard.access import known_benchmark, looks_on, team_of
from readerstudy.predictions.entries import knows_scores
from readerstudy.predictions.looks import may_see_results
from readerstudy.study.permissions import coordinates_a_study

Values = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """``says``: as a heading of the document."""

    says: str
    asks: Callable[[User, Values], object]


def _from(person: User) -> AuthenticatedRequest:
    request = AuthenticatedRequest()
    request.user = person
    return request


def _must(is_allowed: object, refusal: type[Exception] = Http404) -> None:
    if not is_allowed:
        raise refusal


def _follows_pairs(person: User, values: Values) -> None:
    _must(may_follow(get_object_or_404(PairTrial, public_id=values["public_id"]), person))


def _no_further(_person: User, _values: Values) -> None:
    return None


def _of_round(find: Callable[[User, str], object]) -> Callable[[User, Values], object]:
    """Also of a study."""
    return lambda person, values: find(person, values["slug"])


def _looked_on(person: User, values: Values) -> None:
    known_benchmark(person, values["slug"])
    _must(looks_on(person), PermissionDenied)


def _of_thing(find: Callable[[User, str], object]) -> Callable[[User, Values], object]:
    return lambda person, values: find(person, values["public_id"])


# --- of reviews -----------------------------------------------------------------------------------
def _worklist(person: User, values: Values) -> ReviewRound:
    return get_object_or_404(rounds_of(person), slug=values["slug"])


def _decisions(person: User, values: Values) -> None:
    _must(sees_decisions(_worklist(person, values)))


def _calibration(person: User, values: Values) -> None:
    _must(_worklist(person, values).shared_answers_id)


def _case(find: Callable[[User, str], object]) -> Callable[[User, Values], object]:
    def asks(person: User, values: Values) -> None:
        try:
            find(person, values["public_id"])
        except Assignment.DoesNotExist:
            raise Http404 from None
        except Refused:
            pass  # the calibration first, says the page

    return asks


def _settled(person: User, values: Values) -> None:
    _must(Settlement.objects.filter(assignment__reviewer=person, public_id=values["public_id"]))


def _adjudicated_case(person: User, values: Values) -> None:
    mine = Assignment.objects.filter(reviewer=person, round__adjudicates__isnull=False)
    _must(mine.filter(public_id=values["public_id"]))


def _own_comments(person: User, values: Values) -> None:
    one = get_object_or_404(Assignment, public_id=values["public_id"], reviewer=person)
    try:
        check_reads(one.revision.question, person)
    except Refused:
        raise PermissionDenied from None


def _discussion(person: User, values: Values) -> None:
    comment = QuestionComment.objects.filter(public_id=values["public_id"]).first()
    question = comment.question if comment else Question.objects.get(public_id=values["public_id"])
    _must(DiscussionPart.COMMENTS in parts_of(person, question))


def _comments(person: User, values: Values) -> None:
    """Known to whoever coordinates, and refused with a sentence while they judge the question."""
    question = Question.objects.get(bank__slug=values["slug"], number=values["number"])
    _must(DiscussionPart.COMMENTS in parts_of(person, question), PermissionDenied)


def _image(person: User, values: Values) -> None:
    image = Rendition.objects.select_related("image").get(name=values["name"]).image
    _must(may_see(person, image, at=timezone.now()))


# --- of rounds ------------------------------------------------------------------------------------
def _rounds(person: User, _values: Values) -> None:
    _must(is_administrator(person) or coordinates_any_round(person), PermissionDenied)


def _bank_outcomes(person: User, values: Values) -> None:
    rounds, n_hidden = rounds_in_sight(person, QuestionBank.objects.get(slug=values["slug"]))
    _must(rounds or n_hidden or is_coordinator(person))


def _known_round(person: User, values: Values) -> None:
    _must(rounds_known_to(person).filter(slug=values["slug"]))


# --- of studies -----------------------------------------------------------------------------------
def _results_of(person: User, values: Values) -> None:
    """A table of answers, or an analysis: for coordinators, and not while readers read."""
    _must(may_see_results(coordinated_study(person, values["slug"])), PermissionDenied)


def _seen_results_of(person: User, values: Values) -> None:
    check_seen(coordinated_study(person, values["slug"]))


def _reader(person: User, values: Values) -> None:
    _must(own_enrolment(person, values["slug"]))


# --- of everything else ---------------------------------------------------------------------------
def _bin(person: User, _values: Values) -> None:
    _must(opens(person), PermissionDenied)


def _restored(person: User, values: Values) -> None:
    row = find_deleted(values["kind"], values["pk"])
    _must(row is not None and may_restore(person, row))


def _job(person: User, values: Values) -> None:
    _must(jobs_of(person).filter(public_id=values["public_id"]))


def _managed_job(person: User, values: Values) -> None:
    job = get_object_or_404(jobs_of(person), public_id=values["public_id"])
    _must(may_manage(person, job), PermissionDenied)


def _board_sent(person: User, values: Values) -> None:
    known_benchmark(person, values["slug"])
    _must(looks_on(person) or team_of(person, values["slug"]))


def _found_by(act: type[SubmissionAct]) -> Callable[[User, Values], object]:
    return lambda person, values: act.find(person, slug=values["slug"], public_id=values["public_id"])


def _runs(person: User, _values: Values) -> None:
    _must(is_coordinator(person) or coordinates_a_study(person), PermissionDenied)


def _of_team(find: Callable[[User, str, str], object]) -> Callable[[User, Values], object]:
    return lambda person, values: find(person, values["slug"], values["public_id"])


ROLE = Rule("", _no_further)
ROUNDS = Rule("The list of rounds: who coordinates one, and administrators", _rounds)
ROUND_COST = Rule(
    "What a round would cost: who coordinates one",
    lambda one, _values: _must(coordinates_any_round(one), PermissionDenied),
)
COORDINATED_ROUND = Rule("A round: its coordinators", _of_round(coordinated_round))
SEEN_ROUND = Rule(
    "What a round found: its coordinators, unless they judge in it and it is not closed",
    lambda person, values: seen_round(_from(person), values["slug"]),
)
OVERSEEN_ROUND = Rule("How a round goes: its coordinators, and administrators", _of_round(overseen_round))
KNOWN_ROUND = Rule("A round as a program reads it: its coordinators, and administrators", _known_round)
INVITED_ROUND = Rule("Inviting to a round: its coordinators, and administrators", _of_round(round_to_invite_to))
INVITATION = Rule(
    "An invitation: who may give its role",
    lambda person, values: invitations._managed_invitation(person, values["pk"]),
)
ADJUDICATED = Rule(
    "Adjudicating a round: its adjudicators", lambda person, values: adjudicated_round(_from(person), values["slug"])
)
SETTLED = Rule("A disputed question: the adjudicator who has it", _settled)
ADJUDICATED_CASE = Rule("A case that is adjudicated: whose it is", _adjudicated_case)
BANK_OUTCOMES = Rule("What all rounds of a bank found: who coordinates one of them, or the site", _bank_outcomes)
WORKLIST = Rule("Own questions in a round: its reviewers, once it is open", _worklist)
DECISIONS = Rule("What became of own questions: reviewers of a closed round that shows it", _decisions)
CALIBRATION = Rule("Calibrating: reviewers of a round with shared answers", _calibration)
CASE = Rule("A question to be reviewed: its reviewer, once the round is open", _case(own_assignment))
CASE_ACT = Rule("Sending a review: its reviewer, once the round is open", _case(named_assignment))
OWN_COMMENTS = Rule(
    "Comments on a reviewed question: its reviewer, once all their rounds with it closed", _own_comments
)
DISCUSSION = Rule("Commenting a question: who may read its comments", _discussion)
COMMENTS = Rule("Comments as a program reads them: coordinators who do not judge the question", _comments)
IMAGE = Rule("An image: coordinators, and who reviews, reads or coordinates a case that shows it", _image)
STUDIES = Rule("The list of studies: who coordinates one, and administrators", lambda one, _values: listed_studies(one))
COORDINATED_STUDY = Rule("A study: its coordinators", _of_round(coordinated_study))
OVERSEEN_STUDY = Rule("How a study goes: its coordinators, and administrators", _of_round(overseen_study))
RESULTS = Rule("Answers and analyses of a study: its coordinators, once it is closed", _results_of)
SEEN_RESULTS = Rule("Answers of a study by GET: its coordinators, once it was unblinded by a POST", _seen_results_of)
ANALYSIS = Rule(
    "An analysis: coordinators of the study, once somebody has unblinded it",
    lambda person, values: seen_analysis(person, values["slug"], values["public_id"]),
)
READER = Rule("Reading in a study: its readers", _reader)
MODELS = Rule(
    "The list of models: who coordinates, submits or administers", lambda one, _values: check_lists_models(one)
)
MODEL_NEW = Rule("Entering a model: who coordinates or submits", lambda one, _values: check_enters_models(one))
PREDICTIONS_SENT = Rule("Sending predictions: who works with models", lambda one, _values: check_works_with_models(one))
SCORES = Rule(
    "How models compare on a bank: coordinators and administrators",
    lambda one, _values: _must(knows_scores(one), PermissionDenied),
)
PAIRS = Rule("Judged pairs: coordinators of the site, and the two who judge them", _follows_pairs)
COORDINATES = Rule("For coordinators of the site", lambda one, _values: _must(is_coordinator(one), PermissionDenied))
MODEL = Rule("A model: who may know it", _of_thing(known_entry))
MODEL_ACT = Rule("Changing a model: who entered it, and coordinators", _of_thing(changeable_entry))
MODEL_LISTED = Rule("Predictions for a model: who entered it, and coordinators", _of_thing(listed_entry))
IMPORT = Rule("A file of predictions: who may still send it", _of_thing(import_of))
RUN = Rule("A run of predictions: who may know it", _of_thing(known_run))
RUN_ACT = Rule("Changing a run of predictions: who entered the model, and coordinators", _of_thing(changeable_run))
MODEL_RUNS = Rule("The list of models at work: who coordinates", _runs)
MODEL_RUN = Rule("A model at work: who coordinates the bank or study, and reads none of it", _of_thing(run_of))
KNOWN_BOARD = Rule("A leaderboard: who may know it", _of_round(known_benchmark))
RUN_BOARD = Rule("Changing a leaderboard: coordinators", _of_round(run_benchmark))
TAKEN_BOARD = Rule("The questions of a leaderboard: its approved teams, and coordinators", _of_round(taken_benchmark))
KNOWN_TEAM = Rule("A team: its members, coordinators, and administrators", _of_team(known_team))
DECIDED_TEAM = Rule("Deciding about a team: coordinators", lambda one, values: TeamAct.find(one, **values))
MEMBERS = Rule("Members of a team: its members, and coordinators", lambda one, values: MemberAct.find(one, **values))
BOARD_SENT = Rule("What was sent to a leaderboard: who looks on, and members of an approved team", _board_sent)
BOARD_SENDING = Rule("Sending to a leaderboard: members of an approved team", _of_round(team_of))
BOARD_SUBMISSION = Rule(
    "A submission to a leaderboard: its team, and who looks on",
    lambda person, values: known_submission(person, values["slug"], values["public_id"]),
)
BOARD_STATEMENT = Rule(
    "The statement of a team: its members, and who looks on",
    lambda person, values: known_statement(person, values["slug"], values["public_id"]),
)
BOARD_NAMING = Rule("Naming a submission for an edition: its team", _found_by(NameSubmission))
BOARD_WITHDRAWING = Rule("Withdrawing a submission: its team, and coordinators", _found_by(WithdrawSubmission))
LOOKED_ON = Rule("The work on a benchmark: coordinators and administrators, who read", _looked_on)
BIN = Rule("The bin: coordinators, administrators, and who may restore something", _bin)
RESTORED = Rule("Restoring from the bin: coordinators, administrators, and who deleted it in an own study", _restored)
JOB = Rule("A job: who started it, coordinators, and administrators", _job)
JOB_ACT = Rule("Stopping a job: who started it, and coordinators", _managed_job)
TOKEN = Rule(
    "A token: its owner",
    lambda person, values: _must(person.access_tokens.filter(public_id=values["public_id"])),
)
SESSION = Rule(
    "A session: whose it is",
    lambda person, values: _must([one for one in sessions_of(person, "") if one.pk == values["pk"]]),
)

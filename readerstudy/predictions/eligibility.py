"""Submitter of a bank, and reader or reviewer of it: nobody is both, whichever comes first.

Somebody submits for a bank who has sent predictions for it, or may send some: a submitter of models, while the bank is
open to submitters. Coordinators know the keys, and send what others hand them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.contributions import Conflict
from annotation.enums import AssignmentState, Role
from annotation.models import Assignment, Membership, Question, QuestionBank, ReviewRound, Upload, User
from annotation.site.permissions import is_administrator, is_coordinator, site_roles
from readerstudy.models import DECLINED, Enrolment, PredictionRun, ReaderStudy, SubmissionCall
from readerstudy.predictions.kernels.records import PredictionsRefused

COORDINATOR, SUBMITTER = Role.COORDINATOR, Role.MODEL_SUBMITTER
UPLOADS = "predictions"  # purpose of an upload


def knows_scores(person: User) -> bool:
    """Whether scores of models on a bank are theirs to know: with them, whoever submits can find out the keys."""
    return is_coordinator(person) or (is_administrator(person) and SUBMITTER not in site_roles(person))


def banks_submitted_for(person: User) -> set[int]:
    return _banks_of_submitters([person.pk]).get(person.pk, set())


def _banks_of_submitters(people: Collection[int]) -> dict[int, set[int]]:
    """By person; two queries, and a third where one of them holds the role."""
    found: dict[int, set[int]] = defaultdict(set)
    sent = PredictionRun.objects.filter(study=None).filter(Q(imported_by__in=people) | Q(entry__submitter__in=people))
    for bank, *who in sent.order_by().values_list("bank", "imported_by", "entry__submitter").distinct():
        for person in who:
            found[person].add(bank)
    of_site = list(Membership.objects.filter(user__in=people, round=None).values_list("user", "role"))
    holders = {role: {person for person, its_role in of_site if its_role == role} for role in (SUBMITTER, COORDINATOR)}
    open_now = set(SubmissionCall.objects.values_list("bank", flat=True)) if holders[SUBMITTER] else set()
    for person in holders[SUBMITTER]:
        found[person] |= open_now
    return {person: found[person] for person in people if person in found and person not in holders[COORDINATOR]}


def banks_judged(person: User) -> set[int]:
    """Banks with a question that the person reads or reviews, or has read or reviewed."""
    enrolled = Enrolment.objects.filter(reader=person).exclude(DECLINED)
    assigned = Assignment.objects.filter(reviewer=person)
    assigned = assigned.exclude(state=AssignmentState.WITHDRAWN, opened_at=None)
    rounds = Membership.objects.filter(user=person, round__isnull=False)
    found = (
        enrolled.values_list("study__bank", flat=True),
        assigned.order_by().values_list("revision__bank", flat=True).distinct(),
        rounds.values_list("round__plan__bank", flat=True),
    )
    return {bank for banks in found for bank in banks}


def open_banks(person: User) -> set[int]:
    """The banks for which a submitter may send predictions now."""
    if SUBMITTER not in site_roles(person):
        return set()
    return set(SubmissionCall.objects.values_list("bank", flat=True)) - banks_judged(person)


def check_may_store(person: User | None, bank: QuestionBank, study: ReaderStudy | None) -> None:
    """Refused for a bank that is closed to this person by now, and when they have sent enough for it.

    Locks the person until the transaction ends, so that two files at once count as two. None: the command line.
    """
    if person is None or study is not None or is_coordinator(person):
        return
    User.objects.select_for_update().get(pk=person.pk)
    if bank.pk not in open_banks(person):
        raise PredictionsRefused(
            "may_not_send", _("You may not send predictions for “%(bank)s”.") % {"bank": bank.name}
        )
    n_sent = PredictionRun.objects.filter(imported_by=person, bank=bank, study=None).count()
    if n_sent >= settings.SUBMITTER_RUNS:
        raise PredictionsRefused(
            "sent_enough",
            _("You have sent %(n)d runs for “%(bank)s”, withdrawn ones included: no more are taken.")
            % {"n": n_sent, "bank": bank.name},
        )


def check_may_send_file(person: User, at: datetime) -> None:
    """Refused for a submitter who has sent enough files within a day."""
    if is_coordinator(person):
        return
    sent = Upload.objects.filter(created_by=person, purpose=UPLOADS, created_at__gt=at - timedelta(days=1))
    if sent.count() >= settings.SUBMITTER_FILES:
        raise PredictionsRefused(
            "sent_enough",
            _("You have sent %(n)d files within 24 hours. Send the next one later.") % {"n": settings.SUBMITTER_FILES},
        )


def submitters_do_not_judge(person: User, role: Role, review_round: ReviewRound | None) -> str:
    """The rule for annotation.people.roles."""
    if review_round is not None:
        bank = review_round.plan.bank
        return _submits(person, bank) if bank.pk in banks_submitted_for(person) else ""
    if role != SUBMITTER:
        return ""
    open_to_all = QuestionBank.objects.filter(pk__in=SubmissionCall.objects.values("bank"))
    bank_judged = open_to_all.filter(pk__in=banks_judged(person)).first()
    if bank_judged is None:
        return ""
    return _(
        "%(name)s reads or reviews questions of the bank “%(bank)s”, or has done so, and that bank is open to "
        "submitters of models."
    ) % {"name": person, "bank": bank_judged.name}


def submitters_review_nothing(people: Collection[int], questions: Collection[int]) -> Iterator[Conflict]:
    """The rule for annotation.contributions: a question of a bank is not given to who submits models for that bank."""
    wanted = set(questions)
    for pk, submitted in _banks_of_submitters(people).items():
        person = User.objects.get(pk=pk)
        for bank in QuestionBank.objects.filter(pk__in=submitted):
            of_bank = Question.objects.filter(bank=bank).order_by("number").values_list("pk", flat=True)
            for question in wanted.intersection(of_bank):
                yield Conflict(person.pk, question, _submits(person, bank))


def _submits(person: User, bank: QuestionBank) -> str:
    return _("%(name)s submits predictions of models for the bank “%(bank)s”.") % {"name": person, "bank": bank.name}

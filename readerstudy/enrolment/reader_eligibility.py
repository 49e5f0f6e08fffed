"""Why somebody must not read in a study, as sentences: they know its answers, or may look them up."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.enums import Role
from annotation.models import Membership, Question, ReviewRound, SampledQuestion, User
from annotation.site.permissions import is_administrator, is_coordinator
from readerstudy.design.conflicts import OVER, may_not_read
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, StudyRole
from readerstudy.predictions.eligibility import banks_submitted_for


def reasons_against(person: User, study: ReaderStudy, case_set: CaseSet) -> list[str]:
    """What a coordinator reads, with the numbers of questions; empty for somebody who may read these cases."""
    return [*_by_role(person, study), *may_not_read(person, study, case_set)]


def noted_reasons(person: User, study: ReaderStudy, case_set: CaseSet) -> list[str]:
    """What the person reads: the same, without telling which questions the study holds."""
    reasons = _by_role(person, study)
    if may_not_read(person, study, case_set):
        reasons.append(
            _(
                "You reviewed or imported questions of this study or its images, or review some now, and may know "
                "answers."
            )
        )
    return reasons


def readers_look_nothing_up(person: User, role: Role, review_round: ReviewRound | None) -> str:
    """The rule for annotation.people.roles: whoever reads in a study gets no role that shows keys, tasks or
    categories of its questions before it is over."""
    if role not in (Role.COORDINATOR, Role.ADMINISTRATOR):
        return ""
    reads = Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None)
    reads = reads.exclude(study__state__in=OVER)
    if review_round is not None:
        sampled = SampledQuestion.objects.filter(plan=review_round.plan_id).values("revision__question")
        reads = reads.filter(study__cases__revision__question__in=sampled)
    enrolment = reads.select_related("study").first()
    if enrolment is None:
        return ""
    facts = {"name": person.name, "study": enrolment.study.name}
    return (
        _(
            "%(name)s reads in the study “%(study)s”, and could look up its answers with this role. Give it when the "
            "study is closed."
        )
        % facts
    )


def readers_with_keys_at_hand(study: ReaderStudy) -> list[User]:
    """Who reads in the study and could look up its answers: they got both before either was refused."""
    there = Enrolment.objects.filter(study=study, reader__isnull=False, withdrawn_at=None, replaced_at=None)
    roles = Membership.objects.filter(round=None, role__in=(Role.COORDINATOR, Role.ADMINISTRATOR))
    can_look = Q(pk__in=roles.values("user")) | Q(pk__in=StudyRole.objects.filter(study=study).values("user"))
    return list(User.objects.filter(can_look, pk__in=there.values("reader")))


def has_keys_at_hand(person: User, study: ReaderStudy) -> bool:
    """Whether this reader is one of them: no case opens for them until one of the two is given up."""
    if is_coordinator(person) or is_administrator(person):
        return True
    return StudyRole.objects.filter(study=study, user=person).exists()


def _by_role(person: User, study: ReaderStudy) -> list[str]:
    """Whoever made the study, and whoever can look up its keys or see how its reviewers judged them."""
    reasons = []
    if study.created_by_id == person.pk:
        reasons.append(_("%(name)s designed this study.") % {"name": person.name})
    if is_coordinator(person) or StudyRole.objects.filter(study=study, user=person).exists():
        reasons.append(_("%(name)s coordinates, and so can look up the answers.") % {"name": person.name})
    if is_administrator(person):
        reasons.append(_("%(name)s administers the site, and so can look up categories.") % {"name": person.name})
    if study.bank_id in banks_submitted_for(person):
        reasons.append(
            _("%(name)s submits predictions of models for the questions of this study.") % {"name": person.name}
        )
    questions = Question.objects.filter(revisions__in=study.cases.values("revision"))
    oversees = Membership.objects.filter(
        user=person, role=Role.COORDINATOR, round__plan__questions__revision__question__in=questions
    )
    if oversees.exists():
        reasons.append(_("%(name)s coordinates a review round of questions of this study.") % {"name": person.name})
    return reasons

"""What reviewers flagged on the questions of each version of a prompt; and fresh rounds for revised questions.

Only the wording that a model wrote counts: what a person changed since is no longer of the prompt.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.call_enums import PromptPurpose
from annotation.enums import EXPLANATIONS, FINAL_STATES, Flag, QuestionState, Role, RoundSteps, Word
from annotation.model_calls.versions import LONGEST_REASON
from annotation.models import GenerationRun, PromptVersion, Question, Review, ReviewRound, Revision, SamplingPlan, User
from annotation.people.roles import add_role
from annotation.review.kernels.form_design import CRITERIA, GOOD_GRADE
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.onlookers import QUESTION, questions_hidden_from, rounds_with_outcomes_for
from annotation.review.outcomes import ASKED_BY, flags_asked_by_forms, newest_reviews
from annotation.review.round_design import design_of_round
from annotation.review.rounds import create_round
from annotation.review.samples import Draw, Stratum, store_sample
from annotation.review.viewing import viewing_of
from annotation.site.sentences import listed
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.issues import CountingRule, IssueRate, Judged, JudgedQuestions
from annotation.statistics.kernels.sampling import Drawn, StratifyBy

GENERATING = (PromptPurpose.BULLETS, PromptPurpose.QUESTIONS)
_PATHS = {PromptPurpose.BULLETS: "bullets_batch__prompt", PromptPurpose.QUESTIONS: "questions_prompt"}
IMPORT = "assignment__revision__bank_import"
MOST_COMMENTS = 200
LONGEST_QUOTE = 400  # characters of one comment


class VersionFlags(Struct, frozen=True):
    """Of one version. By the rule "any": one reviewer who flags a question is enough.

    ``questions`` also hold, as issues, the criteria by which a reviewer graded below GOOD_GRADE.
    """

    version: PromptVersion
    n_made: int
    n_accepted: int  # of these, now
    n_reviews: int
    any_issue: IssueRate
    flags: dict[Flag, IssueRate]
    questions: JudgedQuestions

    @property
    def n_reviewed(self) -> int:
        return self.any_issue.share.n

    @property
    def raised(self) -> list[tuple[Flag, IssueRate]]:
        """What was flagged at all, the most frequent first."""
        found = [(flag, rate) for flag, rate in self.flags.items() if rate.share.count]
        return sorted(found, key=lambda one: -(one[1].share.count or 0))

    @property
    def counted(self) -> list[tuple[str, Estimate]]:
        """What a reason names: each criterion that a form asked for, then what was flagged."""
        low = [(_(name.label), flag_rate(self.questions, name).share) for name in CRITERIA]
        graded = [(_("%(criterion)s below 4") % {"criterion": label}, share) for label, share in low if share.n]
        return [*graded, *((_(flag.label), rate.share) for flag, rate in self.raised)]


class PromptFlags(Struct, frozen=True):
    """``n_hidden``: rounds with reviews of such questions that this person may not know yet; they are left out."""

    versions: list[VersionFlags]  # in the order of those asked for
    n_hidden: int
    rounds: list[str] = field(default_factory=list)  # the names of those that are counted, the oldest first

    @property
    def rows(self) -> list[tuple[Flag, list[IssueRate]]]:
        """By flag: one rate for each version."""
        return [(flag, [one.flags[flag] for one in self.versions]) for flag in Flag]

    @property
    def has_clusters(self) -> bool:
        return any(one.any_issue.clustered for one in self.versions)


class _Scope(Struct):
    """Which imports brought the questions of which version, and the rounds whose reviews may be shown."""

    version_of: dict[int, int]
    rounds: list[ReviewRound] = field(default_factory=list)
    n_hidden: int = 0


def prompt_flags(versions: Sequence[PromptVersion], person: User | None) -> PromptFlags:
    """Of versions with one purpose, in at most five queries.

    ``person`` coordinates; of a round in which they judge, and of a question that they judge, nothing is shown.
    None: on the command line, where the result is for everybody who coordinates.
    """
    scope = _scope(versions, person)
    values = _reviews(scope, person).values_list(
        "assignment__revision",
        f"assignment__{QUESTION}__exam__pseudonym",
        f"assignment__{QUESTION}__exam__patient_pseudonym",
        IMPORT,
        "grades",
        *ASKED_BY,
    )
    judged: dict[int, list[Judged]] = defaultdict(list)
    asked = flags_asked_by_forms()
    for revision, exam, patient, brought_by, grades, form, answered_at, flags in values:
        given = {name: grade for name, grade in grades.items() if name in CRITERIA and isinstance(grade, int)}
        found = frozenset((*flags, *(name for name, grade in given.items() if grade < GOOD_GRADE)))
        of = asked(form, answered_at, flags).union(given)
        one = Judged(revision, "", patient or f"exam {exam}", found, of)
        judged[scope.version_of[brought_by]].append(one)
    made, accepted = Counter[int](), Counter[int]()
    written = Revision.objects.filter(bank_import__in=scope.version_of)
    told = written.annotate(is_hidden=Q(question__in=questions_hidden_from(person)))
    for brought_by, state, is_hidden in told.values_list("bank_import", "question__state", "is_hidden"):
        made[scope.version_of[brought_by]] += 1
        accepted[scope.version_of[brought_by]] += state == QuestionState.ACCEPTED and not is_hidden
    by_version = [_flags_of(one, made[one.pk], accepted[one.pk], judged[one.pk]) for one in versions]
    return PromptFlags(by_version, scope.n_hidden, [one.name for one in scope.rounds])


def _flags_of(version: PromptVersion, n_made: int, n_accepted: int, judged: list[Judged]) -> VersionFlags:
    questions = JudgedQuestions.of(judged)
    any_issue, flags = flag_rate(questions, *Flag), {flag: flag_rate(questions, flag) for flag in Flag}
    return VersionFlags(version, n_made, n_accepted, len(judged), any_issue, flags, questions)


def flag_rate(questions: JudgedQuestions, *issues: Word) -> IssueRate:
    """Of questions with one of these by at least one reviewer."""
    return questions.rate([issue.value for issue in issues], CountingRule.ANY, {})


def runs_by_version(versions: Sequence[PromptVersion]) -> list[tuple[int, GenerationRun]]:
    """Runs in which one of these, which have one purpose, wrote findings or questions, with its id."""
    purposes = {one.purpose for one in versions} & set(GENERATING)
    if len(purposes) != 1:
        return []
    path = _PATHS[PromptPurpose(purposes.pop())]
    runs = GenerationRun.objects.filter(**{f"{path}__in": versions}).order_by("pk")
    return [(one.version, one) for one in runs.annotate(version=F(path))]


def _scope(versions: Sequence[PromptVersion], person: User | None) -> _Scope:
    runs = runs_by_version(versions)
    scope = _Scope({run.bank_import_id: version for version, run in runs if run.bank_import_id is not None})
    reviewed = Review.objects.filter(**{f"{IMPORT}__in": scope.version_of}).order_by().values("assignment__round")
    judging = ReviewRound.objects.filter(pk__in=reviewed).exclude(plan__rule=EXPLANATIONS).order_by("pk")
    rounds = list(judging) if scope.version_of else []
    visible = rounds_with_outcomes_for(person, ReviewRound.objects.filter(pk__in=[one.pk for one in rounds]))
    scope.rounds = [one for one in rounds if one.pk in visible]
    scope.n_hidden = len(rounds) - len(scope.rounds)
    return scope


def _reviews(scope: _Scope, person: User | None) -> QuerySet[Review]:
    """The newest version of each review of these questions that this person may know."""
    reviews = newest_reviews(*scope.rounds).filter(**{f"{IMPORT}__in": scope.version_of})
    hidden = questions_hidden_from(person)
    return reviews.exclude(**{f"assignment__{QUESTION}__in": hidden}).order_by()


# --- comments -------------------------------------------------------------------------------------
class FlaggedComment(Struct, frozen=True):
    """What one reviewer wrote on one question. The reviewer is not named."""

    review: int
    question: int
    bank: str  # slug
    number: int
    text: str
    flags: list[Flag]
    verdict: str


def flagged_comments(version: PromptVersion, person: User, *, only: Collection[int] = ()) -> list[FlaggedComment]:
    """Comments on the questions of this version, those with flags first, then by question; of the newest reviews.

    ``only``: ids of reviews. What this person may not know is not among them, whatever is asked for.
    """
    reviews = _reviews(_scope([version], person), person).exclude(comment="")
    if only:
        reviews = reviews.filter(pk__in=only)
    rows = reviews.annotate(
        question=F(f"assignment__{QUESTION}"),
        bank=F("assignment__revision__bank__slug"),
        number=F(f"assignment__{QUESTION}__number"),
    ).order_by("number", "pk")
    found = [
        FlaggedComment(
            *(one.pk, one.question, one.bank, one.number, one.comment),
            flags=[flag for flag in Flag if flag in one.flags],
            verdict=one.get_verdict_display(),
        )
        for one in rows
    ]
    return sorted(found, key=lambda one: not one.flags)[:MOST_COMMENTS]


def commented_questions(comments: Sequence[FlaggedComment]) -> QuerySet[Question]:
    return Question.objects.filter(pk__in={one.question for one in comments})


# --- the draft of a reason ------------------------------------------------------------------------
def drafted_reason(flags: PromptFlags, quotes: Sequence[str]) -> str:
    """Of flags of one version, for the next one: from which rounds, what was counted, and these comments."""
    [only] = flags.versions
    rounds = _(", in the rounds %(names)s") % {"names": listed(flags.rounds)} if flags.rounds else ""
    return draft_reason(f"{only.version}{rounds}", only.counted, quotes, most=LONGEST_REASON)


def draft_reason(version: str, counted: Sequence[tuple[str, Estimate]], quotes: Sequence[str], *, most: int) -> str:
    """Each of what is counted with n and interval, then the comments word by word.

    At most ``most`` characters: comments that do not fit are left out, and the last line says how many.
    """
    lines = [f"{version}, questions flagged by reviewers:"] if counted else [f"{version}:"]
    lines += [f"- {label}: {_share(share)}" for label, share in counted]
    if quotes:
        lines.append("Comments of reviewers:")
    for place, quote in enumerate(quotes):
        line = f"- “{_short(quote)}”"
        left = len(quotes) - place
        rest = f"({left} more not quoted)"
        if len("\n".join([*lines, line, rest])) > most:
            return "\n".join([*lines, rest])
        lines.append(line)
    return "\n".join(lines)[:most]


def _share(share: Estimate) -> str:
    text = f"{share.count} of {share.n}"
    if share.value is None or share.ci95 is None:
        return text
    low, high = share.ci95
    return f"{text} ({100 * share.value:.1f} %, 95 % CI {100 * low:.1f} to {100 * high:.1f})"


def _short(quote: str) -> str:
    words = " ".join(quote.split())
    return words if len(words) <= LONGEST_QUOTE else words[: LONGEST_QUOTE - 1].rstrip() + "…"


RULE = "revised-1"  # all questions of a round that were revised since, in the order of their numbers


def revised_questions(review_round: ReviewRound) -> QuerySet[Revision]:
    """The current wordings of the questions of a round that are revised and wait for a review, by number."""
    questions = review_round.plan.questions.values("revision__question")
    current = Revision.objects.current().filter(question__in=questions, question__state=QuestionState.REVISED)
    return current.select_related("question").order_by("question__number")


@transaction.atomic
def fresh_round(review_round: ReviewRound, *, actor: User, at: datetime) -> ReviewRound:
    """A draft with the revised questions of a round, without reviewers; nobody is given a question with a known key.

    It has the form, the repeats and the coordinators of the round, and no calibration: its reviewers were calibrated.

    Raises ReviewRefused before the reviews are final, where no question is revised, and as create_round does;
    SampleRefused as store_sample does; PeopleRefused as add_role does.
    """
    if review_round.state not in FINAL_STATES:
        raise ReviewRefused("not_final", _("The reviews of this round are not final yet."))
    revisions = list(revised_questions(review_round))
    if not revisions:
        raise ReviewRefused("nothing_revised", _("No question of this round waits for a review of its revision."))
    name = free_name(review_round.name)
    plan = store_sample(_draw(review_round, revisions), name=name, actor=actor, at=at, rule=RULE)
    made = create_round(
        plan,
        name=name,
        reviewers=[],
        reviewers_per_question=review_round.reviewers_per_question,
        steps=RoundSteps(review_round.steps),
        instructions=review_round.instructions,
        seed=review_round.seed + 1,
        viewing=viewing_of(review_round),
        design=replace(design_of_round(review_round), shared_answers=None, pass_mark=None, due_at=None),
        actor=actor,
        at=at,
    )
    # those of this round alone would not find another one
    coordinators = User.objects.filter(memberships__round=review_round, memberships__role=Role.COORDINATOR)
    for person in coordinators.order_by("pk"):
        add_role(person, Role.COORDINATOR, made, granted_by=actor, actor=actor, at=at)
    facts = {"from": review_round.slug, "questions": len(revisions)}
    record("round.made_of_revised", actor=actor, at=at, subject=made, facts=facts)
    return made


def free_name(name: str) -> str:
    """The name of the round with "revised" and a number that no round or sample has."""
    number = 1
    while True:
        tried = _("%(name)s, revised %(n)s") % {"name": name[:180], "n": number}
        taken = (model.everywhere.filter(name=tried).exists() for model in (ReviewRound, SamplingPlan))
        if not any(taken):
            return tried
        number += 1


def _draw(review_round: ReviewRound, revisions: list[Revision]) -> Draw:
    """The revised questions as a sample of which every question is in one stratum."""
    numbers = [one.question.number for one in revisions]
    n_frame = review_round.plan.questions.count()
    return Draw(
        bank=review_round.plan.bank,
        by=StratifyBy.NONE,
        per_thousand=max(1, round(1000 * len(numbers) / n_frame)),
        seed=review_round.seed + 1,
        n_frame=n_frame,
        frame_sha256=hashlib.sha256(repr(numbers).encode()).hexdigest(),
        strata=[Stratum("all", n_frame, len(numbers))],
        drawn=[Drawn(number, "all") for number in numbers],
        revision_ids=[one.pk for one in revisions],
    )

"""What reviewers flagged on the questions of each version of a prompt, and what they wrote: the reasons of the next.

Only the wording that a model wrote counts: what a person changed since is no longer of the prompt.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.db.models import F, QuerySet

from annotation.call_enums import PromptPurpose
from annotation.enums import Flag
from annotation.models import GenerationRun, PromptVersion, Question, Review, ReviewRound, Revision, User
from annotation.review.onlookers import QUESTION, questions_hidden_from, rounds_with_outcomes_for
from annotation.review.outcomes import ASKED_BY, flags_asked_by_forms, newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.issues import CountingRule, IssueRate, Judged, JudgedQuestions

GENERATING = (PromptPurpose.BULLETS, PromptPurpose.QUESTIONS)
_PATHS = {PromptPurpose.BULLETS: "bullets_batch__prompt", PromptPurpose.QUESTIONS: "questions_prompt"}
IMPORT = "assignment__revision__bank_import"
MOST_COMMENTS = 200
LONGEST_QUOTE = 400  # characters of one comment


@dataclass(frozen=True)
class VersionFlags:
    """Of one version. By the rule "any": one reviewer who flags a question is enough."""

    version: PromptVersion
    n_made: int
    n_reviews: int
    any_issue: IssueRate
    flags: dict[Flag, IssueRate]

    @property
    def n_reviewed(self) -> int:
        return self.any_issue.share.n

    @property
    def raised(self) -> list[tuple[Flag, IssueRate]]:
        """What was flagged at all, the most frequent first."""
        found = [(flag, rate) for flag, rate in self.flags.items() if rate.share.count]
        return sorted(found, key=lambda one: -(one[1].share.count or 0))


@dataclass(frozen=True)
class PromptFlags:
    """``n_hidden``: rounds with reviews of such questions that this person may not know yet; they are left out."""

    versions: list[VersionFlags]  # in the order of those asked for
    n_hidden: int

    @property
    def rows(self) -> list[tuple[Flag, list[IssueRate]]]:
        """By flag: one rate for each version."""
        return [(flag, [one.flags[flag] for one in self.versions]) for flag in Flag]

    @property
    def has_clusters(self) -> bool:
        return any(one.any_issue.clustered for one in self.versions)


@dataclass
class _Scope:
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
        *ASKED_BY,
    )
    judged: dict[int, list[Judged]] = defaultdict(list)
    asked = flags_asked_by_forms()
    for revision, exam, patient, brought_by, form, answered_at, flags in values:
        of = asked(form, answered_at, flags)
        one = Judged(revision, "", patient or f"exam {exam}", frozenset(flags), of)
        judged[scope.version_of[brought_by]].append(one)
    made = Counter[int]()
    for brought_by in Revision.objects.filter(bank_import__in=scope.version_of).values_list("bank_import", flat=True):
        made[scope.version_of[brought_by]] += 1
    flags_of_versions = [_flags_of(one, made[one.pk], judged[one.pk]) for one in versions]
    return PromptFlags(flags_of_versions, scope.n_hidden)


def _flags_of(version: PromptVersion, n_made: int, judged: list[Judged]) -> VersionFlags:
    questions = JudgedQuestions.of(judged)

    def rate(*flags: Flag) -> IssueRate:
        return questions.rate([flag.value for flag in flags], CountingRule.ANY, {})

    return VersionFlags(version, n_made, len(judged), rate(*Flag), {flag: rate(flag) for flag in Flag})


def _scope(versions: Sequence[PromptVersion], person: User | None) -> _Scope:
    purposes = {one.purpose for one in versions} & set(GENERATING)
    if len(purposes) != 1:
        return _Scope({})
    path = _PATHS[PromptPurpose(purposes.pop())]
    runs = GenerationRun.objects.filter(bank_import__isnull=False, **{f"{path}__in": versions}).order_by()
    scope = _Scope(dict(runs.values_list("bank_import", path)))
    reviewed = Review.objects.filter(**{f"{IMPORT}__in": scope.version_of}).order_by().values("assignment__round")
    rounds = list(ReviewRound.objects.filter(pk__in=reviewed)) if scope.version_of else []
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
@dataclass(frozen=True)
class FlaggedComment:
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
def draft_reason(version: str, counted: Sequence[tuple[str, Estimate]], quotes: Sequence[str], *, most: int) -> str:
    """For the next version: each flag with its count, n and interval, then the comments word by word.

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

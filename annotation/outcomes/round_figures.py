"""What rounds found as figures for a page and for a paper, and the words under them.

How the questions of rounds went: drawn, reviewed, changed, and what they are now. Of a closed round that grades
explanations of models: rates by model, which nobody saw before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial

from django.db.models import F, Max, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct
from msgspec.structs import replace

from annotation.enums import AssignmentState, ImportState, QuestionState, RoundState, Verdict
from annotation.models import Assignment, ReviewRound, SampledQuestion
from annotation.review.assignments import form_design_of
from annotation.review.kernels.form_design import GOOD_GRADE
from annotation.review.outcomes import Outcomes, newest_reviews
from annotation.statistics.kernels.estimate import FEW_CLUSTERS, WHOLE_BANK, WHOLE_FRAME, Estimate
from annotation.statistics.kernels.intervals import clustered_share, share
from annotation.statistics.kernels.issues import Leading
from annotation.tables.kernels.forms import FigureForm, Width

# In the order of a life that goes well, then the others.
ORDER = (
    QuestionState.ACCEPTED,
    QuestionState.REVISED,
    QuestionState.NEEDS_REVISION,
    QuestionState.DISPUTED,
    QuestionState.IN_REVIEW,
    QuestionState.IMPORTED,
    QuestionState.REJECTED,
    QuestionState.WITHDRAWN,
)


class FlowCount(Struct, frozen=True):
    """Of n questions, how many have another wording than the first that was drawn for one of the rounds."""

    n: int = 0
    n_changed: int = 0

    def and_one(self, changed: bool) -> FlowCount:
        return replace(self, n=self.n + 1, n_changed=self.n_changed + changed)


class StateFlow(Struct, frozen=True):
    """Questions, each once, however many of the rounds it was drawn for."""

    drawn: FlowCount
    reviewed: FlowCount
    now: list[tuple[QuestionState, FlowCount]]  # states that occur


class _Life(Struct):
    state: str
    first: int  # number of the first wording that was drawn
    newest: int
    reviewed: bool


def state_flow(rounds: Sequence[ReviewRound]) -> StateFlow:
    """In two queries. An import that brought another wording changes a question, too."""
    submitted = Assignment.objects.filter(round__in=rounds, state=AssignmentState.SUBMITTED)
    reviewed = set(submitted.order_by().values_list("revision_id", flat=True))
    there = Q(revision__question__revisions__bank_import__state=ImportState.PUBLISHED)
    rows = (
        SampledQuestion.objects.filter(plan__in={one.plan_id for one in rounds})
        .order_by()
        .annotate(newest=Max("revision__question__revisions__number", filter=there))
    )
    lives: dict[int, _Life] = {}
    values = ("revision__question_id", "revision__question__state", "revision_id", "revision__number", "newest")
    for question, state, revision, number, newest in rows.values_list(*values):
        one = lives.setdefault(question, _Life(str(state), number, newest or number, reviewed=False))
        one.first = min(one.first, number)
        one.reviewed |= revision in reviewed
    return _counted(list(lives.values()))


def _counted(lives: Sequence[_Life]) -> StateFlow:
    drawn, seen, now = FlowCount(), FlowCount(), dict.fromkeys(ORDER, FlowCount())
    for one in lives:
        changed = one.newest > one.first
        drawn = drawn.and_one(changed)
        seen = seen.and_one(changed) if one.reviewed else seen
        now[QuestionState(one.state)] = now[QuestionState(one.state)].and_one(changed)
    return StateFlow(drawn, seen, [(state, count) for state, count in now.items() if count.n])


# --- What rounds found as figures for a page and for a paper, and the words under them ------------
class RoundFigure(StrEnum):
    """As addresses and names of files say it."""

    OUTCOMES = "outcomes"
    BANK_MIX = "bank-mix"  # of a round alone
    FLOW = "flow"
    GRADES = "grades"


def figure_file(
    figure: RoundFigure, rounds: Sequence[ReviewRound], outcomes: Callable[[], Outcomes], form: FigureForm, width: Width
) -> bytes:
    """The same reviews and states give the same bytes; only the issues depend on the rule of counting."""
    if figure is RoundFigure.FLOW:
        return flow_file(rounds, state_flow(rounds), form, width)
    if figure is RoundFigure.GRADES:
        return grades_file(rounds, outcomes(), form, width)
    return outcomes_file(rounds, outcomes(), form, width, of_bank=figure is RoundFigure.BANK_MIX)


def is_simulated(rounds: Sequence[ReviewRound]) -> bool:
    return any(one.simulated for one in rounds)


def outcomes_file(
    rounds: Sequence[ReviewRound], outcomes: Outcomes, form: FigureForm, width: Width, *, of_bank: bool = False
) -> bytes:
    """The issues of the paper and any flag at all, over these questions or in the mix of the bank."""
    from annotation.tables.kernels.row_figures import Issue, outcomes_figure  # with matplotlib, slow to load
    from annotation.tables.kernels.style import rendered

    any_flag = _("Any flag that was asked for") if outcomes.not_asked else _("Any flag at all")
    rates = [*((_(row.issue.label), row.rate) for row in outcomes.paper), (any_flag, outcomes.any_issue)]
    issues = [Issue(name, rate.bank_mix if of_bank else rate.shown) for name, rate in rates]
    draw = partial(outcomes_figure, issues, width, of_bank=of_bank, simulated=is_simulated(rounds))
    return rendered(draw, form)


def outcomes_legend(rounds: Sequence[ReviewRound], outcomes: Outcomes, *, of_bank: bool = False) -> str:
    """The legend of the figure."""
    first = (
        _("Expert-review outcomes in the bank: each stratum of the sample weighted by its size in the bank.")
        if of_bank
        else _("Expert-review outcomes: percent of the reviewed questions with each issue, and with any flag at all.")
    )
    sentences = [
        first,
        bank_interval(outcomes) if of_bank else leading_interval(outcomes),
        _("Issues do not exclude each other; a question has one when %(rule)s.") % {"rule": _(outcomes.rule.label)},
        _("%(reviewed)s of %(all)s questions reviewed, by %(reviews)s reviews. † small n.")
        % {"reviewed": outcomes.n_reviewed, "all": outcomes.n_questions, "reviews": outcomes.n_reviews},
        not_asked_sentence(outcomes),
    ]
    return _legend(sentences, rounds)


def leading_interval(outcomes: Outcomes) -> str:
    """The rule by which one interval of an issue is printed, and which one it is here."""
    rates = [outcomes.any_issue, *(row.rate for row in (*outcomes.paper, *outcomes.flags))]
    here = [_(one.label) for one in Leading if one in {rate.leading for rate in rates if rate.share.n}]
    few = any(FEW_CLUSTERS in rate.shown.flags for rate in rates)
    sentences = [
        _(
            "95% CI: none where the whole bank was reviewed; by patient or exam where one holds more than one of the "
            "questions that were asked; else by Wilson."
        ),
        _("Here %(intervals)s.") % {"intervals": "; ".join(here)} if here else "",
        _("Fewer than 10 patients or exams: no interval.") if few else "",
    ]
    return " ".join(filter(None, sentences))


def bank_interval(outcomes: Outcomes) -> str:
    """The interval of what is said of the bank."""
    flags = {flag for row in outcomes.paper for flag in row.rate.bank_mix.flags}
    if WHOLE_BANK in flags:
        return _("The whole bank was reviewed, so that there is no interval.")
    if WHOLE_FRAME in flags:
        return _("All of the part of the bank that the sample was drawn from was reviewed: there is no interval.")
    return _("95% CI by Wilson with the effective number of questions, narrower the more of the bank was reviewed.")


def grades_file(rounds: Sequence[ReviewRound], outcomes: Outcomes, form: FigureForm, width: Width) -> bytes:
    """How often each grade was given, from the newest versions."""
    from annotation.tables.kernels.row_figures import Graded, grades_figure  # with matplotlib, slow to load
    from annotation.tables.kernels.style import rendered

    grades = [
        Graded(_(one.name.label), dict(one.counts), one.median, one.n_cannot_judge, one.is_asked)
        for one in outcomes.grades
    ]
    return rendered(lambda: grades_figure(grades, width, simulated=is_simulated(rounds)), form)


def grades_legend(rounds: Sequence[ReviewRound], outcomes: Outcomes) -> str:
    """The legend of the figure of the grades."""
    sentences = [
        _("Grades from 1, unusable, to 5, nothing to change: percent of the reviews that gave each."),
        _("%(reviews)s reviews of %(reviewed)s questions, the newest version of each.")
        % {"reviews": outcomes.n_reviews, "reviewed": outcomes.n_reviewed},
        _("Who could not judge is not among n."),
    ]
    return _legend(sentences, rounds)


def flow_file(rounds: Sequence[ReviewRound], flow: StateFlow, form: FigureForm, width: Width) -> bytes:
    from annotation.tables.kernels.row_figures import (
        FlowStep,
        StepWords,
        steps_figure,
    )  # with matplotlib, slow to load
    from annotation.tables.kernels.style import rendered

    path = [
        FlowStep(_("In the sample"), flow.drawn.n, flow.drawn.n_changed),
        FlowStep(_("Reviewed"), flow.reviewed.n, flow.reviewed.n_changed),
    ]
    now = [FlowStep(_("Now: %(state)s") % {"state": _(state.label)}, one.n, one.n_changed) for state, one in flow.now]
    words = StepWords(_("as drawn"), _("changed since"), _("Questions"), (_("questions"), _("changed")))
    return rendered(lambda: steps_figure(path, now, words, width, simulated=is_simulated(rounds)), form)


def flow_legend(rounds: Sequence[ReviewRound], flow: StateFlow) -> str:
    """The legend of the figure of the states."""
    counted = ngettext("%(n)s question,", "%(n)s questions,", flow.drawn.n) % {"n": flow.drawn.n}
    sentences = [
        _("From the sample to what the questions are now: %(questions)s %(reviewed)s reviewed.")
        % {"questions": counted, "reviewed": flow.reviewed.n},
        _("Changed: another wording has replaced the one that was drawn. Percent of the sample; counts, no estimates."),
    ]
    return _legend(sentences, rounds)


def _legend(sentences: Sequence[str], rounds: Sequence[ReviewRound]) -> str:
    return " ".join([*filter(None, sentences), *([_("Simulated data.")] if is_simulated(rounds) else [])])


def not_asked_sentence(outcomes: Outcomes) -> str:
    """What no review was asked for; nothing where all of the form of the paper was."""
    labels = "; ".join(_(label) for label in outcomes.not_asked)
    return _("Not asked, so not counted: %(labels)s.") % {"labels": labels} if labels else ""


Trials = dict[str, dict[str, list[int]]]  # by what is counted and by patient: 1 where it is so


class ModelRates(Struct, frozen=True):
    """``shares``: what is counted, with its share of the reviews that say something of it."""

    model: str
    n_explanations: int  # with a review
    n_reviews: int
    shares: list[tuple[str, Estimate]]


def rates_by_model(review_round: ReviewRound) -> list[ModelRates] | None:
    """Shares of reviews: of each grade those with GOOD_GRADE or better, and those that accept, by name of the model.

    Limits are by cluster: patients, or exams where no patient is known; all reviews of one are together. None of a
    round of another kind, and before it is closed. Two queries.
    """
    if not review_round.grades_explanations or review_round.state != RoundState.CLOSED:
        return None
    model_of = dict(SampledQuestion.objects.filter(plan=review_round.plan_id).values_list("revision", "model"))
    grades = form_design_of(review_round).grades
    trials: dict[str, Trials] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    reviews: dict[str, list[int]] = defaultdict(list)
    exam = "assignment__revision__question__exam"
    rows = (
        newest_reviews(review_round)
        .order_by()
        .annotate(
            wording=F("assignment__revision"), patient=F(f"{exam}__patient_pseudonym"), exam=F(f"{exam}__pseudonym")
        )
    )
    for wording, patient, pseudonym, given, verdict in rows.values_list(
        "wording", "patient", "exam", "grades", "verdict"
    ):
        model, cluster = model_of[wording], patient or f"exam {pseudonym}"
        reviews[model].append(wording)
        for name in grades:
            if isinstance(grade := given.get(name.value), int):
                trials[model][name.value][cluster].append(int(grade >= GOOD_GRADE))
        if verdict != Verdict.CANNOT_JUDGE:
            trials[model][Verdict.ACCEPT][cluster].append(int(verdict == Verdict.ACCEPT))
    counted = {**{name.value: name.label for name in grades}, Verdict.ACCEPT: Verdict.ACCEPT.label}
    return [
        ModelRates(
            model, len(set(own)), len(own), [(_(label), _share(trials[model][one])) for one, label in counted.items()]
        )
        for model, own in sorted(reviews.items())
    ]


def _share(of_cluster: dict[str, list[int]]) -> Estimate:
    found = clustered_share(list(of_cluster.values()))
    return found.estimate if found else share(0, 0)


def explained(review_round: ReviewRound) -> str:
    """What a report says of a round that grades explanations of models; else nothing."""
    if not review_round.grades_explanations:
        return ""
    return (
        " In place of its own explanation each question had the answer and explanation of a model, drawn evenly over "
        "runs of models, whose names nobody was shown: what is said of explanations is of theirs. No question is "
        "settled."
    )

"""What pages about the outcomes of one round, or of all rounds of a bank, have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.enums import RoundSteps
from annotation.figures.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header
from annotation.forms.reviews import OutcomeGroupsForm
from annotation.models import ReviewRound, User
from annotation.outcomes.outcome_groups import GroupBy, group_outcomes
from annotation.outcomes.round_figures import (
    RoundFigure,
    figure_file,
    flow_legend,
    grades_legend,
    outcomes_legend,
    state_flow,
)
from annotation.review.onlookers import may_see_outcomes
from annotation.review.outcomes import outcomes_over, round_outcomes, rules_of
from annotation.review.reviewer_progress import round_times
from annotation.statistics.kernels.issues import CountingRule
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part


@dataclass(frozen=True)
class Scope:
    """Whose outcomes are asked for. ``kind`` is "round" or "bank": names of addresses begin with it."""

    kind: str
    slug: str
    name: str
    rounds: Sequence[ReviewRound]

    @property
    def page(self) -> str:
        """The page on which the outcomes are shown."""
        return reverse("round" if self.kind == "round" else "bank-outcomes", args=[self.slug])

    @property
    def groups(self) -> str:
        return reverse(f"{self.kind}-groups", args=[self.slug])

    @property
    def difficulty(self) -> str:
        return reverse(f"{self.kind}-difficulty", args=[self.slug])

    def figure(self, figure: RoundFigure, width: Width, form: FigureForm, rule: CountingRule) -> str:
        address = reverse(f"{self.kind}-figure", args=[self.slug, figure.value, width.value, form.value])
        return f"{address}?rule={rule.value}" if figure is RoundFigure.OUTCOMES else address


def scope_of(review_round: ReviewRound) -> Scope:
    return Scope("round", review_round.slug, review_round.name, [review_round])


@dataclass(frozen=True)
class DrawnFigure:
    """A figure on a page, the words under it, and where its files for a paper are."""

    src: str
    alt: str
    legend: str
    files: list[tuple[str, list[tuple[str, str]]]]  # of each width in words: form and address


def asked_rule(request: AuthenticatedRequest, rules: Sequence[CountingRule]) -> CountingRule:
    """When a question counts as having an issue, as the address says; any reviewer where it says nothing of these."""
    chosen = request.GET.get("rule", "")
    return CountingRule(chosen) if chosen in rules else CountingRule.ANY


def check_not_blinded(person: User, review_round: ReviewRound) -> None:
    """Of somebody who coordinates the round. Raises PermissionDenied."""
    if not may_see_outcomes(person, review_round):
        raise PermissionDenied(_("You review in this round yourself: its reviews are hidden until it closes."))


def outcomes_context(request: AuthenticatedRequest, scope: Scope) -> dict[str, Any]:
    """Everything that ``_findings.html`` shows."""
    rounds, rules = scope.rounds, rules_of(*scope.rounds)
    rule = asked_rule(request, rules)
    outcomes = round_outcomes(rounds[0], rule) if scope.kind == "round" else outcomes_over(rounds, rule)
    legends = {
        RoundFigure.OUTCOMES: outcomes_legend(rounds, outcomes),
        RoundFigure.FLOW: flow_legend(rounds, state_flow(rounds)),
        RoundFigure.GRADES: grades_legend(rounds, outcomes),
    }
    return {
        "scope": scope,
        "rules": rules,
        "outcomes": outcomes,
        "times": round_times(*rounds),
        "figures": {figure.value: _drawn(scope, figure, rule, legend) for figure, legend in legends.items()},
    }


def _drawn(scope: Scope, figure: RoundFigure, rule: CountingRule, legend: str) -> DrawnFigure:
    alt = {
        RoundFigure.OUTCOMES: _(
            "Percent of the reviewed questions with each issue and its interval; the same numbers are in the table."
        ),
        RoundFigure.FLOW: _("How many questions were drawn, reviewed and changed, and what they are now."),
        RoundFigure.GRADES: _(
            "How often each grade was given, stacked from 1 to 5; the same numbers are in the table."
        ),
    }
    widths = {Width.ONE: _("one column"), Width.TWO: _("two columns")}
    return DrawnFigure(
        scope.figure(figure, Width.TWO, FigureForm.SVG, rule),
        alt[figure],
        legend,
        [
            (words, [(form.value, scope.figure(figure, width, form, rule)) for form in FigureForm])
            for width, words in widths.items()
        ],
    )


def figure_response(request: AuthenticatedRequest, scope: Scope, figure: str, width: str, form: str) -> HttpResponse:
    """A figure as it is drawn for the page and for a paper, by the rule in the address."""
    check_figure(figure, width, form)
    rule, of = asked_rule(request, rules_of(*scope.rounds)), FigureForm(form)
    file = figure_file(RoundFigure(figure), scope.rounds, rule, of, Width(width))
    response = HttpResponse(file, content_type=FIGURE_TYPES[of])
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"  # an SVG has its own styles
    response["Content-Disposition"] = download_header(scope.slug, figure, Width(width), of)
    return response


def check_figure(figure: str, width: str, form: str) -> None:
    """Raises Http404 for a figure, width or form that there is none of."""
    if figure not in set(RoundFigure) or width not in set(Width) or form not in set(FigureForm):
        raise Http404


def groups_response(request: AuthenticatedRequest, scope: Scope) -> HttpResponse:
    """One issue by task, category, stated difficulty, reviewer or import; for HTMX the section alone."""
    form = OutcomeGroupsForm(rules_of(*scope.rounds), request.GET)
    choice = form.choice()
    context = {
        "scope": scope,
        "form": form,
        "groups": group_outcomes(scope.rounds, choice.by, choice.issue, choice.rule),
        "by_reviewer": choice.by is GroupBy.REVIEWER,
        "choice": choice,
    }
    return _section(request, "groups", context)


def difficulty_response(request: AuthenticatedRequest, scope: Scope) -> HttpResponse:
    """How difficult reviewers found the questions, beside what the bank states; for HTMX the section alone."""
    from annotation.outcomes.agreement import difficulty_table, judged_difficulties

    seed = abs(scope.rounds[0].seed) if len(scope.rounds) == 1 else 0
    answers = judged_difficulties(scope.rounds)
    context = {"scope": scope, "table": difficulty_table(answers, seed=seed), "n_answers": len(answers), "seed": seed}
    context["is_asked"] = any(one.steps == RoundSteps.FULL for one in scope.rounds)
    return _section(request, "difficulty", context)


def _section(request: AuthenticatedRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    if asks_for_part(request):
        return render(request, f"annotation/rounds/_{name}.html", context)
    context["section"] = f"annotation/rounds/_{name}.html"
    return render(request, "annotation/rounds/section.html", context)

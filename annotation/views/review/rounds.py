"""Review rounds as coordinators see them: the list, one round with its outcomes, one reviewer, and files of reviews."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.acts.files import reviews_file
from annotation.acts.rounds import ROUNDS_SORTED_BY, check_not_blinded, coordinated_round, listed_rounds
from annotation.case.kernels.durations import PARTS, TimeFlag
from annotation.enums import FINAL_STATES, Flag, GradeName, RoundState, RoundSteps
from annotation.exports.reviews import columns_of_reviews, may_take_source_ids
from annotation.forms.images import check_in_words
from annotation.forms.reviews import OutcomeGroupsForm
from annotation.forms.rounds import AdjudicatorForm, DueForm, RemoveForm, ReviewersForm, RoundPersonForm, ViewingForm
from annotation.models import Assignment, ReviewRound, SamplingPlan, User
from annotation.outcomes.adjudicating import adjudicators_of, facts_of
from annotation.outcomes.attention import settling_of
from annotation.outcomes.next_steps import next_on_page
from annotation.outcomes.outcome_groups import GroupBy, group_outcomes
from annotation.outcomes.prompt_flags import revised_questions
from annotation.outcomes.round_figures import (
    RoundFigure,
    bank_interval,
    flow_legend,
    grades_legend,
    leading_interval,
    outcomes_legend,
    rates_by_model,
    state_flow,
)
from annotation.people.invitations import people_of
from annotation.people.mailing import can_send
from annotation.review.assigning import ineligible_reviewers
from annotation.review.calibrating import calibration_of, distances_of
from annotation.review.kernels.transitions import RoundAct, why_not
from annotation.review.onlookers import may_see_outcomes
from annotation.review.outcomes import Outcomes, asked_by_forms, outcomes_over, round_outcomes, rules_of
from annotation.review.reviewer_progress import (
    due_text,
    not_done,
    open_assignments,
    past_reviews,
    read_keys,
    reviewer_progress,
    round_times,
    with_lags,
)
from annotation.review.rounds import has_work, missing_images
from annotation.review.viewing import newest_check, newest_checks, size_text, viewing_of
from annotation.site.permissions import (
    is_administrator,
    is_coordinator,
    may_coordinate,
    may_invite_to_round,
    roles_given_in,
)
from annotation.site.sorted_tables import numbered_page, sorted_page
from annotation.statistics.kernels.issues import CountingRule
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.writing import CONTENT_TYPES, Format, formats_here, write_codebook
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required


class Scope(Struct, frozen=True):
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
        return f"{address}?rule={rule.value}" if figure in (RoundFigure.OUTCOMES, RoundFigure.BANK_MIX) else address

    def outcomes(self, rule: CountingRule) -> Outcomes:
        return round_outcomes(self.rounds[0], rule) if self.kind == "round" else outcomes_over(self.rounds, rule)


def scope_of(review_round: ReviewRound) -> Scope:
    return Scope("round", review_round.slug, review_round.name, [review_round])


class DrawnFigure(Struct, frozen=True):
    """A figure on a page, the words under it, and where its files for a paper are."""

    src: str
    alt: str
    legend: str
    files: list[tuple[str, list[tuple[str, str]]]]  # of each width in words: form and address

    @classmethod
    def at(cls, address: Callable[[Width, FigureForm], str], alt: str, legend: str) -> DrawnFigure:
        widths = {Width.ONE: _("one column"), Width.TWO: _("two columns")}
        files = [
            (words, [(form.value, address(width, form)) for form in FigureForm]) for width, words in widths.items()
        ]
        return cls(address(Width.TWO, FigureForm.SVG), alt, legend, files)


def asked_rule(request: AuthenticatedRequest, rules: Sequence[CountingRule]) -> CountingRule:
    """When a question counts as having an issue, as the address says; any reviewer where it says nothing of these."""
    chosen = request.GET.get("rule", "")
    return CountingRule(chosen) if chosen in rules else CountingRule.ANY


def outcomes_context(request: AuthenticatedRequest, scope: Scope) -> dict[str, Any]:
    """Everything that ``_findings.html`` shows."""
    rounds, rules = scope.rounds, rules_of(*scope.rounds)
    rule = asked_rule(request, rules)
    outcomes = scope.outcomes(rule)
    legends = {
        RoundFigure.OUTCOMES: outcomes_legend(rounds, outcomes),
        RoundFigure.BANK_MIX: outcomes_legend(rounds, outcomes, of_bank=True),
        RoundFigure.FLOW: flow_legend(rounds, state_flow(rounds)),
        RoundFigure.GRADES: grades_legend(rounds, outcomes),
    }
    return {
        "scope": scope,
        "rules": rules,
        "outcomes": outcomes,
        "times": round_times(*rounds),
        "leading_interval": leading_interval(outcomes),
        "bank_interval": bank_interval(outcomes),
        "figures": {figure.name.lower(): _drawn(scope, figure, rule, legend) for figure, legend in legends.items()},
    }


def _drawn(scope: Scope, figure: RoundFigure, rule: CountingRule, legend: str) -> DrawnFigure:
    alt = {
        RoundFigure.OUTCOMES: _(
            "Percent of the reviewed questions with each issue and its interval; the same numbers are in the table."
        ),
        RoundFigure.BANK_MIX: _(
            "Percent of the bank with each issue and its interval; the same numbers are in the table."
        ),
        RoundFigure.FLOW: _("How many questions were drawn, reviewed and changed, and what they are now."),
        RoundFigure.GRADES: _(
            "How often each grade was given, stacked from 1 to 5; the same numbers are in the table."
        ),
    }
    return DrawnFigure.at(lambda width, form: scope.figure(figure, width, form, rule), alt[figure], legend)


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


PER_PAGE = 25


def seen_round(request: AuthenticatedRequest, slug: str) -> ReviewRound:
    """The round, for those of its coordinators who may see its outcomes."""
    review_round = coordinated_round(request.user, slug)
    check_not_blinded(request.user, review_round)
    return review_round


def overseen_round(person: User, slug: str) -> ReviewRound:
    """The round, for its coordinators, and for administrators to look at how it goes."""
    if is_administrator(person):
        return get_object_or_404(
            ReviewRound.objects.select_related("plan__bank", "created_by", "form", "shared_answers"), slug=slug
        )
    return coordinated_round(person, slug)


@person_required
@require_GET
def rounds(request: AuthenticatedRequest) -> HttpResponse:
    """All rounds for coordinators of the site and administrators; for others those that they coordinate."""
    archived = "archived" in request.GET
    rows = listed_rounds(request.user).filter(archived_at__isnull=not archived).order_by("-created_at")
    context = {
        **sorted_page(request.GET, rows, ROUNDS_SORTED_BY, PER_PAGE),
        "archived": archived,
        "may_create": is_coordinator(request.user),
        "has_samples": SamplingPlan.objects.filter(archived_at__isnull=True).exists(),
    }
    return render(request, "annotation/rounds/list.html", context)


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_page(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Progress, people and outcomes of one round; the outcomes alone for HTMX, by the rule that was chosen."""
    review_round = overseen_round(request.user, slug)
    coordinates = may_coordinate(request.user, review_round)
    context: dict[str, Any] = {"round": review_round, "is_draft": review_round.state == RoundState.DRAFT}
    if coordinates and not context["is_draft"]:
        context |= _outcomes(request, review_round)
        if asks_for_part(request):
            return render(request, "annotation/rounds/_outcomes.html", context)
    return render(request, "annotation/rounds/detail.html", context | _overview(request, review_round, coordinates))


def _settled(request: AuthenticatedRequest, review_round: ReviewRound) -> dict[str, Any]:
    """What the reviews settled, who adjudicates the rest, and what blocks beginning that."""
    facts = facts_of(review_round)
    refusal = why_not(RoundAct.ADJUDICATE, facts)
    return {
        "settling": settling_of(review_round) if may_see_outcomes(request.user, review_round) else None,
        "adjudicators": adjudicators_of(review_round),
        "adjudicator_form": AdjudicatorForm(review_round, request.user, prefix="adjudicator"),
        "is_adjudicable": review_round.state == RoundState.COMPLETE,
        "why_not_adjudicate": _(refusal.sentence) if refusal else "",
        "n_revised": revised_questions(review_round).count(),
    }


def _outcomes(request: AuthenticatedRequest, review_round: ReviewRound) -> dict[str, Any]:
    is_blinded = not may_see_outcomes(request.user, review_round)
    context: dict[str, Any] = {"is_blinded": is_blinded, "outcomes": None, "formats": formats_here()}
    if is_blinded:
        return context
    return context | outcomes_context(request, scope_of(review_round)) | {"by_model": rates_by_model(review_round)}


def _overview(request: AuthenticatedRequest, review_round: ReviewRound, coordinates: bool) -> dict[str, Any]:
    progress = with_lags(reviewer_progress(review_round), review_round, timezone.now())
    n_all, n_submitted = sum(one.n_all for one in progress), sum(one.n_submitted for one in progress)
    missing = missing_images(review_round) if review_round.state == RoundState.DRAFT else None
    context: dict[str, Any] = {
        "progress": progress,
        "missing": missing,
        "not_passed": {pk for pk, check in newest_checks(review_round).items() if not check["passed"]},
        "n_all": n_all,
        "n_submitted": n_submitted,
        "n_open": n_all - n_submitted,
        "n_returned": sum(one.n_returned for one in progress),
        "next": next_on_page(review_round, request.user, missing) if coordinates else None,
        "n_questions": review_round.plan.questions.count(),
        "coordinates": coordinates,
        "may_delete": is_administrator(request.user) and not has_work(review_round),
        "hidden_tools": viewing_of(review_round).hidden_tools,
        "least_window": size_text(viewing_of(review_round).least_window),
        "due": due_text(review_round, request.user),
    }
    if coordinates and review_round.state in FINAL_STATES:
        context |= _settled(request, review_round)
    if coordinates and review_round.shared_answers_id is not None and review_round.opened_at is not None:
        may_see = may_see_outcomes(request.user, review_round)
        context["calibrated"] = calibration_of(review_round, [one.person for one in progress if not one.has_left])
        context["distances"] = distances_of(review_round) if may_see else []
    if may_invite_to_round(request.user, review_round):
        context["round_people"] = people_of(review_round, timezone.now())
        context["manageable"] = roles_given_in(request.user, review_round)
    if coordinates and review_round.state not in FINAL_STATES:
        context["due_form"] = DueForm(request.user.time_zone, initial={"due_at": review_round.due_at})
        context["viewing_form"] = ViewingForm.of(review_round)
        context["ineligible"] = ineligible_reviewers(review_round, [one.person for one in progress if not one.has_left])
    if coordinates and review_round.state == RoundState.DRAFT:
        present = {"reviewers": [one.person.pk for one in progress]}
        context["reviewers_form"] = ReviewersForm(review_round, initial=present)
    if coordinates and review_round.state == RoundState.OPEN:
        context |= {"not_done": not_done(progress), "can_send": can_send()}
        present_now = User.objects.filter(pk__in=[one.person.pk for one in progress if one.n_all and not one.has_left])
        context["add_form"] = RoundPersonForm(review_round, but_not=present_now, prefix="add")
    return context


@person_required
@require_GET
def round_reviewer(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """What one reviewer has submitted and has still to do, with a form to give it to somebody else."""
    review_round = coordinated_round(request.user, slug)
    reviewer = next((one for one in reviewer_progress(review_round) if one.person.pk == pk), None)
    if reviewer is None:
        raise Http404
    person = reviewer.person
    is_blinded = not may_see_outcomes(request.user, review_round)
    page = numbered_page(request.GET, past_reviews(review_round, person), PER_PAGE)
    reviews = [] if is_blinded else list(page.object_list)
    keys = read_keys(review_round, reviews, person=request.user, at=timezone.now())
    myself = User.objects.filter(pk=person.pk)
    context = {
        "round": review_round,
        "reviewer": reviewer,
        "person": person,
        "open_assignments": open_assignments(review_round, person)[:500],
        "page": page,
        "display": check_in_words(newest_check(review_round, person)),
        "reviews": _with_keys(reviews, keys),
        "is_blinded": is_blinded,
        "may_change": review_round.state not in FINAL_STATES,
        "reassign_form": RoundPersonForm(review_round, but_not=myself, prefix="to"),
        "remove_form": RemoveForm(review_round, but_not=myself, prefix="takes"),
    }
    return render(request, "annotation/rounds/reviewer.html", context)


def _parts(stored: dict[str, int]) -> list[tuple[str, int]]:
    """In the order of PARTS: PostgreSQL keeps an order of its own."""
    return [(label, stored[name]) for name, label in PARTS.items() if name in stored]


def _with_keys(assignments: list[Assignment], keys: dict[int, str]) -> list[dict[str, Any]]:
    """Each past review with its newest version, the older ones, and the key of its question."""
    asked = asked_by_forms()
    return [
        {
            "assignment": one,
            "blind": getattr(one, "blind_answer", None),
            "key": keys.get(one.revision_id, ""),
            "review": versions[0],
            "older": versions[1:],
            "time_flags": [flag.label for flag in TimeFlag if flag in versions[0].time_flags],
            "time_parts": _parts(versions[0].time_parts or {}),
            "flag_labels": [flag.label for flag in Flag if flag in versions[0].flags],
            "grades": [
                (name.label, _shown(versions[0].grades.get(name)))
                for name in GradeName
                if name in versions[0].grades or f"grade_{name.value}" in asked(versions[0].form, None, ())
            ],
        }
        for one in assignments
        if (versions := getattr(one, "versions", []))
    ]


def _shown(grade: int | str | None) -> str:
    if grade is None:
        return "–"  # an imported review may have none
    return str(grade) if isinstance(grade, int) else _("cannot judge")


@person_required
@never_cache
@require_GET
def round_export(request: AuthenticatedRequest, slug: str, form: str) -> FileResponse:
    """All reviews in one of the formats."""
    review_round = seen_round(request, slug)
    return reviews_file(review_round, form, by(request), source_ids="source_ids" in request.GET)


@person_required
@require_GET
def round_codebook(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What each column of the files means."""
    review_round = coordinated_round(request.user, slug)
    text = io.BytesIO()
    write_codebook(text, columns_of_reviews(review_round, source_ids=may_take_source_ids(review_round)))
    response = HttpResponse(text.getvalue(), content_type=CONTENT_TYPES[Format.CSV])
    response["Content-Disposition"] = f'attachment; filename="{review_round.slug}-codebook.csv"'
    return response

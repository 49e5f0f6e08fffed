"""What a round found as figures for its page and for a paper, and the words under them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.figures.kernels.forms import FigureForm, Width
from annotation.models import ReviewRound
from annotation.review.outcomes import Outcomes, round_outcomes
from annotation.statistics.kernels.issues import CountingRule


def outcomes_file(review_round: ReviewRound, rule: CountingRule, form: FigureForm, width: Width) -> bytes:
    """The issues of the paper and any flag at all, by this rule of counting; the same reviews give the same bytes."""
    from annotation.figures.kernels.issue_rates import Issue, outcomes_figure  # with matplotlib, slow to load
    from annotation.figures.kernels.saving import rendered

    found = round_outcomes(review_round, rule)
    issues = [Issue(_(row.issue.label), row.rate.share) for row in found.paper]
    issues.append(Issue(_("Any flag at all"), found.any_issue.share))
    return rendered(lambda: outcomes_figure(issues, width, simulated=review_round.simulated), form)


def outcomes_legend(review_round: ReviewRound, outcomes: Outcomes) -> str:
    """What stands under the figure."""
    sentences = [
        _("Expert-review outcomes: percent of the reviewed questions with each issue, and with any flag at all."),
        _("Bars: 95%% CI by Wilson. Issues do not exclude each other; a question has one when %(rule)s.")
        % {"rule": _(outcomes.rule.label)},
        _("%(reviewed)s of %(all)s questions reviewed, by %(reviews)s reviews. † small n.")
        % {"reviewed": outcomes.n_reviewed, "all": outcomes.n_questions, "reviews": outcomes.n_reviews},
    ]
    return " ".join([*sentences, *([_("Simulated data.")] if review_round.simulated else [])])


def grades_file(review_round: ReviewRound, form: FigureForm, width: Width) -> bytes:
    """How often each grade was given, from the newest versions; the same reviews give the same bytes."""
    from annotation.figures.kernels.grade_bars import Graded, grades_figure  # with matplotlib, slow to load
    from annotation.figures.kernels.saving import rendered

    grades = [
        Graded(_(one.name.label), dict(one.counts), one.median, one.n_cannot_judge)
        for one in round_outcomes(review_round).grades
    ]
    return rendered(lambda: grades_figure(grades, width, simulated=review_round.simulated), form)


def grades_legend(review_round: ReviewRound, outcomes: Outcomes) -> str:
    """What stands under the figure of the grades."""
    sentences = [
        _("Grades from 1, unusable, to 5, nothing to change: percent of the reviews that gave each."),
        _("%(reviews)s reviews of %(reviewed)s questions, the newest version of each.")
        % {"reviews": outcomes.n_reviews, "reviewed": outcomes.n_reviewed},
        _("Who could not judge is not among n."),
    ]
    return " ".join([*sentences, *([_("Simulated data.")] if review_round.simulated else [])])

"""The words of a stored analysis as people read them: reasons, cautions and rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.site.sentences import prose
from annotation.statistics.kernels.catalogue import Scale
from annotation.statistics.kernels.cautions import FLAGS, METHODS, REASONS
from annotation.statistics.kernels.estimate import SEEN_BEFORE, SETTINGS_DIFFER, Value
from annotation.tables.kernels.table import Column, Kind, Name, ShownEstimate, Table, TableCell
from readerstudy.analysis.kernels.labels import sensitivity_words
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis, StoredRater
from readerstudy.results.kernels.stored import NOT_COMPUTED, is_made_after_readings, post_hoc_models

OF_ALL = (SETTINGS_DIFFER, SEEN_BEFORE)  # of every value of an analysis: its headings say it


def caution(one: Value) -> str:
    """Why there is no value, or what to be careful about; empty when there is nothing to say."""
    words = [_reason(one["reason"], one["method"])] if one["reason"] else []
    names = [name for name in one["flags"] if name not in (one["reason"], *OF_ALL)]
    return ", ".join(words + [flag(name, one["method"]) for name in names])


def plan_kind(result: StoredAnalysis) -> str:
    """What the comparison with the readers is: the heading over it wherever it is shown."""
    if sensitivity_words(result["settings"]):
        return _("Sensitivity analysis, not planned")
    if result["plan"].get("seen_before"):
        return _("Post hoc comparison, since results over its readings had been seen")
    if result["plan"].get("late_readers"):  # by an earlier rule
        return _("Post hoc comparison, since readings were imported after results had been seen")
    if not result["plan"]["is_planned"]:
        return _("Post hoc comparison, since the plan names another one")
    return _("Plan made after the readings") if is_made_after_readings(result) else _("Planned comparison")


def came(model: StoredRater) -> str:
    """When the run of a post hoc model came in and became the main run; ``model`` as ``raters`` has it."""
    imported, named = model["imported_at"][:10], model["named_at"][:10]
    if model.get("planned_run_met") is False:
        return _("the plan names %(run)s, which was not there") % {"run": model["planned_run"]}
    if model.get("was_planned"):
        return _("run imported on %(imported)s, model renamed after results were seen") % {"imported": imported}
    if named in ("", imported):
        return _("run imported on %(imported)s") % {"imported": imported}
    return _("run imported on %(imported)s, made the main run on %(named)s") % {"imported": imported, "named": named}


COMPARISONS = ("by_question", "by_cluster", "t test")  # how the methods of multi-reader analyses begin
DRAWN = "bootstrap"  # how the methods of agreement begin whose limits are drawn


def _reason(code: str, method: str) -> str:
    """In words that fit the statistic, which ``method`` tells apart."""
    if method.startswith(COMPARISONS):
        found = {
            "no_variation": _("nothing differs between the raters or the questions"),
            "no_common_questions": _("no question that a reader and the model answered"),
            "one_rater": _("fewer than two readers"),
        }.get(code)
        if found:
            return found
    if code == "no_variation" and not method.startswith(DRAWN):
        return _("nothing differs between the raters or the questions")
    if code == "zero_trials" and method == "task_mean_wilson":
        return _("not every task or category has a question that counts")
    if code == "hidden":
        return _("not shown: too few questions")
    if code == NOT_COMPUTED:
        return _("not computed by the rule of this analysis")
    return _(REASONS[code].label) if code in REASONS else code


def flag(code: str, method: str = "") -> str:
    if code == "no_variation" and method.startswith(DRAWN):
        return _("everything or nothing agrees, so there is no interval")
    if code == "few_disagreements" and method.startswith("wilson"):
        return _("fewer than 5 disagreements")
    return _(FLAGS[code].label) if code in FLAGS else code


def method(name: str) -> str:
    """How an interval was made, or a value that has none."""
    return _(METHODS[name]) if name in METHODS else name


def methods(names: Iterable[str]) -> str:
    """Each of them once."""
    return _(" or ").join(dict.fromkeys(map(method, names)))


def sign(given: str) -> str:
    """The words for an answer without a counted option, see docs/analysis.md."""
    words = {
        "x": _("failed extraction"),
        "?": _("declined"),
        "t": _("time ended"),
        ".": _("missing"),
        " ": _("not in the set of this reader"),
    }
    return words.get(given) or _("too late: %(option)s") % {"option": given.upper()}


NAMES = {
    "wilson": "Wilson",
    "mcnemar exact": "exact McNemar test",
    "holm": "Holm",
    "never planned": "of which the plan names none, so that no p of a pair is shown",
}


def sentence(rule: str) -> str:
    """A rule of the settings, which are stored in small letters, as a sentence."""
    for stored, shown in NAMES.items():
        rule = rule.replace(stored, shown)
    return f"{rule[:1].upper()}{rule[1:]}."


# --- tables ---------------------------------------------------------------------------------------
def table_of(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[TableCell]],
    *,
    name: str = "",
    is_stacked: bool = False,
    **facts: Any,
) -> Table:
    """The table with its ``caption`` from templates: the first part stands everywhere, the second in print."""
    text, *note = prose(f"readerstudy/results/captions/{caption}.txt", **facts)
    return Table(name or caption, text, columns, rows, " ".join(note), is_stacked)


def shown(one: Value, scale: Scale, note: str = "", *, clustered: ShownEstimate | None = None) -> ShownEstimate:
    """An estimate as the cell of a table, with its caution."""
    return ShownEstimate(one, scale, caution(one), note, clustered=clustered)


def estimates(head: str, n: int | None = None, *, has_interval: bool = True) -> Column:
    return Column(head, Kind.ESTIMATE, n=n, has_interval=has_interval)


def rater_name(result: StoredAnalysis, name: str, note: str = "") -> Name:
    """The head of a row about this rater, which says of a model that it is post hoc."""
    is_late = name not in result["order"] or any(one["name"] == name for one in post_hoc_models(result))
    return Name(_("%(model)s (post hoc)") % {"model": name} if is_late else name, note)


def failed_rule(result: StoredAnalysis) -> str:
    is_wrong = result["settings"]["failed_in_accuracy"] == "wrong"
    return _("count as wrong") if is_wrong else _("are left out of accuracy")


def bootstrap_rule(result: StoredAnalysis) -> str:
    is_clustered = result["panels"][ALL_TASKS]["unit"] == "cluster"
    facts = {
        "units": _("patients or exams") if is_clustered else _("questions"),
        "draws": f"{result['settings']['draws']:,}",
        "seed": result["settings"]["seed"],
    }
    return _("95%% CI: percentile bootstrap over %(units)s, %(draws)s draws, seed %(seed)s, raters fixed.") % facts

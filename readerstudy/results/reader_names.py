"""What coordinators call readers on results pages and in figures: pseudonyms, or names where the frozen plan says so.

Whatever leaves the program by itself (JSON, exports, report, shared links) keeps pseudonyms: beside data under
pseudonyms, a named figure would tell whose they are.
"""

from __future__ import annotations

from collections import Counter

from readerstudy.design.kernels.rules import read_rules
from readerstudy.models import Analysis, Enrolment
from readerstudy.results.looking import stored_result


def reader_names(analysis: Analysis) -> dict[str, str]:
    """The names to show, by pseudonym; nobody where the study keeps pseudonyms.

    Only of readers who agreed, and have neither withdrawn nor been replaced. A name that is also that of another
    rater is not shown: it would not tell them apart.
    """
    if not read_rules(analysis.study.rules).reader_names:
        return {}
    agreed = Enrolment.objects.filter(
        study=analysis.study, reader__isnull=False, consented_at__isnull=False, withdrawn_at=None, replaced_at=None
    )
    names = {pseudonym: name.strip() for pseudonym, name in agreed.values_list("pseudonym", "reader__name")}
    raters = [one["name"] for one in stored_result(analysis)["raters"]]
    taken = Counter(name.casefold() for name in [*raters, *names.values()])
    return {pseudonym: name for pseudonym, name in names.items() if name and taken[name.casefold()] == 1}

"""A study of cases that somebody lists by name, as the command line does."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotation.models import QuestionBank
from annotation.site.slugs import listed
from readerstudy.design.case_names import Name
from readerstudy.design.case_rows import resolve
from readerstudy.design.kernels.analysis_plan import proposed_analysis
from readerstudy.design.kernels.plan import Plan, PlannedCase
from readerstudy.design.kernels.rules import Rules
from readerstudy.design.pool import is_accepted, mates_of_patient, verdicts_on
from readerstudy.study.locking import StudyRefused


def plan_of_list(
    bank: QuestionBank,
    names: Sequence[Name],
    *,
    name: str,
    source: str,
    practice: Sequence[Name] = (),
    accept_reason: str = "",
    seed: int = 1,
    n_readers: int = 3,
) -> Plan:
    """A plan for these questions. Raises StudyRefused, naming what is wrong.

    A question that nobody has reviewed is used because it is listed, and the reason says so. One whose reviews do not
    all accept it needs ``accept_reason``. Where a patient has several of the questions, the rules allow it: whoever
    lists cases has chosen them.
    """
    found = resolve(bank, [*names, *practice])
    verdicts = verdicts_on(bank)
    accepted = {one for one in found if is_accepted(verdicts.get(found[one]))}
    contested = [str(one) for one in found if one not in accepted and verdicts.get(found[one])]
    if contested and not accept_reason.strip():
        raise StudyRefused(
            "not_accepted",
            _("Reviews do not accept these questions: %(names)s. Leave them out, or give a reason to use them.")
            % {"names": listed(contested)},
        )
    reason = accept_reason.strip() or _("listed in %(file)s; not reviewed") % {"file": source}

    def planned(one: Name) -> PlannedCase:
        return PlannedCase(one, accepted_because="" if one in accepted else reason)

    several = mates_of_patient(bank, [found[one] for one in names])
    return Plan(
        name=name,
        bank=bank.slug,
        seed=seed,
        cases=tuple(planned(one) for one in names),
        practice=tuple(planned(one) for one in practice),
        rules=Rules(several_per_patient=bool(several)),
        analysis=proposed_analysis(n_readers),
        n_readers=n_readers,
    )

"""A closed study that was read in all ways, with its analysis; one model has a name that wants to be a formula."""

from __future__ import annotations

from typing import Any

from annotation.models import User
from annotation.tables.kernels.printing import tex
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.enums import StudyState
from readerstudy.exports.report_writing import printed_tables
from readerstudy.models import Analysis, ReaderStudy
from tests.annotation.review.cases import NOON
from tests.made_once import made_once
from tests.readerstudy.analysis.made import analyse_by, predict
from tests.readerstudy.exports.read_study import read_study, void

QUICK = Settings(seed=1, draws=100)
HOSTILE = "=cmd|'/C calc'!A1 & {100%}_\\~^$#"


@made_once
def reported_study(rita: User, remo: User, **fields: Any) -> ReaderStudy:
    """Rita has read eight cases, Remo has left; one case is voided before unblinding and one after."""
    study = read_study(rita, remo, **{"state": StudyState.CLOSED, **fields})
    predict(study, "Alpha", "BBxBBBB.", NOON)
    predict(study, "Alpha", "AAAAAAAA", NOON, is_named=False)
    predict(study, HOSTILE, "CCCCBBBB", NOON)
    first, second = study.cases.filter(block="main").order_by("number")[:2]
    void(first, reason="two options are right")
    void(second, before_unblinding=False, reason="+1 image is cut")
    return study


@made_once
def reported_analysis(rita: User, remo: User, **fields: Any) -> Analysis:
    analysis = analyse_by(QUICK, reported_study(rita, remo, **fields), at=NOON)
    analysis.study.refresh_from_db()
    return analysis


def printed_tex(result: Any) -> dict[str, str]:
    """The tables for print as LaTeX, by their names."""
    return {one.name: tex(one) for one in printed_tables(result)}

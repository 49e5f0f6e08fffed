"""Where results are looked at, which analysis is shown there, and what its readers are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from django.urls import reverse

from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.design.kernels.rules import read_rules
from readerstudy.models import Analysis, Enrolment, ReaderStudy
from readerstudy.results.kernels.stored import in_the_form_of_now, with_names
from readerstudy.unblinding.looks import may_see_results

KEPT = 4  # results that a process keeps decoded: up to some 30 MB each, of 41,007 questions


def newest_analysis(study: ReaderStudy) -> Analysis | None:
    return study.analyses.select_related("study").defer("result").first()


def is_seen(study: ReaderStudy) -> bool:
    """Whether pages show results by a plain link: they may be seen, and somebody has unblinded the study before."""
    return study.unblinded_at is not None and may_see_results(study)


def stored_result(analysis: Analysis) -> StoredAnalysis:
    """The decoded JSON: read-only, since other requests are shown the same object."""
    return _decoded(analysis.pk, analysis.result_sha256)


def named_result(analysis: Analysis, names: Mapping[str, str]) -> StoredAnalysis:
    """The same with these names in place of pseudonyms: read-only as well."""
    if not names:
        return stored_result(analysis)
    return _named(analysis.pk, analysis.result_sha256, tuple(sorted(names.items())))


@lru_cache(maxsize=KEPT)
def _named(pk: int, result_sha256: str, names: tuple[tuple[str, str], ...]) -> StoredAnalysis:
    return with_names(_decoded(pk, result_sha256), dict(names))


@lru_cache(maxsize=KEPT)
def _decoded(pk: int, result_sha256: str) -> StoredAnalysis:
    """Cached by the hash of its bytes, so that it is right whatever happens to the rows."""
    text = Analysis.objects.values_list("result", flat=True).get(pk=pk, result_sha256=result_sha256)
    return in_the_form_of_now(msgspec.json.decode(text))


def reader_names(analysis: Analysis) -> dict[str, str]:
    """The names to show, by pseudonym; nobody where the study keeps pseudonyms.

    Only of readers who agreed, and have neither withdrawn nor been replaced. A name that is also that of another
    rater is not shown: it would not tell them apart.
    """
    if not read_rules(analysis.study.rules).reader_names:
        return {}
    agreed = Enrolment.objects.filter(
        study=analysis.study, reader__isnull=False, consented_at__isnull=False, withdrawn_at=None, replaced_at=None
    ).filter(reader__removed_at=None)
    names = {pseudonym: name.strip() for pseudonym, name in agreed.values_list("pseudonym", "reader__name")}
    raters = [one["name"] for one in stored_result(analysis)["raters"]]
    taken = Counter(name.casefold() for name in [*raters, *names.values()])
    return {pseudonym: name for pseudonym, name in names.items() if name and taken[name.casefold()] == 1}


@dataclass(frozen=True)
class ResultsRoutes:
    """The addresses of the results pages, and the frame around them. A shared link leads to nothing else."""

    prefix: str
    place: tuple[str, ...]  # what every address begins with
    base: str  # the template that a page extends
    ends_at: datetime | None = None  # of a shared link

    @property
    def is_shared(self) -> bool:
        return self.ends_at is not None

    def to(self, page: str, *more: Any) -> str:
        """``page`` as the names of the addresses end: analysed, agreement, categories, times, figure."""
        return reverse(f"{self.prefix}-{page}", args=[*self.place, *more])


@dataclass(frozen=True)
class Seen:
    """A stored analysis that somebody may look at, and the addresses under which they see it."""

    routes: ResultsRoutes
    analysis: Analysis
    result: StoredAnalysis

    def context(self) -> dict[str, Any]:
        """What every results page needs."""
        return {"routes": self.routes, "study": self.analysis.study, "analysis": self.analysis, "result": self.result}


def inside(analysis: Analysis) -> ResultsRoutes:
    return ResultsRoutes("study", (analysis.study.slug, analysis.public_id), "base.html")


def by_link(token: str, ends_at: datetime) -> ResultsRoutes:
    return ResultsRoutes("shared", (token,), "readerstudy/sharing/base.html", ends_at)

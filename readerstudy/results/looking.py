"""The analysis that the results pages show: the newest one, or the one that an address names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.kernels.earlier import in_the_form_of_now
from readerstudy.results.kernels.stored import with_names
from readerstudy.unblinding.looks import may_see_results

KEPT = 4  # results that a process keeps decoded: up to some 30 MB each, of 41,007 questions


def newest_analysis(study: ReaderStudy) -> Analysis | None:
    return study.analyses.select_related("study").defer("result").first()


def is_seen(study: ReaderStudy) -> bool:
    """Whether pages show results by a plain link: they may be seen, and somebody has unblinded the study before."""
    return study.unblinded_at is not None and may_see_results(study)


def stored_result(analysis: Analysis) -> dict[str, Any]:
    """The decoded JSON: read-only, since other requests are shown the same object."""
    return _decoded(analysis.pk, analysis.result_sha256)


def named_result(analysis: Analysis, names: Mapping[str, str]) -> dict[str, Any]:
    """The same with these names in place of pseudonyms: read-only as well."""
    if not names:
        return stored_result(analysis)
    return _named(analysis.pk, analysis.result_sha256, tuple(sorted(names.items())))


@lru_cache(maxsize=KEPT)
def _named(pk: int, result_sha256: str, names: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return with_names(_decoded(pk, result_sha256), dict(names))


@lru_cache(maxsize=KEPT)
def _decoded(pk: int, result_sha256: str) -> dict[str, Any]:
    """Kept under the hash of its bytes, so that it is right whatever happens to the rows."""
    text = Analysis.objects.values_list("result", flat=True).get(pk=pk, result_sha256=result_sha256)
    return in_the_form_of_now(msgspec.json.decode(text))

"""Where results are looked at: inside, by the coordinators of a study, or by a link that was shared with somebody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from readerstudy.models import Analysis


@dataclass(frozen=True)
class Way:
    """The addresses of the results pages, and the frame around them. A shared way leads to nothing else."""

    prefix: str
    place: tuple[str, ...]  # what every address begins with
    base: str  # the template that a page extends
    ends_at: datetime | None = None  # of a shared way

    @property
    def is_shared(self) -> bool:
        return self.ends_at is not None

    def to(self, page: str, *more: Any) -> str:
        """``page`` as the names of the addresses end: analysed, agreement, categories, times, figure."""
        return reverse(f"{self.prefix}-{page}", args=[*self.place, *more])


@dataclass(frozen=True)
class Seen:
    """A stored analysis that somebody may look at, and the way on which they came."""

    way: Way
    analysis: Analysis
    result: dict[str, Any]

    def context(self) -> dict[str, Any]:
        """What every results page needs."""
        return {"way": self.way, "study": self.analysis.study, "analysis": self.analysis, "result": self.result}


def inside(analysis: Analysis) -> Way:
    return Way("study", (analysis.study.slug, analysis.public_id), "base.html")


def by_link(token: str, ends_at: datetime) -> Way:
    return Way("shared", (token,), "readerstudy/sharing/base.html", ends_at)

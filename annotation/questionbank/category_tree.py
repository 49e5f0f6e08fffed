"""The categories of a bank as a tree: tasks, their categories, subcategories and classes, each with its questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.enums import Task
from annotation.models import QuestionBank
from annotation.questionbank.filters import NO_CATEGORY, BankSearch
from annotation.questionbank.listing import MOST_LISTED

LEVELS = ("task", "category", "subcategory", "question_class")
KEPT_SECONDS = 300  # of a large bank


@dataclass(eq=False)
class Branch:
    """One value of a level, with what divides it further; ``query`` finds its questions in the list of the bank."""

    words: str
    query: str
    n: int = 0
    branches: dict[str, Branch] = field(default_factory=dict)

    @property
    def divisions(self) -> list[Branch]:
        """By name, what is unknown last; none where nothing divides this one."""
        found = sorted(self.branches.items(), key=lambda one: (not one[0], one[1].words.casefold()))
        return [branch for _name, branch in found] if any(self.branches) else []


def category_tree(bank: QuestionBank) -> Branch:
    """The whole bank, counted by one query; of a large bank as of some minutes ago."""
    key = f"category-tree:{bank.pk}"
    counts: list[tuple[Any, ...]] | None = cache.get(key)
    if counts is None:
        rows = BankSearch(bank, {}).revisions().order_by().values_list(*LEVELS)
        counts = list(rows.annotate(n=Count("pk")))
        cache.set(key, counts, KEPT_SECONDS if sum(row[-1] for row in counts) > MOST_LISTED else 0)
    whole = Branch(bank.name, "")
    for *values, n in counts:
        branch, wanted = whole, {}
        branch.n += n
        for level, value in zip(LEVELS, values, strict=True):
            wanted[level] = value or NO_CATEGORY
            words = _(Task(value).label) if level == "task" else value or _("unknown")
            branch = branch.branches.setdefault(value, Branch(words, urlencode(wanted)))
            branch.n += n
    return whole

"""Filters of the questions of a bank: each with its choices, its part of the query, and its sentence.

Rooms and apps above add theirs: what reviewers flagged, which models failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, TypeVar

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, F, Func, Q, QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.contributions import contributed
from annotation.enums import Difficulty, ImportKind, ImportState, QuestionState, Split, Task
from annotation.models import BankImport, GenerationRun, Question, QuestionBank, Revision, User
from annotation.models.fields import folded
from annotation.questionbank.priors import exams_with_keys, questions_with_keys
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import along_indexes

ANY = "any"
UNKNOWN = "unknown"
NO_CATEGORY = "(none)"
Choices = list[tuple[str, str]]
Label = Any  # a lazy text, which form fields take
Kept = TypeVar("Kept")
Rows = QuerySet[Revision]
Sought = tuple[str, QuerySet[Any, Any]]  # a lookup on revisions, and the ids for it


class NotByIndex(Func):
    """A column by whose index SQLite must not find rows.

    PostgreSQL chooses by its statistics of the column, which it has of no expression: there it is used as it is.
    """

    template = "%(expressions)s"

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="+%(expressions)s", **extra)


@dataclass(frozen=True)
class BankSearch:
    """What is looked for in a bank, and who looks.

    Without a person, only what every coordinator may know counts: what is stored of a search is read by all of them.
    """

    bank: QuestionBank
    wanted: Mapping[str, str]  # the names of filters, and their values
    person: User | None = None
    kept: dict[str, Any] = field(default_factory=dict, compare=False)  # what filters ask once

    @cached_property
    def imports(self) -> list[BankImport]:
        """The published ones, the newest first."""
        found = BankImport.objects.filter(bank=self.bank, state=ImportState.PUBLISHED).select_related("actor")
        return list(found.order_by("-finished_at"))

    @property
    def files(self) -> list[BankImport]:
        """What people edited is no import of a file."""
        return [one for one in self.imports if one.kind != ImportKind.EDITS]

    def asking(self, wanted: Mapping[str, str]) -> BankSearch:
        """For something else in the same bank."""
        other = replace(self, wanted=wanted)
        vars(other)["imports"] = self.imports
        return other

    def also(self, name: str, value: str) -> BankSearch:
        """With one more filter."""
        return self.asking({**self.wanted, name: value})

    def rows(self) -> Rows:
        """Current revisions, as Revision.objects.current() has them, but never found by their import.

        One import may have brought the whole bank: its index would lead to every question and a sort of them all.
        """
        published = [one.pk for one in self.imports]
        rows = Revision.objects.alias(brought_by=NotByIndex(F("bank_import_id")))
        return rows.filter(Q(superseded_by=None) | ~Q(superseded_by__in=published), brought_by__in=published)

    def narrowed(self, rows: Rows, *, without: str = "") -> Rows:
        """The rows that every filter lets through."""
        for name, value in self.wanted.items():
            if name != without:
                rows = bank_filters()[name].narrow(rows, self, value)
        return rows

    def revisions(self) -> Rows:
        """Everything that is found, however long that takes."""
        return self.narrowed(self.rows().filter(bank=self.bank))

    def sentences(self) -> list[tuple[str, str]]:
        """Each filter by its name, and in words."""
        return [
            (name, bank_filters()[name].sentence(self, value))
            for name, value in self.wanted.items()
            if name in bank_filters()
        ]


class BankFilter(Struct, frozen=True, kw_only=True):
    """One filter for questions. ``seek`` is how an index finds what it lets through, where there is one."""

    name: str  # in the address
    label: Label
    choices: Callable[[BankSearch], Choices] | None = None  # None: free words
    narrow: Callable[[Rows, BankSearch, str], Rows]
    seek: Callable[[BankSearch, str], Sought | None] = lambda _search, _value: None
    of_coordinators: bool = False  # what it says may tell the key
    column: str = ""  # of a revision: the list can be sorted by it, in the order of the choices
    empty: str = ""  # the value that means an empty field

    def stored(self, value: str) -> str:
        """The values of the field."""
        return "" if value == self.empty else value

    def groups(self, search: BankSearch) -> list[str]:
        """The values in their order."""
        return [value for value, _words in self.choices(search)] if self.choices else []

    def sentence(self, search: BankSearch, value: str) -> str:
        words = f"“{value}”" if self.choices is None else dict(self.choices(search)).get(value, value)
        return f"{self.label}: {words}"


@lru_cache
def bank_filters() -> dict[str, BankFilter]:
    """By name: those of the fields, then what other rooms and apps add."""
    return {one.name: one for one in (*_OWN, *contributed().bank_filters)}


def filters_for(person: User) -> list[BankFilter]:
    return [one for one in bank_filters().values() if not one.of_coordinators or is_coordinator(person)]


def _field_filter(
    name: str, label: Label, choices: Callable[[BankSearch], Choices], *, empty: str = "", is_indexed: bool = True
) -> BankFilter:
    """Of a column of revisions. Where it only narrows, its index is kept out: another one leads to the rows."""

    def narrow(rows: Rows, _search: BankSearch, value: str) -> Rows:
        return rows.alias(**{f"plain_{name}": NotByIndex(F(name))}).filter(
            **{f"plain_{name}": "" if value == empty else value}
        )

    def seek(search: BankSearch, value: str) -> Sought | None:
        if not is_indexed:
            return None
        found = Revision.objects.filter(bank=search.bank, **{name: "" if value == empty else value})
        return "question__in", found.order_by("question_id").values("question")

    return BankFilter(name=name, label=label, choices=choices, narrow=narrow, seek=seek, column=name, empty=empty)


def in_state(bank: QuestionBank, state: str) -> QuerySet[Question]:
    """From the index that leaves out what is as it was imported, which it is asked to leave out."""
    return Question.objects.filter(bank=bank, state=state).exclude(state=QuestionState.IMPORTED).order_by()


def _seek_state(search: BankSearch, value: str) -> Sought | None:
    return None if value == QuestionState.IMPORTED else ("question__in", in_state(search.bank, value).values("pk"))


def _labelled(words: type[Task] | type[QuestionState]) -> Callable[[BankSearch], Choices]:
    return lambda _search: [(word.value, _(word.label)) for word in words]


def in_split(bank: QuestionBank, split: str) -> QuerySet[Question]:
    """Which came in with it. From an index that leaves out what came in with none, which it is asked to leave out."""
    return Question.objects.filter(bank=bank, split=split, split__gt="")


def counted_splits(search: BankSearch) -> list[tuple[Split, int]]:
    """How many questions came in with each split that there is; kept until the next import."""
    with_split = Question.objects.filter(bank=search.bank, split__gt="").order_by().values_list("split")
    counts = _kept(search, "splits", lambda: dict(with_split.annotate(n=Count("pk"))))
    return [(one, counts[one]) for one in Split if one in counts]


def _runs(search: BankSearch) -> QuerySet[GenerationRun]:
    """In which a model wrote questions, the newest first."""
    made = [one for one in search.imports if one.kind == ImportKind.GENERATED]
    return GenerationRun.objects.filter(bank=search.bank, bank_import__in=made).order_by("-created_at")


def _generated(search: BankSearch) -> Choices:
    return [(one.public_id, date_format(localtime(one.created_at), "DATETIME_FORMAT")) for one in _runs(search)]


def _in_run(rows: Rows, search: BankSearch, value: str) -> Rows:
    return rows.filter(question__in=_written(search, value)[1])


def _written(search: BankSearch, value: str) -> Sought:
    """Also those that were reworded since."""
    came = _runs(search).filter(public_id=value).order_by().values("bank_import")
    return "question__in", Revision.objects.filter(bank=search.bank, bank_import__in=came).order_by().values("question")


def _difficulties(_search: BankSearch) -> Choices:
    known = [(word.value, _(word.label)) for word in Difficulty if word.value]
    return [*known, (UNKNOWN, _("unknown"))]


def categories_of(bank_id: int) -> list[str]:
    """The categories in use in a bank, in order; one step in the index for each, so a large bank costs no more."""
    rows = Revision.objects.filter(bank=bank_id).order_by("category").values_list("category", flat=True)
    known, step = list[str](), rows.filter(category__gt="").first()
    while step is not None:
        known.append(step)
        step = rows.filter(category__gt=step).first()
    return known


def _categories(search: BankSearch) -> Choices:
    """Kept until the next import or edit."""

    def find() -> list[str]:
        known = categories_of(search.bank.pk)
        return [*known, ""] if Revision.objects.filter(bank=search.bank, category="").exists() else known

    return _kept_choices(search, "categories", find)


def _kept(search: BankSearch, name: str, find: Callable[[], Kept]) -> Kept:
    newest = max((one.heartbeat_at.timestamp() for one in search.imports), default=0)  # what people edited, too
    key = f"{name}:{search.bank.pk}:{newest}"
    known: Kept | None = cache.get(key)
    if known is None:
        known = find()
        cache.set(key, known, 3600)
    return known


def _kept_choices(search: BankSearch, name: str, find: Callable[[], list[str]]) -> Choices:
    """By name, what is empty last."""
    known = _kept(search, name, lambda: sorted(find(), key=lambda one: (not one, one.casefold())))
    return [(one or NO_CATEGORY, one or _("unknown")) for one in known]


def _within_category(name: str, label: Label) -> BankFilter:
    """A column that divides a category further: it can be chosen once the category is."""

    def choices(search: BankSearch) -> Choices:
        category = search.wanted.get("category")
        if not category:
            return []
        rows = Revision.objects.filter(
            bank=search.bank, category=bank_filters()["category"].stored(category)
        ).order_by()
        digest = sha256(category.encode()).hexdigest()
        found = _kept_choices(search, f"{name}:{digest}", lambda: list(rows.values_list(name, flat=True).distinct()))
        return found if found != [(NO_CATEGORY, _("unknown"))] else []

    return _field_filter(name, label, choices, empty=NO_CATEGORY, is_indexed=False)


def look_up_words(search: BankSearch, most: int) -> bool:
    """Whether the index of words finds at most so many questions: they are what the filter gives from then on.

    Asked for what is rare: of a common word the index would give every question.
    """
    words = folded(search.wanted.get("q", "")) or ""
    if not re.search(r"[^\W_]{3}", words):
        return False  # the index is by three letters in a row
    if connection.vendor == "postgresql":
        index, sought = "rexvqa_folded(stem) LIKE %s", f"%{connection.ops.prep_for_like_query(words)}%"
    else:
        index = "id IN (SELECT rowid FROM annotation_revision_words WHERE annotation_revision_words MATCH %s)"
        threes = (words[at : at + 3].replace('"', '""') for at in range(len(words) - 2))
        sought = " AND ".join(f'"{one}"' for one in threes)
    with along_indexes(), connection.cursor() as cursor:
        sql = f"SELECT question_id FROM annotation_revision WHERE {index} AND bank_id + 0 = %s LIMIT {most + 1}"  # noqa: S608
        cursor.execute(sql, [sought, search.bank.pk])
        found = [row[0] for row in cursor.fetchall()]
    if len(found) <= most:
        search.kept["q"] = found
    return len(found) <= most


def _seek_words(search: BankSearch, _value: str) -> Sought | None:
    if "q" not in search.kept:
        return None
    return "question__in", Question.objects.filter(pk__in=search.kept["q"]).order_by().values("pk")


def _seek_own_id(search: BankSearch, value: str) -> Sought:
    """What the question or its exam is called at its source."""
    if "own_id" not in search.kept:
        of_question = questions_with_keys(search.bank.pk, [value])
        search.kept["own_id"] = [*of_question.values()], [*exams_with_keys(search.bank.pk, [value]).values()]
    questions, exams = search.kept["own_id"]
    found = Question.objects.filter(Q(pk__in=questions) | Q(exam__in=exams), bank=search.bank)
    return "question__in", found.order_by().values("pk")


_OWN = (
    BankFilter(
        name="q",
        label=gettext_lazy("Words in the question"),
        narrow=lambda rows, _search, value: rows.filter(Q(stem__holds=value)),
        seek=_seek_words,
    ),
    BankFilter(
        name="own_id",
        label=gettext_lazy("Own id of a question or an exam"),
        narrow=lambda rows, search, value: rows.filter(question__in=_seek_own_id(search, value)[1]),
        seek=_seek_own_id,
        of_coordinators=True,
    ),
    _field_filter("task", gettext_lazy("Task"), _labelled(Task)),
    _field_filter("category", gettext_lazy("Category"), _categories, empty=NO_CATEGORY),
    _within_category("subcategory", gettext_lazy("Subcategory")),
    _within_category("question_class", gettext_lazy("Class")),
    _field_filter(  # half of a bank is of one difficulty: an index would not help
        "difficulty", gettext_lazy("Difficulty"), _difficulties, empty=UNKNOWN, is_indexed=False
    ),
    BankFilter(
        name="state",
        label=gettext_lazy("State"),
        choices=_labelled(QuestionState),
        narrow=lambda rows, _search, value: rows.filter(question__state=value),
        seek=_seek_state,
        column="question__state",
    ),
    BankFilter(
        name="split",
        label=gettext_lazy("Split as imported"),
        choices=lambda search: [(split.value, _(split.label)) for split, _n in counted_splits(search)],
        narrow=lambda rows, _search, value: rows.filter(question__split=value),
        seek=lambda search, value: ("question__in", in_split(search.bank, value).order_by().values("pk")),
    ),
    BankFilter(
        name="written", label=gettext_lazy("Written by a model"), choices=_generated, narrow=_in_run, seek=_written
    ),
)

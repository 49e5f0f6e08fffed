"""Questions of a bank listed in its orders, with counts and the tree of its categories.

What at most MOST_LISTED questions come through (of one filter with an index, or of the whole bank) is listed as a
whole: it has a count, and every order. Of more, a page is read along an index: in the order of numbers, or group by
group in the order of a column. Where further filters narrow what the index gives, at most WINDOW questions are looked
at for a page; words that are rare there are found by the index of words, and else the page says how far it has looked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Count, F, OuterRef, Prefetch, QuerySet, Subquery
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import replace

from annotation.enums import QuestionState, RenditionKind, Task
from annotation.models import BankImport, Image, Question, QuestionBank, Rendition, Revision
from annotation.questionbank.filters import NO_CATEGORY, BankSearch, NotByIndex, bank_filters, look_up_words
from annotation.site.sorted_tables import Sorting
from annotation.tables.kernels.forms import FigureForm, Width

PER_PAGE = 50
MOST_LISTED = 5_000
WINDOW = 5_000
SORTED_BY = dict.fromkeys(("number", "task", "category", "difficulty", "state"))
INDEXED = ("category", "task")  # columns of revisions, the one with more values first
_MOST_QUERIES = 2  # for the rows of a page that is read along an index
_BEYOND = 2**62  # no id is as high


class PageStart(Struct, frozen=True):
    """Where a page begins: after a question number or before one, in a group where the list is sorted by a column."""

    after: int = 0
    before: int | None = None
    group: str = ""

    @property
    def is_backward(self) -> bool:
        return self.before is not None

    @property
    def number(self) -> int:
        return self.after if self.before is None else self.before

    @property
    def is_start(self) -> bool:
        return self.before is None and not self.after


class QuestionPage(Struct):
    """Revisions in their order, the places of the pages beside it, and what is known of the whole."""

    revisions: list[Revision] = field(default_factory=list)
    last_number: int = 0  # of the bank
    previous: PageStart | None = None
    next: PageStart | None = None
    n_found: int | None = None  # None: more than are counted for a page
    first: int = 0  # which of those found
    is_many: bool = False  # more than MOST_LISTED
    looked_to: int | None = None  # the number at which looking stopped before the page was full

    @property
    def last(self) -> int:
        return self.first + len(self.revisions) - 1


class _PageRequest(Struct, frozen=True):
    """What is asked for, and what one query says before rows are read."""

    search: BankSearch
    column: str  # of a filter; empty: by number
    is_down: bool  # the order of the list
    place: PageStart
    last_number: int = 0
    edge: int | None = None  # the id of the question beyond which the page begins; None: at the end
    far: int | None = None  # of the question that is WINDOW numbers away from it
    few: str | None = None  # a filter through which at most MOST_LISTED questions come
    is_small: bool = False  # the bank holds at most MOST_LISTED
    per_page: int = PER_PAGE

    @property
    def moves_down(self) -> bool:
        """Whether rows are read from higher numbers to lower ones."""
        return self.is_down != self.place.is_backward


def questions_page(
    search: BankSearch, sorting: Sorting, place: PageStart, *, per_page: int | None = None
) -> QuestionPage:
    """The page that begins at the place; nonsense in a place shows the first page or the last."""
    column = sorting.column if sorting.column in bank_filters() else ""
    asked = _with_bounds(_PageRequest(search, column, sorting.is_down, place, per_page=per_page or PER_PAGE))
    if asked.is_small or asked.few is not None:
        return _listed(asked)
    page = _walked(asked)
    if page.looked_to is not None and look_up_words(search, MOST_LISTED):
        return _listed(replace(asked, few="q"))
    return page


def _with_bounds(asked: _PageRequest) -> _PageRequest:
    search = asked.search
    questions = Question.objects.filter(bank=search.bank)
    start = min(max(asked.place.number, 0), 2**31 - WINDOW - 1)
    up, down = questions.order_by("number"), questions.order_by("-number")
    if asked.moves_down:
        edge, far = up.filter(number__gte=start), up.filter(number__gte=start - WINDOW)
    else:
        edge, far = down.filter(number__lte=start), down.filter(number__lte=start + WINDOW)
    subqueries: dict[str, QuerySet[Any, Any]] = {
        "last": down.values("number")[:1],
        "edge": edge.values("pk")[:1],
        "far": far.values("pk")[:1],
    }
    for name, value in search.wanted.items():
        if found := bank_filters()[name].seek(search, value):
            subqueries[f"more than {name}"] = found[1][MOST_LISTED : MOST_LISTED + 1]
    row = QuestionBank.everywhere.filter(pk=search.bank.pk).values_list(
        *[Subquery(one) for one in subqueries.values()]
    )[0]
    found_by_name = dict(zip(subqueries, row, strict=True))
    few = [name for name in search.wanted if found_by_name.get(f"more than {name}", 0) is None]
    return replace(
        asked,
        last_number=found_by_name["last"] or 0,
        edge=None if asked.place.is_start else found_by_name["edge"],
        far=found_by_name["far"],
        few=few[-1] if few else None,
        is_small=(found_by_name["last"] or 0) <= MOST_LISTED,
    )


# --- all that is found ----------------------------------------------------------------------------
def _listed(asked: _PageRequest) -> QuestionPage:
    """Order the ids of everything that is found, and take a page out of them."""
    search, page = asked.search, QuestionPage(last_number=asked.last_number)
    by = bank_filters()[asked.column] if asked.column else None
    values = _few_rows(asked).order_by().values_list("question_id", "pk", *([by.column] if by else []))
    groups = by.groups(search) if by else []
    rank = {value: n for n, value in enumerate(groups)}
    sign = -1 if asked.is_down else 1
    found = sorted(
        (sign * (rank.get(group[0] or by.empty, len(rank)) if by else 0), sign * question, pk)
        for question, pk, *group in values
    )
    start, end = _slice([(one, other) for one, other, _pk in found], asked, rank)
    page.n_found, page.first = len(found), start + 1
    page.revisions = _shown([pk for _rank, _question, pk in found[start:end]])
    names = [*groups, ""] if by else [""]
    if page.revisions and start > 0:
        page.previous = PageStart(
            before=page.revisions[0].question.number, group=names[sign * found[start][0]] if by else ""
        )
    if page.revisions and end < len(found):
        page.next = PageStart(after=page.revisions[-1].question.number, group=names[sign * found[end - 1][0]])
    return page


def _few_rows(asked: _PageRequest) -> QuerySet[Revision]:
    search = asked.search
    rows = search.rows().filter(bank=search.bank)
    if asked.few is None:
        return search.narrowed(rows)
    if asked.few in INDEXED:
        rows = rows.filter(**{asked.few: bank_filters()[asked.few].stored(search.wanted[asked.few])})
    elif sought := bank_filters()[asked.few].seek(search, search.wanted[asked.few]):
        rows = search.rows().filter(**{sought[0]: sought[1]})
    return search.narrowed(rows, without="" if asked.few == "q" else asked.few)  # words may be in an older wording


def _slice(keys: list[tuple[int, int]], asked: _PageRequest, rank: dict[str, int]) -> tuple[int, int]:
    """Which ones are on the page; the place may be that of a question which is not among them any more."""
    if asked.place.is_start:
        return 0, min(asked.per_page, len(keys))
    sign = -1 if asked.is_down else 1
    edge = asked.edge if asked.edge is not None else _BEYOND if asked.moves_down else 0
    key = (sign * (rank.get(asked.place.group, len(rank)) if rank else 0), sign * edge)
    if asked.place.is_backward:
        start = max(0, bisect_left(keys, key) - asked.per_page)
        end = bisect_left(keys, key) or asked.per_page
        return start, min(end, len(keys))
    start = bisect_right(keys, key)
    return start, min(start + asked.per_page, len(keys))


# --- along an index -------------------------------------------------------------------------------
class _IndexSpan(Struct, frozen=True):
    """Ids of revisions along an index; ``far`` is the number at which it ends before its group does."""

    found: list[int]
    far: int | None = None
    n_queries: int = 1


def _walked(asked: _PageRequest) -> QuestionPage:
    """Group after group until the page is full or enough was asked."""
    search, column, place = asked.search, asked.column, asked.place
    groups = _groups(asked)
    at = groups.index(place.group) if place.group in groups else 0
    found: list[tuple[str, int]] = []
    left, n, far = _MOST_QUERIES, at, None
    for n in range(at, len(groups)):
        span = _span(asked, search.also(column, groups[n]) if column else search, is_first=n == at)
        found += [(groups[n], pk) for pk in span.found]
        left, far = left - span.n_queries, span.far
        if len(found) > asked.per_page or far is not None or left < span.n_queries:
            break
    is_full = len(found) > asked.per_page
    found = found[: asked.per_page]
    page = QuestionPage(_shown([pk for _group, pk in found]), asked.last_number)
    page.looked_to = None if is_full else far
    if is_full:
        page.next = _onward(asked, page.revisions[-1].question.number, found[-1][0])
    elif far is not None:
        page.next = _onward(asked, far, groups[n])
    elif n + 1 < len(groups):
        page.next = _onward(
            asked, asked.last_number + 1 if place.is_backward and asked.moves_down else 0, groups[n + 1]
        )
    if at > 0 or not place.is_start:
        number, group = (page.revisions[0].question.number, found[0][0]) if found else (place.number, place.group)
        page.previous = PageStart(number, None, group) if place.is_backward else PageStart(0, number, group)
    if place.is_backward:
        page.revisions.reverse()
        page.previous, page.next = page.next, page.previous
    _count(page, asked)
    return page


def _groups(asked: _PageRequest) -> list[str]:
    """In the order in which they are read."""
    column, wanted = asked.column, asked.search.wanted
    if not column:
        return [""]
    groups = [wanted[column]] if column in wanted else bank_filters()[column].groups(asked.search)
    return groups[::-1] if asked.moves_down else groups


def _onward(asked: _PageRequest, number: int, group: str) -> PageStart:
    is_backward = asked.place.is_backward
    return PageStart(before=number, group=group) if is_backward else PageStart(after=number, group=group)


def _span(asked: _PageRequest, search: BankSearch, *, is_first: bool) -> _IndexSpan:
    """One more than a page of the rows of a group, beyond the edge in the first group."""
    edge = asked.edge if is_first else None
    indexed = next((name for name in INDEXED if name in search.wanted), "")
    if indexed:
        rows, far, far_number, n_queries = _along(asked, search, indexed, edge)
    elif set(search.wanted) == {"state"} and search.wanted["state"] != QuestionState.IMPORTED:
        start = asked.place.number if is_first and not asked.place.is_start else None
        return _in_state(asked, search, start)
    else:
        rows, far, far_number, n_queries = _by_number(asked, search, is_first=is_first)
    some = search.narrowed(_beyond(rows, edge, far, down=asked.moves_down), without=indexed)
    some = some.order_by("-question_id" if asked.moves_down else "question_id")
    return _IndexSpan(list(some.values_list("pk", flat=True)[: asked.per_page + 1]), far_number, n_queries)


def _beyond(rows: QuerySet[Revision], edge: int | None, far: int | None, *, down: bool) -> QuerySet[Revision]:
    """Between the edge, which is left out, and the last question to look at."""
    if edge is not None:
        rows = rows.filter(question_id__lt=edge) if down else rows.filter(question_id__gt=edge)
    if far is not None:
        rows = rows.filter(question_id__gte=far) if down else rows.filter(question_id__lte=far)
    return rows


_Rows = tuple[QuerySet[Revision], int | None, int | None, int]  # with the id and the number to which is looked


def _along(asked: _PageRequest, search: BankSearch, name: str, edge: int | None) -> _Rows:
    """The index of a column; to the WINDOW-th of its questions where other filters narrow them."""
    value = bank_filters()[name].stored(search.wanted[name])
    rows = search.rows().filter(bank=search.bank, **{name: value})
    if len(search.wanted) == 1:
        return rows, None, None, 1
    inside = _beyond(Revision.objects.filter(bank=search.bank, **{name: value}), edge, None, down=asked.moves_down)
    inside = inside.order_by("-question_id" if asked.moves_down else "question_id")
    last = Question.objects.filter(pk=Subquery(inside.values("question_id")[WINDOW : WINDOW + 1]))
    far, number = last.values_list("pk", "number").first() or (None, None)
    return rows, far, number, 2


def _by_number(asked: _PageRequest, search: BankSearch, *, is_first: bool) -> _Rows:
    """The next WINDOW numbers of the bank."""
    place, end = asked.place, asked.last_number
    rows = search.rows().alias(of_bank=NotByIndex(F("bank_id"))).filter(of_bank=search.bank.pk)
    down = asked.moves_down
    known = is_first and not place.is_start and place.number <= end + 1
    start = place.number if known else end + 1 if down else place.number if is_first else 0
    number = start - WINDOW if down else start + WINDOW
    if number <= 1 if down else number >= end:
        return rows, None, None, 1
    if known or (is_first and not down):
        return rows, asked.far, number, 1
    questions = Question.objects.filter(bank=search.bank, **{"number__gte" if down else "number__lte": number})
    far = questions.order_by("number" if down else "-number").values_list("pk", flat=True).first()
    return rows, far, number, 2


def _in_state(asked: _PageRequest, search: BankSearch, start: int | None) -> _IndexSpan:
    """Questions first: their states are in an index with their numbers."""
    sought = bank_filters()["state"].seek(search, search.wanted["state"])
    questions: QuerySet[Question] = sought[1] if sought else Question.objects.none()
    down = asked.moves_down
    if start is not None:
        questions = questions.filter(number__lt=start) if down else questions.filter(number__gt=start)
    ids = questions.order_by("-number" if down else "number")[: asked.per_page + 1]
    rows = search.rows().filter(question__in=ids).order_by("-question_id" if down else "question_id")
    return _IndexSpan(list(rows.values_list("pk", flat=True)))


def _count(page: QuestionPage, asked: _PageRequest) -> None:
    """What is known without counting: everything, or that it is more than the most that are counted."""
    wanted = asked.search.wanted
    if not wanted:
        page.n_found = asked.last_number
    if not wanted and not asked.column and page.revisions:
        number = page.revisions[0].question.number
        page.first = asked.last_number - number + 1 if asked.is_down else number
    page.is_many = len(wanted) == 1 and all(bank_filters()[name].seek(asked.search, wanted[name]) for name in wanted)


# --- rows -----------------------------------------------------------------------------------------
def _shown(pks: list[int]) -> list[Revision]:
    """Revisions in this order, each with the images of its exam; previews of those that may be shown."""
    previews = Rendition.objects.filter(kind=RenditionKind.PREVIEW, image=OuterRef("pk")).values("name")[:1]
    images = Image.objects.order_by("position", "id").only("exam_id", "public_id", "view_position", "state")
    of_exam = Prefetch("question__exam__images", images.annotate(preview=Subquery(previews)))
    found = Revision.objects.select_related("question__exam").prefetch_related(of_exam).in_bulk(pks)
    return [found[pk] for pk in pks]


def n_questions(files: Iterable[BankImport]) -> int:
    """How many questions these imports brought; counting the rows would take longer with every import."""
    return sum(row.result.get("created", 0) for row in files)


LEVELS = ("task", "category", "subcategory", "question_class")
KEPT_SECONDS = 300  # of a large bank


class Branch(Struct, eq=False):
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


def taxonomy_file(bank: QuestionBank, form: FigureForm, width: Width) -> bytes:
    """The domains of the bank, which are its tasks, the largest first, and the categories of each, as a figure."""
    from annotation.tables.kernels.row_figures import Domain, taxonomy_figure  # with matplotlib, slow to load
    from annotation.tables.kernels.style import rendered

    tasks = sorted(category_tree(bank).branches.values(), key=lambda one: -one.n)
    domains = [Domain(one.words, one.n, [(part.words, part.n) for part in one.branches.values()]) for one in tasks]
    words, others = (_("Questions"), "%"), _("%(n)s other categories")
    return rendered(lambda: taxonomy_figure(domains, width, words, simulated=bank.simulated, others=others), form)

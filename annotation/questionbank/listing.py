"""Questions of a bank by page: filtered, in the order of their numbers, at a cost that does not grow with the bank.

A page starts after (or ends before) a question number. Where one index serves the filter, the page is read from it;
where more must be looked at than an index can narrow (text in the stem, difficulty, two filters at once), at most
WINDOW questions are looked at per page, and the page says how far it has looked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from django.core.cache import cache
from django.core.paginator import Paginator
from django.db.models import Exists, F, Max, Min, OuterRef, Prefetch, Q, QuerySet
from django.db.models.functions import Lower

from annotation.enums import Difficulty, ImageState, ImportKind, ImportState, QuestionState
from annotation.models import BankImport, Finding, Image, Question, QuestionBank, Revision
from annotation.site.sorted_tables import Columns, Sorting, by_rank

PER_PAGE = 50
WINDOW = 10_000
ANY = "any"
SORTED_BY: Columns = {
    "number": "question__number",
    "task": "task",
    "category": Lower("category"),
    "difficulty": by_rank("difficulty", Difficulty.values()),
    "state": by_rank("question__state", QuestionState.values()),
}


@dataclass(frozen=True, slots=True)
class QuestionFilter:
    """What to look for; "" asks for nothing. ``difficulty`` may also be "unknown"."""

    task: str = ""
    category: str = ""
    difficulty: str = ""
    text: str = ""
    state: str = ""
    finding: str = ""  # a rule of the checks, or "any": not dismissed

    def is_empty(self) -> bool:
        return self == QuestionFilter()

    def needs_window(self) -> bool:
        """Whether no index finds the questions directly."""
        indexed = sum(map(bool, (self.task, self.category, self.state)))
        return bool(self.difficulty or self.text or self.finding or indexed > 1)


@dataclass(slots=True)
class QuestionPage:
    """Revisions in the order of their questions; ``looked_to`` is the last number that was looked at."""

    revisions: list[Revision] = field(default_factory=list)
    last_number: int = 0  # of the bank
    has_previous: bool = False
    has_next: bool = False
    first: int = 0
    last: int = 0
    looked_to: int | None = None  # only where the search stopped before the page was full


def questions_page(
    bank: QuestionBank, wanted: QuestionFilter, *, after: int = 0, before: int | None = None
) -> QuestionPage:
    """The page that follows the number ``after``, or the one that precedes ``before``."""
    last_number = _last_number(bank)
    backward = before is not None
    start = min(before, last_number + 1) if before is not None else min(max(after, 0), last_number)
    if wanted.is_empty() or wanted.needs_window():
        found, looked_to = _look(bank, wanted, start, backward=backward, last_number=last_number)
    else:
        found, looked_to = _seek(bank, wanted, start, backward=backward), None
    more = len(found) > PER_PAGE
    found = found[:PER_PAGE]
    if backward:
        found.reverse()
    page = QuestionPage(found, last_number)
    page.first = found[0].question.number if found else start
    page.last = found[-1].question.number if found else start
    goes_on = more or looked_to is not None
    page.has_next = backward or goes_on
    page.has_previous = goes_on if backward else start > 0
    if looked_to is not None and not more:
        page.looked_to = looked_to
        page.first, page.last = (looked_to, page.last) if backward else (page.first, looked_to)
    return page


def _last_number(bank: QuestionBank) -> int:
    return Question.objects.filter(bank=bank).aggregate(last=Max("number"))["last"] or 0


def sorted_page(bank: QuestionBank, wanted: QuestionFilter, sorting: Sorting, number: int) -> QuestionPage | None:
    """The page of this number in the order of a column; None for a bank of more than WINDOW questions."""
    last_number = _last_number(bank)
    if last_number > WINDOW:
        return None
    rows = sorting.of_rows(_filtered(_rows(bank).filter(bank=bank), wanted).order_by("question_id"), SORTED_BY)
    found = Paginator(rows, PER_PAGE).get_page(number)
    page = QuestionPage(list(found), last_number, found.has_previous(), found.has_next())
    page.first, page.last = found.start_index(), found.end_index()
    return page


def _rows(bank: QuestionBank) -> QuerySet[Revision]:
    """Current revisions, as Revision.objects.current() has them, but never found by their import.

    One import may have brought the whole bank: its index would lead to every question and a sort of them all.
    """
    images = Prefetch(
        "question__exam__images", Image.objects.order_by("position", "id").only("exam_id", "view_position", "state")
    )
    published = list(BankImport.objects.filter(bank=bank, state=ImportState.PUBLISHED).values_list("pk", flat=True))
    rows = Revision.objects.alias(brought_by=F("bank_import_id") + 0).filter(
        Q(superseded_by=None) | ~Q(superseded_by__in=published), brought_by__in=published
    )
    return rows.select_related("question").prefetch_related(images)


def _seek(bank: QuestionBank, wanted: QuestionFilter, start: int, *, backward: bool) -> list[Revision]:
    """One more than a page, read from the index of the one filter."""
    if wanted.state:
        return _seek_state(bank, wanted.state, start, backward=backward)
    rows = _rows(bank).filter(bank=bank)
    rows = rows.filter(task=wanted.task) if wanted.task else rows.filter(category=wanted.category)
    edge = _question_id(bank, start, backward=backward)
    if edge is not None:
        rows = rows.filter(question_id__lt=edge) if backward else rows.filter(question_id__gt=edge)
    return list(rows.order_by("-question_id" if backward else "question_id")[: PER_PAGE + 1])


def _seek_state(bank: QuestionBank, state: str, start: int, *, backward: bool) -> list[Revision]:
    """Questions first: their states are in an index with their numbers."""
    questions = Question.objects.filter(bank=bank, state=state)
    side = questions.filter(number__lt=start) if backward else questions.filter(number__gt=start)
    ids = side.order_by("-number" if backward else "number").values_list("pk", flat=True)[: PER_PAGE + 1]
    return list(_rows(bank).filter(question__in=list(ids)).order_by("-question_id" if backward else "question_id"))


def _question_id(bank: QuestionBank, number: int, *, backward: bool) -> int | None:
    """The id of the question with this number, or of the nearest one on the side that is not looked at."""
    questions = Question.objects.filter(bank=bank)
    side = questions.filter(number__gte=number) if backward else questions.filter(number__lte=number)
    return side.order_by("number" if backward else "-number").values_list("pk", flat=True).first()


def _look(
    bank: QuestionBank, wanted: QuestionFilter, start: int, *, backward: bool, last_number: int
) -> tuple[list[Revision], int | None]:
    """One more than a page out of the next WINDOW questions, and where looking stopped if it stopped early."""
    size = PER_PAGE + 1 if wanted.is_empty() else WINDOW
    low, high = (start - size, start - 1) if backward else (start + 1, start + size)
    numbers = Question.objects.filter(bank=bank, number__gte=low, number__lte=high)
    ids = numbers.aggregate(low=Min("pk"), high=Max("pk"))
    if ids["low"] is None:
        return [], None
    rows = _rows(bank).filter(question_id__gte=ids["low"], question_id__lte=ids["high"])
    rows = _filtered(rows, wanted).order_by("-question_id" if backward else "question_id")
    found = [row for row in rows[: PER_PAGE + 1] if row.bank_id == bank.pk]
    ended = low <= 1 if backward else high >= last_number
    if len(found) > PER_PAGE or (ended and not wanted.is_empty()):
        return found, None
    if wanted.is_empty():
        return found, None
    return found, (low if backward else high)


def _filtered(rows: QuerySet[Revision], wanted: QuestionFilter) -> QuerySet[Revision]:
    if wanted.task:
        rows = rows.filter(task=wanted.task)
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    if wanted.difficulty:
        rows = rows.filter(difficulty="" if wanted.difficulty == "unknown" else wanted.difficulty)
    if wanted.text:
        rows = rows.filter(stem__icontains=wanted.text)
    if wanted.state:
        rows = rows.filter(question__state=wanted.state)
    if wanted.finding:
        found = Finding.objects.filter(revision=OuterRef("pk"), dismissed_at=None)
        rows = rows.filter(Exists(found if wanted.finding == ANY else found.filter(rule=wanted.finding)))
    return rows


def categories_of(bank: QuestionBank) -> list[str]:
    """Categories of the bank in order, each found by one step along the index; kept until the next import."""
    newest = published_imports(bank).values_list("pk", flat=True).first()
    name = f"categories:{bank.pk}:{newest}"
    known: list[str] | None = cache.get(name)
    if known is None:
        known = []
        rows = Revision.objects.filter(bank=bank).order_by("category").values_list("category", flat=True)
        step = rows.filter(category__gt="").first()
        while step is not None:
            known.append(step)
            step = rows.filter(category__gt=step).first()
        cache.set(name, known, 3600)
    return known


def published_imports(bank: QuestionBank) -> QuerySet[BankImport]:
    """Of files. What people edited is no import."""
    files = BankImport.objects.filter(bank=bank, kind=ImportKind.FILE, state=ImportState.PUBLISHED)
    return files.order_by("-finished_at")


def n_questions(bank: QuestionBank) -> int:
    """How many questions the published imports brought; counting the rows would take longer with every import."""
    return sum(row.result.get("created", 0) for row in published_imports(bank))


def n_missing_images(bank: QuestionBank) -> int:
    """Images that questions name and whose files have not come in; of a large bank as of some minutes ago."""
    missing = Image.objects.filter(exam__bank=bank, state=ImageState.PENDING)
    if n_questions(bank) <= WINDOW:
        return missing.count()
    name = f"missing:{bank.pk}"
    known: int | None = cache.get(name)
    if known is None:
        known = missing.count()
        cache.set(name, known, 300)
    return known

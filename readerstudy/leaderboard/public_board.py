"""The public board: a folder of files that any web server gives out, made from what editions stored.

No number is computed here. The same benchmark gives the same bytes on the same day: a day counts only where the name of
a team shows from it on. Pages are in English, without a script, and lead only to each other and to links of teams.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation
from msgspec import Struct

from annotation.audit.recording import record
from annotation.exports.bank_export import whole_folder
from annotation.models import User
from annotation.site import home_files
from annotation.tables.kernels.forms import FigureForm
from annotation.tables.kernels.style import rendered
from annotation.tables.writing import Format, write_table
from readerstudy.leaderboard.editions import check_has_results, folder_here, give_out
from readerstudy.leaderboard.kernels import statement
from readerstudy.leaderboard.kernels.board import TASK_MEAN
from readerstudy.leaderboard.kernels.board_files import (
    BOARD_SCHEMA,
    CSV_COLUMNS,
    as_json,
    badge,
    board_figure,
    cell_lines,
    citation,
    csv_rows,
    interval_words,
    rows_of,
    shown,
    sums,
    told_tasks,
    unit_words,
)
from readerstudy.leaderboard.kernels.release_rule import ALL, FEWEST
from readerstudy.models import Benchmark, EditionResult, Submission
from readerstudy.predictions.kernels.records import without_hidden

PAGES = "readerstudy/leaderboard/public"
SUMS = "SHA256SUMS"


class ShownNote(Struct, frozen=True):
    day: str
    text: str
    entry: str  # "": about the benchmark


class ShownEntry(Struct, frozen=True, kw_only=True):
    """What is shown of a submission beside its numbers."""

    id: str
    name: str
    team: str
    institution: str = ""
    link: str = ""
    anonymous_until: str = ""
    received_on: str
    withdrawn_on: str = ""
    withdrawn_because: str = ""


class Address(Struct, frozen=True):
    label: str
    href: str
    is_here: bool = False


def publish(benchmark: Benchmark, folder: Path, *, actor: User | None = None, at: datetime) -> list[str]:
    """Write the board into a new or an empty folder, whole or not at all. Raises ExportRefused."""
    files = files_of(benchmark, on=at.astimezone(UTC).date())
    with whole_folder(folder) as part:
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for path in (part, *part.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # a web server of its own reads it
    facts = {"sha256": hashlib.sha256(files[SUMS]).hexdigest(), "files": len(files)}
    with transaction.atomic():
        record("leaderboard.published", actor=actor, at=at, subject=benchmark, facts=facts)
    return list(files)


def publish_here(benchmark: Benchmark, *, actor: User | None, at: datetime) -> list[str]:
    """As the folder that the site gives out: whoever reads it meets the old one or the new one, whole."""
    place = folder_here(benchmark)
    place.parent.mkdir(exist_ok=True)
    fresh = place.with_name(f".{benchmark.slug}-{at:%Y%m%d%H%M%S%f}")
    written = publish(benchmark, fresh, actor=actor, at=at)
    home_files.hand_over(fresh)
    give_out(benchmark.slug)
    return written


def files_of(benchmark: Benchmark, *, on: date) -> dict[str, bytes]:
    """All files of the board as of a day, by their names. Raises LeaderboardRefused without a published edition."""
    check_has_results(benchmark)
    with translation.override("en"):
        files = dict(PublicBoard(benchmark, on).files())
    return {**files, SUMS: sums(files)}


class Published(Struct, frozen=True):
    """One result of an edition, and where it stands."""

    edition: int
    version: int
    scored_on: str
    result: dict[str, Any]
    path: str  # of its page, without the name of the file

    @property
    def root(self) -> str:
        return "../" * self.path.count("/")


class PublicBoard:
    """Everything that the files hold, in a dozen queries."""

    def __init__(self, benchmark: Benchmark, on: date) -> None:
        self.benchmark, self.on = benchmark, on

    @cached_property
    def results(self) -> list[Published]:
        rows = EditionResult.objects.filter(edition__benchmark=self.benchmark).select_related("edition", "version")
        found: list[Published] = []
        for one in rows.order_by("edition__number", "scored_at", "version__number"):
            path = f"editions/{one.edition.number}/"
            if any(other.path == path for other in found):
                path = f"{path}version-{one.version.number}/"
            day, result = f"{one.scored_at.astimezone(UTC):%Y-%m-%d}", msgspec.json.decode(one.result)
            found.append(Published(one.edition.number, one.version.number, day, result, path))
        return found

    @cached_property
    def newest(self) -> Published:
        """Of the newest edition the result on the newest version."""
        return max(self.results, key=lambda one: (one.edition, one.version))

    @cached_property
    def due(self) -> dict[int, str]:
        return {one.number: one.due_on.isoformat() for one in self.benchmark.editions.all()}

    @cached_property
    def submissions(self) -> dict[str, Submission]:
        ids = {one["entry"] for published in self.results for one in published.result["entries"]}
        rows = Submission.objects.filter(public_id__in=ids).select_related("team", "statement")
        return {one.public_id: one for one in rows.order_by("public_id")}

    @cached_property
    def entries(self) -> dict[str, ShownEntry]:
        number = {team.pk: place for place, team in enumerate(self.benchmark.teams.order_by("pk"), start=1)}
        return {name: self._shown(one, number[one.team_id]) for name, one in self.submissions.items()}

    @cached_property
    def notes(self) -> list[ShownNote]:
        rows = self.benchmark.notes.order_by("pk").values_list("made_at", "text", "submission__public_id")
        return [ShownNote(_day(at), text, entry or "") for at, text, entry in rows]

    def _shown(self, one: Submission, number: int) -> ShownEntry:
        team, answers = one.team, answers_of(one)
        about: dict[str, Any] = {"id": one.public_id, "received_on": _day(one.received_at)}
        if one.withdrawn_at:
            about |= {"withdrawn_on": _day(one.withdrawn_at), "withdrawn_because": one.withdrawn_because}
        if team.anonymous_until is not None and self.on < team.anonymous_until:
            name, until = f"Anonymous entry {number}", str(team.anonymous_until)
            return ShownEntry(name=name, team=f"anonymous until {until}", anonymous_until=until, **about)
        named = " ".join(without_hidden(str(answers.get(part) or "")) for part in ("model", "version")).strip()
        return ShownEntry(
            name=named or without_hidden(team.name),
            team=without_hidden(team.name),
            institution=without_hidden(team.institution),
            link=team.link if team.link.startswith(("https://", "http://")) else "",
            **about,
        )

    # --- files ------------------------------------------------------------------------------------
    def files(self) -> Iterator[tuple[str, bytes]]:
        yield "board.css", (Path(__file__).parent / "board.css").read_bytes()
        yield "board.schema.json", as_json(BOARD_SCHEMA)
        for one in self.results:
            yield f"{one.path}index.html", self._board(one, one.root, "", [])
            yield f"{one.path}board.svg", self._figure(one)
        yield from self._newest()
        for name in self.entries:
            yield from self._entry(name)
        yield "board.csv", self._csv()
        yield "board.json", as_json(self._json())
        newest = self.newest
        about = (self.benchmark.name, self.benchmark.contact, newest.scored_on, newest.edition)
        yield "CITATION.cff", citation(*about, newest.result["protocol_sha256"])

    def _newest(self) -> Iterator[tuple[str, bytes]]:
        """The newest edition, once for each order."""
        orders = self._orders(self.newest.result)
        yield "board.svg", self._figure(self.newest)
        for order, (_label, name) in orders.items():
            sorts = [Address(text, to, is_here=to == name) for text, to in orders.values()]
            yield name, self._board(self.newest, "", order, sorts)

    def _orders(self, result: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        """Label and name of the file of each; the first one is what a board opens with."""
        orders = {"name": ("name", "index.html"), "date": ("date", "by-date.html")}
        if _is_told(result):
            orders = {ALL: ("accuracy", "index.html"), **orders, "name": ("name", "by-name.html")}
        for cell in told_tasks(result):
            orders[cell["name"]] = (cell["label"], f"by-{cell['name'].replace(':', '-')}.html")
        return orders

    def _ordered(self, result: Mapping[str, Any], order: str) -> list[dict[str, Any]]:
        """By a rounded number, the highest first, and by name; where it is not told by name alone."""

        def place(one: Mapping[str, Any]) -> tuple[Any, ...]:
            shown_entry = self.entries[one["entry"]]
            told = one["numbers"].get(order)
            first = shown_entry.received_on if order == "date" else -told["value"] if told else 0.0
            return (first, shown_entry.name.casefold(), one["entry"])

        return sorted(result["entries"], key=place)

    def _board(self, one: Published, root: str, order: str, sorts: Sequence[Address]) -> bytes:
        result = one.result
        rows = rows_of(result, self._ordered(result, order or ALL), self.entries, self._n_notes)
        context = {
            **self._about(root),
            "published": one,
            "result": result,
            "rows": rows,
            "tasks": told_tasks(result),
            "has_without_images": any(row["without_images"] for row in rows),
            "has_read": any(row["on_read"] for row in rows),
            "is_told": _is_told(result),
            "interval": interval_words(result),
            "units": unit_words(result),
            "sorts": sorts,
            "editions": self._editions(one, root),
            "cells": cell_lines(result, self.due),
            "n_small": sum(cell["n"] < FEWEST for cell in result["cells"]),
            "comes_next": any(cell["next"] for cell in result["cells"]),
            "commonest": shown(result["commonest"]),
            "readers": shown(result["readers"]),
            "studies": [(n, shown(study)) for n, study in enumerate((result["readers"] or {}).get("studies", ()), 1)],
            "notes": [(note, self.entries.get(note.entry)) for note in self.notes],
            "changes": self._versions[one.version].changes,
            "address": one.path if root == "" else "",
        }
        return _page("board.html", context)

    def _about(self, root: str) -> dict[str, Any]:
        return {"root": root, "benchmark": self.benchmark, "simulated": self.benchmark.bank.simulated}

    def _editions(self, here: Published, root: str) -> list[Address]:
        several = {one.edition for one in self.results if one.path.count("/") > 2}
        labels = {
            one.path: f"Edition {one.edition}" + (f", version {one.version}" if one.edition in several else "")
            for one in self.results
        }
        return [Address(labels[one.path], f"{root}{one.path}", is_here=one is here) for one in self.results]

    @cached_property
    def _versions(self) -> dict[int, Any]:
        return {one.number: one for one in self.benchmark.versions.all()}

    @cached_property
    def _n_notes(self) -> Counter[str]:
        return Counter(note.entry for note in self.notes)

    def _figure(self, one: Published) -> bytes:
        names = {
            name: f"{entry.name} (withdrawn)" if entry.withdrawn_on else entry.name
            for name, entry in self.entries.items()
        }
        result = {**one.result, "entries": self._ordered(one.result, ALL)}
        return rendered(lambda: board_figure(result, names), FigureForm.SVG)

    def _entry(self, name: str) -> Iterator[tuple[str, bytes]]:
        entry, submission = self.entries[name], self.submissions[name]
        answers = answers_of(submission)
        said = statement.shown(answers, anonymous=bool(entry.anonymous_until))
        found = [(one, own) for one in self.results for own in one.result["entries"] if own["entry"] == name]
        context = {
            **self._about("../../"),
            "entry": entry,
            "statement": [(asked.label, text) for asked, text in said if text],
            "statement_number": submission.statement.number if submission.statement else None,
            "results": [
                (one, *rows_of(one.result, [own], self.entries, self._n_notes), cell_lines(one.result, self.due, own))
                for one, own in found
            ],
            "interval": interval_words(found[-1][0].result),
            "notes": [note for note in self.notes if note.entry == name],
        }
        folder = f"entries/{name}/"
        yield f"{folder}index.html", _page("entry.html", context)
        if not entry.anonymous_until:
            about = self.benchmark
            card = statement.model_card(
                answers,
                [result for one, own in found for result in _of_card(one, own)],
                team=entry.team,
                benchmark=about.name,
                slug=about.slug,
                version=found[-1][0].version,
            )
            yield f"{folder}README.md", card.encode()
        one, own = found[-1]
        yield f"badges/{name}.svg", badge(f"{self.benchmark.name}, edition {one.edition}", _badge_words(entry, own))

    def _csv(self) -> bytes:
        file = io.BytesIO()
        rows = (row for one in self.results for row in csv_rows(one.result, self.entries))
        write_table(file, CSV_COLUMNS, rows, Format.CSV)
        return file.getvalue()

    def _json(self) -> dict[str, Any]:
        benchmark = self.benchmark
        versions = [
            {"version": one.number, "protocol_sha256": one.protocol_sha256, "changes": one.changes}
            for one in self._versions.values()
        ]
        about = {"name": benchmark.name, "slug": benchmark.slug, "about": benchmark.about, "contact": benchmark.contact}
        return {
            "benchmark": {**about, "simulated": benchmark.bank.simulated, "versions": versions, "editions": self.due},
            "results": [{**one.result, "path": one.path, "scored_on": one.scored_on} for one in self.results],
            "entries": msgspec.to_builtins(self.entries),
            "notes": msgspec.to_builtins(self.notes),
        }


def _is_told(result: Mapping[str, Any]) -> bool:
    """The accuracy over all questions."""
    return any(cell["name"] == ALL and cell["is_told"] for cell in result["cells"])


def _of_card(one: Published, own: Mapping[str, Any]) -> Iterator[statement.CardResult]:
    """What a model card says of an entry: the numbers that an edition told."""
    for what, told in {**own["numbers"], TASK_MEAN: own[TASK_MEAN]}.items():
        if told:
            yield f"Accuracy, {what}, edition {one.edition} on version {one.version}", told


def answers_of(one: Submission) -> dict[str, Any]:
    """Of a statement that a coordinator has passed."""
    return one.statement.answers if one.statement and one.statement.passed_at else {}


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def _badge_words(entry: ShownEntry, own: Mapping[str, Any]) -> str:
    told = own["numbers"].get(ALL)
    if entry.withdrawn_on:
        return f"withdrawn {entry.withdrawn_on}"
    if not told:
        return "scored"
    limits = "" if told["low"] is None else f" ({told['low']:.1f}, {told['high']:.1f})"
    return f"{told['value']:.1f} %{limits}"


def _page(template: str, context: dict[str, Any]) -> bytes:
    """Lines without what templates leave of their own lines."""
    text = render_to_string(f"{PAGES}/{template}", context)
    return "".join(f"{line.strip()}\n" for line in text.splitlines() if line.strip()).encode()

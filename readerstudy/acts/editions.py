"""What coordinators do with editions of a leaderboard, its versions and its public board."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act, Confirmation
from annotation.models import User
from readerstudy.acts.benchmarks import run_benchmark
from readerstudy.forms.editions import NoteForm, VersionForm
from readerstudy.leaderboard.board_jobs import ask_to_publish, ask_to_verify
from readerstudy.leaderboard.editions import (
    check_may_confirm,
    confirm_edition,
    entries_of,
    propose_edition,
    score_again,
    take_back_edition,
)
from readerstudy.leaderboard.versions import add_note, make_new_version
from readerstudy.models import Benchmark, Edition

PAGE = "leaderboard-editions"


class EditionAct(Act[Edition]):
    found_by = ("slug", "number")

    @classmethod
    def find(cls, person: User, **named: Any) -> Edition:
        benchmark = run_benchmark(person, named["slug"])
        return get_object_or_404(benchmark.editions.select_related("benchmark"), number=named["number"])

    def page(self) -> str:
        return reverse(PAGE, args=[self.thing.benchmark.slug])


class ProposeEdition(EditionAct):
    """Say, once its date is over, that an edition can be scored. Another coordinator confirms."""

    name, route, summary = "leaderboard-edition-propose", "propose/", "Propose an edition of a leaderboard"
    do, done = propose_edition, gettext_lazy("The edition is proposed. Another coordinator confirms it.")


class TakeBackEdition(EditionAct):
    """As if nobody had proposed the edition."""

    name, route, summary = "leaderboard-edition-take-back", "take-back/", "Take the proposal of an edition back"
    do, done = take_back_edition, gettext_lazy("The proposal is taken back.")


class ConfirmEdition(EditionAct):
    """The second person. A job then scores every named submission at once, and writes the public board."""

    name, route, summary = "leaderboard-edition-confirm", "confirm/", "Confirm and score an edition of a leaderboard"
    do, done = confirm_edition, gettext_lazy("The edition is confirmed. A job scores it and writes the public board.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
        check_may_confirm(self.thing, actor=self.person, at=at)
        names = [str(one.team) for one in entries_of(self.thing, at)]
        sentences = [
            _("Scored at once: %(n)s, of %(teams)s.") % {"n": len(names), "teams": ", ".join(sorted(names))},
            _("Its numbers are published at once, and stand for ever."),
        ]
        return Confirmation(
            about=self.thing.benchmark.name,
            title=_("Score and publish edition %(n)s?") % {"n": self.thing.number},
            sentences=sentences,
            label=_("Score and publish"),
            back=self.page(),
            is_danger=False,
        )


class ScoreAgain(EditionAct):
    """Score the newest published edition on the newest version of the benchmark, beside what was published."""

    name, route, summary = "leaderboard-edition-score-again", "score-again/", "Score an edition on the newest version"
    do, done = score_again, gettext_lazy("A job scores the edition on the newest version.")


class BoardAct(Act[Benchmark]):
    then = PAGE

    @classmethod
    def find(cls, person: User, **named: Any) -> Benchmark:
        return run_benchmark(person, named["slug"])


class PublishBoard(BoardAct):
    """A job writes the public board anew, with what was withdrawn or noted since."""

    name, route, summary = "leaderboard-publish", "publish/", "Write the public board of a leaderboard"
    do, done = ask_to_publish, gettext_lazy("A job writes the public board.")


class VerifyBoard(BoardAct):
    """A job computes every published number again and compares rows, answers, keys and files."""

    name, route, summary = "leaderboard-verify", "verify/", "Verify what a leaderboard published"
    do, done = ask_to_verify, gettext_lazy("A job verifies what was published.")


class MakeVersion(BoardAct):
    """The next version of the benchmark, with what was withdrawn or corrected in its bank since the newest one."""

    name, route, summary = "leaderboard-version-make", "new-version/", "Make the next version of a benchmark"
    do, form, done = make_new_version, VersionForm, gettext_lazy("The next version is made.")


class AddNote(BoardAct):
    """A dispute or a correction that everybody reads beside an entry or the benchmark."""

    name, route, summary = "leaderboard-note", "note/", "Add a note to a leaderboard"
    do, form, done = add_note, NoteForm, gettext_lazy("The note is stored. It shows once the board is written again.")


EDITION_ACTS: tuple[type[EditionAct], ...] = (ProposeEdition, TakeBackEdition, ConfirmEdition, ScoreAgain)
BOARD_ACTS: tuple[type[BoardAct], ...] = (PublishBoard, VerifyBoard, MakeVersion, AddNote)

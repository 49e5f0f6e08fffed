"""What every command of ours does with an act that is refused, and with a file that cannot be read or written."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from annotation.refusals import Refused

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


@contextlib.contextmanager
def progress_bar(
    words: str, column: type[ProgressColumn], *, quiet: bool
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error, where a person is looking: what to call with how much is done, and how much there is."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # takes 5 MB, and workers show no bar
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), column(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(words)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@dataclass(frozen=True)
class ShownProgress:
    """The progress of a job, on the bar of a command."""

    show: Callable[[int, int], None] | None

    def report(self, done: int, total: int, message: str = "") -> None:
        if self.show:
            self.show(done, total)


def cap_written(text: str | None) -> Decimal | None:
    """What ``--max-cost`` says. Raises CommandError for what is no number."""
    try:
        cap = Decimal(text) if text is not None else None
    except InvalidOperation:
        cap = Decimal("NaN")
    if cap is not None and not cap.is_finite():
        raise CommandError(_("--max-cost: a number, such as 12.50."), returncode=2)
    return cap


class ActCommand(BaseCommand):
    """Calls acts of rooms. A refusal is printed in one line, with status 2; nothing was stored then.

    ``unchanged`` says so in the words of the command, such as "Nothing was written.".
    """

    unchanged = "Nothing was stored."
    requires_system_checks = ()  # they load every page, which takes half of a short command; make lint runs them

    def answer(self, options: Mapping[str, Any], facts: Callable[[], object], text: Callable[[], str]) -> None:
        """As JSON and nothing else where ``--json`` asks for it, else in words, unless nothing is to be said."""
        if options["json"]:
            self.stdout.write(json.dumps(facts(), ensure_ascii=False, indent=1))
        elif options["verbosity"]:
            self.stdout.write(text())

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refused as refusal:
            raise CommandError(f"{refusal} {self.unchanged}".strip(), returncode=2) from refusal
        except OSError as failure:
            reason = failure.strerror or str(failure)
            named = f"{failure.filename}: {reason}" if failure.filename else reason
            raise CommandError(f"{named}. {self.unchanged}".strip(), returncode=2) from failure

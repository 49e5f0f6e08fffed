"""Which studies and analyses a person may see, and what a coordinator does with a study, and for its readers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.acts import Act, Confirmation, Thing
from annotation.acts.rounds import EndForm
from annotation.models import User
from annotation.models.fields import AsRead
from annotation.refusals import Refused
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sentences import time_text
from annotation.site.sorted_tables import Columns, by_rank
from readerstudy.conducting.lifecycle import archive, bring_back, close_study, open_study
from readerstudy.design.freezing import freeze_study
from readerstudy.enrolment.inviting import dismiss_coordinator, name_coordinator
from readerstudy.enrolment.participation import withdraw
from readerstudy.enrolment.reader_status import (
    check_extends,
    check_extends_reader,
    extend_reader,
    extend_study,
    remind_reader,
    remind_unfinished,
)
from readerstudy.enums import StudyState
from readerstudy.forms.studies import CoordinatorForm, DeadlineForm, FreezeForm, ReasonForm
from readerstudy.models import Analysis, Enrolment, ReaderStudy, ResultsLink
from readerstudy.predictions.looks import is_seen
from readerstudy.reading.case_opening import let_pass
from readerstudy.results.looking import links_of, restore_link, revoke_link
from readerstudy.study.overview import deadline_text, studies_known_to, study_deadline_text, unfinished
from readerstudy.study.permissions import knows_study, may_coordinate_study


def named_study(slug: str) -> ReaderStudy:
    return get_object_or_404(ReaderStudy.objects.select_related("bank", "created_by", "copy_of"), slug=slug)


def coordinated_study(person: User, slug: str) -> ReaderStudy:
    """The study, for its coordinators; administrators know it and may not, to everybody else it does not exist."""
    study = named_study(slug)
    if may_coordinate_study(person, study):
        return study
    if knows_study(person, study):
        raise PermissionDenied(_("This is for the coordinators of the study."))
    raise Http404


def overseen_study(person: User, slug: str) -> ReaderStudy:
    """The study, for its coordinators, and for administrators to look at."""
    study = named_study(slug)
    if knows_study(person, study):
        return study
    raise Http404


def listed_studies(person: User) -> QuerySet[ReaderStudy]:
    """The studies that a person knows. Raises PermissionDenied for whoever coordinates none."""
    known = studies_known_to(person)
    if not is_coordinator(person) and not is_administrator(person) and not known.exists():
        raise PermissionDenied(_("This page is for people who coordinate a reader study."))
    return known


def seen_analysis(person: User, slug: str, public_id: str) -> Analysis:
    """Raises Http404 for strangers and another study, PermissionDenied while results are hidden."""
    study = coordinated_study(person, slug)
    check_seen(study)
    known = Analysis.objects.select_related("created_by").defer("result")
    analysis = get_object_or_404(known, study=study, public_id=public_id)
    analysis.study = study
    return analysis


def check_seen(study: ReaderStudy) -> None:
    """The first look at results is never a plain link or a GET. Raises PermissionDenied before it."""
    if not is_seen(study):
        raise PermissionDenied(_("The results of this study have not been looked at yet. Begin at its page “Results”."))


STUDIES_SORTED_BY: Columns = {
    "study": AsRead("name"),
    "state": by_rank("state", StudyState.values()),
    "bank": AsRead("bank__name"),
    "made": "created_at",
}


def reader_of(study: ReaderStudy, public_id: str) -> Enrolment:
    """Raises Http404 for a reader of another study."""
    rows = Enrolment.objects.select_related("study", "reader", "case_set")
    return get_object_or_404(rows, study=study, public_id=public_id)


class _InStudy(Act[Thing]):
    """What it asks stands under the name of the study."""

    asking = "readerstudy/design/confirm.html"

    @property
    def study(self) -> ReaderStudy:
        raise NotImplementedError

    def around(self) -> dict[str, Any]:
        return {"study": self.study}


class StudyAct(_InStudy[ReaderStudy]):
    then: ClassVar[str] = "study"  # the page on which one reads what was done

    @classmethod
    def find(cls, person: User, **named: Any) -> ReaderStudy:
        return coordinated_study(person, named["slug"])

    @property
    def study(self) -> ReaderStudy:
        return self.thing

    def page(self) -> str:
        return reverse(self.then, args=[self.thing.slug])


class _Asked(StudyAct):
    """Asks first, with a title that the button repeats."""

    title: ClassVar[str | Promise]
    follows: ClassVar[tuple[str | Promise, ...]]

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        sentences, title = [str(one) for one in self.follows], str(self.title)
        return Confirmation(title=title, sentences=sentences, label=title, back=self.page(), is_danger=False)


class FreezeStudy(StudyAct):
    """From now on nothing of the design changes. Refused with everything that is in the way. Where readers see
    indications somebody has to read these first: such a study is frozen on its page.
    """

    name, route, summary = "study-freeze", "freeze/", "Freeze a study"
    do, form = freeze_study, FreezeForm
    done = gettext_lazy("The design is frozen. Invite readers, then open the study.")


class OpenStudy(_Asked):
    """Readers read from now on. Opening an open study changes nothing."""

    name, route, summary = "study-open", "open/", "Open a study"
    do = open_study
    done = gettext_lazy("The study is open: its readers can read now.")
    title = gettext_lazy("Open the study")
    follows = (
        gettext_lazy("Once the study is open, every invited reader can begin. A submitted answer is final."),
        gettext_lazy(
            "Results stay hidden until the study is closed. To see them before takes a reason, which is recorded."
        ),
    )


class CloseStudy(StudyAct):
    """Nothing is read from now on, and the analysis is asked for. Closing twice changes nothing."""

    name, route, summary = "study-close", "close/", "Close a study"
    do, form = close_study, EndForm
    done = gettext_lazy("The study is closed.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        return self._ask(unfinished(self.thing).count())

    def confirmation_after(self, refusal: Refused) -> Confirmation | None:
        return self._ask(refusal.facts["n_open"]) if refusal.code == "not_complete" else None

    def _ask(self, n_open: int) -> Confirmation:
        sentences = [_("After closing nobody can answer any more, and a closed study does not open again.")]
        label = _("Close the study")
        if n_open:
            sentence = ngettext("%(n)d reader is not done yet.", "%(n)d readers are not done yet.", n_open)
            sentences.insert(0, sentence % {"n": n_open})
            label = ngettext("Close without %(n)d reader", "Close without %(n)d readers", n_open) % {"n": n_open}
        title, sent = _("Close the study"), {"confirmed_open": n_open}
        return Confirmation(title=title, sentences=sentences, label=label, back=self.page(), sent=sent)


class ArchiveStudy(_Asked):
    """Off the lists; nothing is deleted."""

    name, route, summary = "study-archive", "archive/", "Archive a study"
    do = archive
    done = gettext_lazy("The study is archived.")
    title = gettext_lazy("Archive the study")
    follows = (gettext_lazy("It is removed from the lists; all data are kept, and it can be restored."),)


class BringBackStudy(StudyAct):
    """An archived study stands in the lists again."""

    name, route, summary = "study-bring-back", "bring-back/", "Bring a study back"
    do = bring_back
    done = gettext_lazy("The study is back.")


class NameCoordinator(StudyAct):
    """A person with an account coordinates this study and no other. Nobody reads and coordinates the same cases."""

    name, route, summary = "study-coordinator-name", "coordinators/name/", "Name a coordinator of one study"
    do, form = name_coordinator, CoordinatorForm
    misread = gettext_lazy("Enter the e-mail address of an account.")

    def says(self, arguments: dict[str, Any], result: object) -> str:
        return _("%(email)s coordinates this study now.") % arguments


class DismissCoordinator(StudyAct):
    """A person coordinates this study no longer; what they did stays."""

    name, route, summary = "study-coordinator-remove", "coordinators/remove/", "Remove a coordinator of one study"
    do, form = dismiss_coordinator, CoordinatorForm

    def says(self, arguments: dict[str, Any], result: object) -> str:
        return _("%(email)s does not coordinate this study any more.") % arguments


# --- while readers read ---------------------------------------------------------------------------
class _Reminds(Act[Thing]):
    def says(self, arguments: dict[str, Any], result: int) -> str:
        return ngettext("%(n)s e-mail was sent.", "%(n)s e-mails were sent.", result) % {"n": result}


class _Extends(_InStudy[Thing]):
    """More time, after showing for whom and until when."""

    form = DeadlineForm

    def form_for(self, sent: Mapping[str, Any]) -> DeadlineForm:
        return DeadlineForm(self.study, sent)

    def ask(self, deadline: datetime, before: str, sentences: list[str], *, title: str, label: str) -> Confirmation:
        typed = deadline.astimezone(ZoneInfo(self.study.time_zone)).replace(tzinfo=None)
        moved = _("The deadline moves from %(before)s to %(after)s.")
        moved %= {"before": before, "after": time_text(deadline, self.study.time_zone)}
        return Confirmation(
            title=title,
            sentences=[moved, *sentences, _("A deadline never moves earlier again.")],
            label=label,
            back=self.page(),
            is_danger=False,
            sent={"deadline": typed.isoformat().removesuffix(":00")},
        )


class ExtendStudy(_Extends[ReaderStudy], StudyAct):
    """More time for everybody; who had more keeps it. A deadline never moves earlier."""

    name, route, summary, then = "study-extend", "extend/", "Give all readers more time", "study-watch"
    do = extend_study

    def says(self, arguments: dict[str, Any], result: object) -> str:
        return _("The deadline is %(when)s now.") % {"when": time_text(arguments["deadline"], self.thing.time_zone)}

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        study, deadline = self.thing, arguments["deadline"]
        check_extends(study, deadline, at)
        readers = list(unfinished(study).select_related("study"))
        kept = [one for one in readers if one.deadline_at is not None and one.deadline_at > deadline]
        sentences = [_for([one.pseudonym for one in readers if one not in kept])]
        for one in kept:
            facts = {"reader": one.pseudonym, "when": deadline_text(one)}
            sentences.append(_("%(reader)s keeps a later deadline: %(when)s.") % facts)
        words = {"title": _("Extend the deadline for everybody"), "label": _("Extend the deadline")}
        return self.ask(deadline, study_deadline_text(study), sentences, **words)


def _for(names: list[str]) -> str:
    if not names:
        return _("Nobody reads at present whose deadline moves; it is for those who join later.")
    sentence = ngettext(
        "It is for %(n)s reader who has not finished: %(names)s; and for those who join later.",
        "It is for %(n)s readers who have not finished: %(names)s; and for those who join later.",
        len(names),
    )
    return sentence % {"n": len(names), "names": ", ".join(names)}


class RemindStudy(_Reminds[ReaderStudy], StudyAct):
    """An e-mail to everybody who has not finished. Refused where the site sends no e-mail."""

    name, route, summary, then = "study-remind", "remind/", "Remind the readers of a study", "study-watch"
    do = remind_unfinished


class ReaderAct(_InStudy[Enrolment]):
    found_by = ("slug", "public_id")

    @classmethod
    def find(cls, person: User, **named: Any) -> Enrolment:
        return reader_of(coordinated_study(person, named["slug"]), named["public_id"])

    @property
    def study(self) -> ReaderStudy:
        return self.thing.study

    def page(self) -> str:
        return reverse("study-reader", args=[self.study.slug, self.thing.public_id])


class ExtendReader(_Extends[Enrolment], ReaderAct):
    """More time for one reader. A deadline never moves earlier."""

    name, route, summary = "study-reader-extend", "extend/", "Give a reader more time"
    do = extend_reader

    def says(self, arguments: dict[str, Any], result: object) -> str:
        facts = {"reader": self.thing.pseudonym, "when": time_text(arguments["deadline"], self.study.time_zone)}
        return _("%(reader)s has time until %(when)s now.") % facts

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        check_extends_reader(self.thing, arguments["deadline"], at)
        reader = {"reader": self.thing.pseudonym}
        sentences = [_("It is for %(reader)s alone.") % reader]
        words = {"title": _("More time for %(reader)s") % reader, "label": _("Give more time")}
        return self.ask(arguments["deadline"], deadline_text(self.thing), sentences, **words)


class RemindReader(_Reminds[Enrolment], ReaderAct):
    """An e-mail to the reader, unless they have finished."""

    name, route, summary = "study-reader-remind", "remind/", "Remind a reader"
    do = remind_reader


class WithdrawReader(ReaderAct):
    """The reader reads no further; what was answered stays. For one who asked for it, or cannot go on."""

    name, route, summary = "study-reader-withdraw", "withdraw/", "Let a reader leave a study"
    do, form, prefix = withdraw, ReasonForm, "withdraw"
    misread = gettext_lazy("Say why the reader leaves: a paper has to report it.")

    def says(self, arguments: dict[str, Any], result: object) -> str:
        return _("%(reader)s has left the study.") % {"reader": self.thing.pseudonym}


class PassReader(ReaderAct):
    """Let a reader go on who did not pass the practice block. Twice changes nothing."""

    name, route, summary = "study-reader-pass", "pass/", "Let a reader go on after the practice block"
    do, form, prefix = let_pass, ReasonForm, "pass"
    misread = gettext_lazy("Say why the reader may go on: a paper has to report it.")

    def says(self, arguments: dict[str, Any], result: object) -> str:
        return _("%(reader)s can go on to the main block.") % {"reader": self.thing.pseudonym}


# --- links to its results -------------------------------------------------------------------------
class LinkAct(Act[ResultsLink]):
    found_by = ("slug", "pk")

    @classmethod
    def find(cls, person: User, **named: Any) -> ResultsLink:
        return get_object_or_404(links_of(coordinated_study(person, named["slug"])), pk=named["pk"])

    def page(self) -> str:
        analysis = self.thing.analysis
        return reverse("study-share", args=[analysis.study.slug, analysis.public_id])


class RevokeResultsLink(LinkAct):
    """Whoever has the link sees nothing any more. One that was revoked or has ended stays as it is."""

    name, route, summary = "study-share-revoke", "revoke/", "Revoke a link to results"
    do, done = revoke_link, gettext_lazy("The link does not work any more. It can be restored below.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        label, note = _("Revoke the link"), self.thing.note or _("recipient not given")
        sentences = [
            _("Whoever has this link (%(note)s) sees nothing any more.") % {"note": note},
            _("Until the day on which it ends it can be restored from the list of links."),
        ]
        about = self.thing.analysis.study.name
        return Confirmation(title=label, sentences=sentences, label=label, back=self.page(), about=about)


class RestoreResultsLink(LinkAct):
    """A link that was revoked works again until its day."""

    name, route, summary = "study-share-restore", "restore/", "Restore a link to results"
    do, done = restore_link, gettext_lazy("The link works again.")


DESIGN_ACTS: tuple[type[StudyAct], ...] = (FreezeStudy,)  # done on pages of their own, which show what is to be read
STUDY_ACTS: tuple[type[StudyAct], ...] = (
    *(OpenStudy, CloseStudy, ArchiveStudy, BringBackStudy),
    *(NameCoordinator, DismissCoordinator),
)
WATCHING_ACTS: tuple[type[StudyAct], ...] = (ExtendStudy, RemindStudy)
READER_ACTS: tuple[type[ReaderAct], ...] = (ExtendReader, RemindReader, WithdrawReader, PassReader)
LINK_ACTS: tuple[type[LinkAct], ...] = (RevokeResultsLink, RestoreResultsLink)

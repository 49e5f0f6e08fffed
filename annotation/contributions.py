"""What rooms above, and other apps, add to rooms that do not know them: one field for each thing.

Each app says what it adds in its ``apps.py``. It is asked for when it is first needed, so a start loads none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from operator import add, or_
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig, apps
from msgspec import Struct, field

if TYPE_CHECKING:  # of the rooms that ask for them
    from django.db.models import Model, Q, QuerySet
    from django.utils.functional import _StrPromise

    from annotation.audit.deleting import BinKind
    from annotation.demonstration.registry import Account, DemonstrationPart
    from annotation.enums import Role
    from annotation.jobs.queueing import JobHandler
    from annotation.model_calls.request_bodies import Filler
    from annotation.models import CallBatch, Image, Question, QuestionBank, ReviewRound, Revision, User
    from annotation.people.accounts import PartElsewhere
    from annotation.people.event_log import Thing
    from annotation.people.invitations import InvitationKind
    from annotation.people.open_work import WorkSection
    from annotation.people.person_data import PersonFile
    from annotation.people.revived import Opener
    from annotation.people.tokens import PlaceRule
    from annotation.questionbank.filters import BankFilter
    from annotation.review.history import Event


class Conflict(Struct, frozen=True):
    """This person must not see this question; ``reason`` is the sentence that a coordinator reads."""

    person_id: int
    question_id: int
    reason: str


class WithoutImages(Struct, frozen=True):
    """A model that answered questions without their images: how many of them, and how many of these right."""

    model: str
    n: int
    n_right: int


class Contributions(Struct, frozen=True, kw_only=True):
    """Of one app, or of all."""

    # the log, the bin, what is archived
    acts: dict[str, _StrPromise] = field(default_factory=dict)  # acts of the audit log in words
    things: dict[str, Thing] = field(default_factory=dict)  # what an event can be about
    bin_kinds: dict[str, BinKind] = field(default_factory=dict)  # each after what it hangs on
    archived: dict[type[Model], str] = field(default_factory=dict)  # what the log calls rows with ``archived_at``

    # people
    question_rules: tuple[Callable[[Collection[int], Collection[int]], Iterable[Conflict]], ...] = ()
    role_rules: tuple[Callable[[User, Role, ReviewRound | None], str], ...] = ()  # the sentence against a role, or ""
    person_parts: tuple[Callable[[Collection[int]], Iterable[PartElsewhere]], ...] = ()  # of ids of people
    reads_blind: tuple[Callable[[User], bool], ...] = ()  # whether a person reads blind at the moment
    event_scopes: tuple[Callable[[User], Q], ...] = ()  # events about what a person coordinates
    token_places: dict[str, PlaceRule] = field(default_factory=dict)  # by scope
    openers: dict[str, Opener] = field(default_factory=dict)  # links that a restore brings back
    invitation_kinds: dict[str, InvitationKind] = field(default_factory=dict)
    work: tuple[Callable[[User, datetime], WorkSection | None], ...] = ()  # sections of the home page
    person_tables: tuple[Callable[[User], Iterable[PersonFile]], ...] = ()  # what is kept about a person
    removal_obstacles: tuple[Callable[[User], Iterable[str]], ...] = ()  # what to do before a person can go
    forgetting: tuple[Callable[[User], None], ...] = ()  # of a removed person, beside the scientific record

    # banks, questions, images
    bank_filters: tuple[BankFilter, ...] = ()
    bank_uses: tuple[Callable[[QuestionBank], str], ...] = ()  # why a bank cannot go; empty: it can
    bank_secrets: tuple[Callable[[QuestionBank], str], ...] = ()  # why its questions are not public; empty: they may be
    bank_readings: tuple[Callable[[int, int], str], ...] = ()  # person, bank: the study under way in which they read
    question_events: tuple[Callable[[Question, User], Iterable[Event]], ...] = ()  # as a coordinator may know them
    difficulties: dict[str, Callable[[QuestionBank], Mapping[int, str]]] = field(default_factory=dict)  # by RatedBy
    readers_right: tuple[Callable[[QuestionBank], Mapping[int, tuple[int, int]]], ...] = ()  # by wording: k of n
    without_images: tuple[Callable[[QuestionBank, QuerySet[Revision]], Iterable[WithoutImages]], ...] = ()
    show_rules: tuple[Callable[[int, Image, datetime], bool], ...] = ()  # whether an image is shown to a person then
    image_hidden: tuple[Callable[[Image, str, User | None, datetime], None], ...] = ()  # with the reason
    image_left: tuple[Callable[[Image, str, User | None, datetime], None], ...] = ()  # in sight, though reported
    image_uses: tuple[Callable[[int], Iterable[str]], ...] = ()  # what people read with an image as it was frozen

    # calls of models
    fillers: dict[str, Filler] = field(default_factory=dict)  # by the purpose of a prompt
    completed: tuple[Callable[[CallBatch, datetime], None], ...] = ()  # in the transaction of the last answer

    accounts: tuple[Account, ...] = ()  # of a demonstration

    def __add__(self, other: Contributions) -> Contributions:
        both = ((name, getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)
        return Contributions(**{name: (add if isinstance(own, tuple) else or_)(own, more) for name, own, more in both})


class BackgroundWork(Struct, frozen=True):
    """What an app does without anybody waiting: only a worker, and the command that builds a demonstration, load it."""

    jobs: tuple[JobHandler[Any], ...] = ()
    sweeps: tuple[Callable[[datetime], object], ...] = ()  # each safe to run at any time and by several workers at once
    demonstration: tuple[DemonstrationPart, ...] = ()


class ContributingApp(AppConfig):
    """An app of the site."""

    def contributions(self) -> Contributions:
        raise NotImplementedError

    def background_work(self) -> BackgroundWork:
        """All jobs that use a processor."""
        raise NotImplementedError

    def waiting_work(self) -> BackgroundWork:
        """The sweeps, and the jobs of the queue of mail. Their worker loads no more than these."""
        raise NotImplementedError


def contributing_apps() -> list[ContributingApp]:
    return [app for app in apps.get_app_configs() if isinstance(app, ContributingApp)]


def contributed() -> Contributions:
    """What all apps add."""
    return _contributed()


@cache
def _contributed() -> Contributions:
    return sum((app.contributions() for app in contributing_apps()), Contributions())


def conflicts(people: Collection[int], questions: Collection[int]) -> list[Conflict]:
    """What all rules say about these people and questions."""
    return [conflict for rule in contributed().question_rules for conflict in rule(people, questions)]


def without_images(bank: QuestionBank, revisions: QuerySet[Revision]) -> list[WithoutImages]:
    """What models answered to these wordings without images; of studies once their results were seen."""
    return [one for source in contributed().without_images for one in source(bank, revisions)]


def is_shown(person_id: int, image: Image, at: datetime) -> bool:
    return any(rule(person_id, image, at) for rule in contributed().show_rules)


def read_in(image_id: int) -> list[str]:
    """The names of all that is being read with this image."""
    return [name for use in contributed().image_uses for name in use(image_id)]


def reads_in_bank(person_id: int, bank_id: int) -> str:
    """The name of a study that is not over in which the person reads questions of the bank; empty: none."""
    return next(filter(None, (reading(person_id, bank_id) for reading in contributed().bank_readings)), "")

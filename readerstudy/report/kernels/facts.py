"""What methods, flow diagram and checklists say of a study beside its analysis: plain values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from readerstudy.design.kernels.rules import Rules


@dataclass(frozen=True, kw_only=True)
class CaseFacts:
    """Where the cases come from. None: not known."""

    bank: str
    n_bank: int | None  # questions of the bank when the study was frozen
    n_pool: int | None  # those from which a draw could take; None for a list of cases
    pool_reason: str  # why every question was a candidate; empty: those that every review accepts
    n_quotas: int
    n_main: int
    n_practice: int
    n_sets: int
    seed: int  # of the draw and of the orders


@dataclass(frozen=True, kw_only=True)
class ReaderFlow:
    """How many readers came how far."""

    n_planned: int
    n_invited: int  # links that were sent; 0 where readings were imported
    n_enrolled: int  # with an account
    n_imported: int  # readings made elsewhere
    n_withdrawn: int
    n_replaced: int
    n_without_answers: int
    n_analysed: int


@dataclass(frozen=True, kw_only=True)
class ReportedReaders:
    """What the analysed readers reported of themselves."""

    training: Mapping[str, int]  # in words; "not reported" among them
    years: Sequence[int]
    films_per_week: Sequence[int]
    n_chest_fellowship: int
    displays: Mapping[str, int]
    exposure: Mapping[str, int]
    n_reported: int


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """One model of the analysis, and its main run of predictions."""

    name: str  # in the analysis
    entry: str  # name and version of the entry
    dated_on: str
    prompt: str
    decoding: str
    link: str
    run: str
    run_number: int
    n_runs: int  # on this study, withdrawn ones left out
    imported_on: str
    named_on: str
    named_before_unblinding: bool
    by_plan: str  # how the plan names what represents the model: "run 2"; empty: it does not, or it was not there
    extraction: str
    duplicates: str
    n_read: int
    n_failed: int
    n_missing: int


@dataclass(frozen=True, kw_only=True)
class StudyFacts:
    name: str
    simulated: bool
    protocol_sha256: str
    information: str  # what the arm shows beside images and question, in words
    indications_read: bool | None  # stated before freezing; None where the arm shows no indication
    aid: str
    unaided: bool
    rules: Rules
    n_orders: int
    order_rule: str
    frozen_at: datetime | None
    opened_at: datetime | None
    closed_at: datetime | None
    looked_before_closing: bool
    cases: CaseFacts
    flow: ReaderFlow
    readers: ReportedReaders
    models: Sequence[ModelFacts]
    software: Mapping[str, Any]  # that computed the analysis
    forecast: Mapping[str, Any] | None = None  # as the protocol keeps it; None where it was frozen before there was one

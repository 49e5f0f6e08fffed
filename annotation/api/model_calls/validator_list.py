"""V(Q) of a bank: the results of its questions in each part, validators that are asked, and the gate."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice
from annotation.api.compared_etags import lock_rows
from annotation.api.model_calls.asked_endpoints import (
    AskingSent,
    CallPlanShape,
    CallsShape,
    ConfirmedSent,
    check_confirmed,
    prompt_chosen,
)
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ActOn, ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.call_enums import BatchState, PromptPurpose
from annotation.contributions import without_images
from annotation.enums import Role
from annotation.models import QuestionBank, Revision, ValidatorRun
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.kernels.question_checks import ASKED, GATED, JUDGED, RATING
from annotation.questionbank.validity import count_parts, gate_of, n_failing, set_gate
from annotation.review.onlookers import withheld_questions
from annotation.validators.taking_verdicts import RunRow, act_on_run, run_rows
from annotation.validators.validator_plans import (
    ALL,
    CheckPlan,
    CheckWanted,
    begin_checks,
    check_reads_none,
    checks_wanted,
    plan_checks,
)


class OfJudgedBank(Resource):
    """Begins with the bank of the address: whoever reads its questions in a study that is not over is refused."""

    roles = (Role.COORDINATOR,)
    reach = None

    @property
    def bank(self) -> QuestionBank:
        bank = bank_named(self.person, self.kwargs["slug"])
        check_reads_none(self.person, bank)
        return bank

    def lock(self) -> None:
        """Of what is counted over the bank."""
        lock_rows(self.bank)


class PartShape(Shown):
    code = serializers.CharField(source="part.code")
    name = serializers.CharField(source="part.label")
    is_validator = serializers.SerializerMethodField(help_text="a model is asked")
    keeps_out = serializers.SerializerMethodField(help_text="of new samples, what fails it")
    n_pass = serializers.IntegerField(source="told.pass", allow_null=True, help_text="null: none is examined")
    n_fail = serializers.IntegerField(source="told.fail", allow_null=True)
    n_undecided = serializers.IntegerField(source="told.undecided", allow_null=True)
    n_not_examined = serializers.IntegerField()

    def get_is_validator(self, count: Any) -> bool:
        return count.part.code in JUDGED

    def get_keeps_out(self, count: Any) -> bool:
        return count.part.code in self.context["kept_out_by"]


class GateShape(Shown):
    name = serializers.CharField()
    version = serializers.IntegerField(source="number")
    set_at = serializers.DateTimeField()


class WithoutImagesShape(Shown):
    """A model that was asked without images. By chance a quarter is right."""

    model = serializers.CharField()
    n = serializers.IntegerField(help_text="questions")
    n_right = serializers.IntegerField()


class ValidityShape(Shown):
    n_questions = serializers.IntegerField(help_text="without those that you judge in a round under way")
    n_kept_out = serializers.IntegerField()
    kept_out_by = serializers.ListField(child=serializers.CharField(), help_text="codes of the parts of the gate")
    gate = GateShape(allow_null=True)
    parts = PartShape(many=True)
    without_images = WithoutImagesShape(many=True, help_text="c1, measured: by the newest complete run of each model")


class BankValidity(OfJudgedBank, OneOf[QuestionBank]):
    """How many current questions of a bank pass each part; no verdict of a model on a question is shown here."""

    shape = ValidityShape
    summary = "Read the counts of a bank in each part of validity"

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.validity_of(self.bank))

    def validity_of(self, bank: QuestionBank) -> Any:
        gate = gate_of(bank)
        self.kept_out_by = gate.parts if gate else []
        hidden = withheld_questions(self.person)
        counts, current = count_parts(bank, hidden), Revision.objects.in_bank(bank).current()
        facts = {
            "n_questions": counts[0].n_questions,
            "n_kept_out": n_failing(bank, hidden),
            "parts": counts,
            "without_images": without_images(bank, current.exclude(question__in=hidden)),
            "gate": gate,
        }
        return self.shown({**facts, "kept_out_by": self.kept_out_by}, self.only())

    def context(self) -> dict[str, Any]:
        return {"view": self, "kept_out_by": self.kept_out_by}


class KeepingOutSent(SentBody):
    name = serializers.CharField(max_length=100, default="", allow_blank=True, help_text="of the gate; empty: as it is")
    parts = serializers.ListField(
        child=serializers.ChoiceField(choices=[(code, code) for code in GATED]),
        help_text="none: there is no gate",
    )


class KeepOut(OnlyPost, BankValidity):
    """The gate of the bank: no sample draws a question that fails one of these parts; earlier samples stay."""

    body = KeepingOutSent
    summary = "Set the gate of a bank"

    def post(self, request: Request, **named: Any) -> Response:
        bank = self.bank
        set_gate(bank, **self.sent(KeepingOutSent), **self.by())
        return Response(self.validity_of(bank))


# --- runs -------------------------------------------------------------------------------------------
class CheckSent(AskingSent):
    check = serializers.ChoiceField(
        choices=[(code, code) for code in (ALL, *JUDGED, RATING)], help_text="all: three validators"
    )
    prompt = serializers.CharField(
        max_length=40, default=None, allow_null=True, help_text="id of a prompt; null: that of the program"
    )


class CheckBegun(ConfirmedSent, CheckSent):
    pass


class CheckPlanShape(CallPlanShape):
    check = serializers.CharField()
    prompt = serializers.CharField()
    images = serializers.CharField()
    questions = serializers.IntegerField()
    known = serializers.IntegerField(help_text="judged by this model and prompt already")
    left_out = serializers.DictField(child=serializers.IntegerField(), help_text="by reason")


class CheckPlansShape(Shown):
    calls = serializers.IntegerField(help_text="of all together, to be confirmed")
    plans = CheckPlanShape(many=True)


class ValidatorRunShape(Shown):
    id = serializers.CharField(source="run.public_id")
    check = serializers.CharField(source="run.validator")
    state = WordChoice(BatchState, source="run.batch.state")
    says = serializers.CharField(source="sentence")
    acts = serializers.SerializerMethodField(help_text="that are possible now")
    n_left_out = serializers.SerializerMethodField()
    n_unread = serializers.IntegerField(source="run.n_unread", help_text="answers without a verdict")
    calls = serializers.SerializerMethodField()
    created_by = PersonName(source="run.created_by")
    created_at = Moment(source="run.created_at")
    taken_at = Moment(source="run.taken_at", allow_null=True, help_text="when the verdicts were stored")

    def get_acts(self, row: RunRow) -> list[str]:
        return [name for name, _label in row.acts]

    def get_n_left_out(self, row: RunRow) -> int:
        return len(row.run.left_out)

    def get_calls(self, row: RunRow) -> dict[str, Any]:
        return dict(CallsShape({"batch": row.run.batch, "tally": row.tally}).data)


class BegunShape(Shown):
    runs = ValidatorRunShape(many=True)


def wanted_checks(bank: QuestionBank, sent: dict[str, Any]) -> list[CheckWanted]:
    """Raises ValidationError, EndpointRefused, ValidatorRefused."""
    return checks_wanted(bank, **{**sent, "prompt": prompt_chosen("prompt", sent["prompt"], PromptPurpose.CHECK)})


class _OfRuns(OfJudgedBank):
    def rows(self) -> QuerySet[ValidatorRun]:
        rows = ValidatorRun.objects.filter(bank=self.bank)
        return rows.select_related("batch__prompt", "batch__price", "batch__permission", "batch__bank", "created_by")


class PlanChecks(OnlyPost, OfJudgedBank):
    """What validators would be asked, and under which permission. It stores and sends nothing."""

    shape, body = CheckPlansShape, CheckSent
    summary = "Plan asking validators"

    def post(self, request: Request, **named: Any) -> Response:
        wanted = wanted_checks(self.bank, self.sent(CheckSent))
        plans = plan_checks(wanted, **self.by())
        return Response(self.shown({"calls": calls_of(plans), "plans": [one.as_json() for one in plans]}))


def calls_of(plans: list[CheckPlan]) -> int:
    return sum(one.n_calls for one in plans)


class ValidatorRunFilters(django_filters.FilterSet):
    check = django_filters.ChoiceFilter(field_name="validator", choices=[(code, code) for code in ASKED])


class ValidatorRuns(_OfRuns, ListOf[ValidatorRun]):
    """Runs in which a model is asked as a validator, with tokens and cost; verdicts are shown with the questions."""

    http_method_names = ["get", "head"]
    shape = ValidatorRunShape
    filters = ValidatorRunFilters
    summary = "List runs of validators"

    def listed(self, rows: Any, cursor: str, only: Any) -> Response:
        return super().listed(run_rows(rows), cursor, only)


class BeginChecks(OnlyPost, _OfRuns):
    """Ask one validator, or all three: all of the runs begin, or none. The number of calls, which the plan tells, must
    be confirmed; a worker asks the model then.
    """

    shape, body = BegunShape, CheckBegun
    makes, status = True, 201
    summary = "Ask validators"

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = self.bank, self.sent(CheckBegun)
        confirmed, wanted = sent.pop("confirmed_calls"), wanted_checks(bank, sent)

        def begin(plans: list[CheckPlan]) -> MadeAnswer:
            check_confirmed(confirmed, calls_of(plans))
            begun = [plan.stored_run.pk for plan in begin_checks(plans, **self.by())]
            runs = list(self.rows().filter(pk__in=begun).order_by("pk"))
            return self.made({"runs": run_rows(runs)})

        return self.once_planned(lambda: plan_checks(wanted, **self.by()), begin)


class OneValidatorRun(_OfRuns, OneOf[ValidatorRun]):
    """One run of a validator."""

    shape = ValidatorRunShape
    summary = "Read one run of a validator"
    locks = ("batch",)

    def shown(self, row: Any, only: Any = None) -> Any:
        [line] = run_rows([row])
        return super().shown(line, only)


class ActOnValidatorRun(ActOn[ValidatorRun], OneValidatorRun):
    """``pause``, ``resume`` or ``stop`` (for good) a run; the verdicts of a stopped one are taken."""

    summary = "Pause, resume or stop a run of a validator"

    def act_on(self, run: ValidatorRun) -> None:
        act_on_run(run, self.kwargs["act"], **self.by())

"""A model that the site asks while the study is read: what it is asked and answers differs in each world."""

from __future__ import annotations

import json
from datetime import timedelta

from annotation.call_enums import BatchState, CallOutcome, Ending, Polarity, PromptPurpose, ReportSource, SentImages
from annotation.enums import FindingPlace
from annotation.models import (
    Bullet,
    CallAttempt,
    CallBatch,
    Finding,
    GenerationReport,
    GenerationRun,
    ModelCall,
    ModelPicture,
    PromptVersion,
    SendingPermission,
)
from readerstudy.enums import Block
from readerstudy.models import ModelEntry, ModelRun, ReaderStudy
from tests.annotation.review.cases import NOON
from tests.readerstudy.blinding.truth import Truth


def ask_models(study: ReaderStudy, truth: Truth) -> None:
    """A run on the study is under way: in one world all cases are asked, in the other some."""
    prompt = PromptVersion.objects.create(
        name=truth.token("run prompt", 0),
        number=1,
        purpose=PromptPurpose.ANSWER,
        text=truth.token("run prompt", 1),
        images=SentImages.FIRST,
        reason=truth.token("run prompt", 2),
        made_at=NOON,
        sha256=truth.token("run prompt", 3),
    )
    permission = SendingPermission.objects.create(
        bank=study.bank,
        endpoint=truth.token("endpoint", 0),
        questions=True,
        reason=truth.token("endpoint", 1),
        agreement=truth.token("endpoint", 2),
        given_at=NOON,
        expires_at=NOON + timedelta(days=1),
    )
    cases = list(study.cases.filter(block=Block.MAIN).select_related("revision__question").order_by("number"))
    batch = CallBatch.objects.create(
        purpose=PromptPurpose.ANSWER,
        bank=study.bank,
        endpoint=truth.token("endpoint", 0),
        model=truth.token("endpoint", 3),
        prompt=prompt,
        permission=permission,
        images=SentImages.FIRST,
        n_calls=len(cases),
        state=BatchState.PAUSED,
        paused_because=truth.token("endpoint", 4),
        created_at=NOON,
    )
    ModelRun.objects.create(batch=batch, entry=ModelEntry.objects.get(), study=study)
    generated = _generation(batch, prompt, truth)
    for case in cases:
        _answer(batch, case.number, case.revision_id, case.revision.question.exam_id, truth)
        _judge(batch, case.number, case.revision_id, truth)
        _write(generated, case.number, case.revision_id, truth)


def _judge(batch: CallBatch, number: int, revision: int, truth: Truth) -> None:
    """What a validator said of the question: in one world some fail, in the other others."""
    fails = (number + truth.turn) % 2 == 0
    Finding.objects.create(
        bank=batch.bank,
        revision_id=revision,
        rule="c3",
        rule_version=1,
        place=FindingPlace.QUESTION,
        detail=truth.token("verdict", number),
        call=ModelCall.objects.get(batch=batch, number=number),
        verdict="fail" if fails else "pass",
        found_at=NOON,
    )


def _generation(batch: CallBatch, prompt: PromptVersion, truth: Truth) -> GenerationRun:
    """Questions were written from the reports of the same exams, in one world more than in the other."""
    return GenerationRun.objects.create(
        bank=batch.bank,
        seed=1 + truth.turn,
        per_exam=1 + truth.turn,
        source=ReportSource.BANK,
        bullets_batch=CallBatch.objects.create(
            purpose=PromptPurpose.BULLETS,
            bank=batch.bank,
            endpoint=truth.token("endpoint", 0),
            model=truth.token("endpoint", 3),
            prompt=prompt,
            permission=batch.permission,
            images=SentImages.NONE,
            n_calls=batch.n_calls,
            created_at=NOON,
        ),
        questions_prompt=prompt,
        n_made=3 + truth.turn,
        created_at=NOON,
    )


def _write(run: GenerationRun, number: int, revision: int, truth: Truth) -> None:
    """The finding of the report from which a question on this exam was written."""
    report = GenerationReport.objects.create(
        run=run, number=number, answer_key_id=revision, sha256=truth.token("written", number)
    )
    Bullet.objects.create(
        report=report,
        number=1,
        call=ModelCall.objects.create(batch=run.bullets_batch, number=number),
        quote=truth.token("quote", number),
        statement=truth.token("statement", number),
        location=truth.token("location", number),
        polarity=Polarity.PRESENT if (number + truth.turn) % 2 else Polarity.ABSENT,
        compares_with_prior=bool(truth.turn),
    )


def _answer(batch: CallBatch, number: int, revision: int, exam: int, truth: Truth) -> None:
    is_asked = truth.turn == 0 or number % 3 > 0
    option = "ABCD"[(number + truth.turn) % 4] if is_asked else ""
    call = ModelCall.objects.create(
        batch=batch,
        number=number,
        revision_id=revision,
        exam_id=exam,
        outcome=CallOutcome.ANSWERED if is_asked else CallOutcome.NOT_ASKED,
        option=option,
        pictures=[truth.token("picture", number)],
        request_sha256=truth.token("request", number),
        n_sent=1 + truth.turn,
        n_attempts=1,
    )
    said = {"choices": [{"message": {"content": truth.token("response", number)}}]}
    CallAttempt.objects.create(
        call=call,
        number=1,
        request_sha256=truth.token("request", number),
        ending=Ending.ANSWERED,
        body=json.dumps(said),
        model=truth.token("endpoint", 3),
        outcome=call.outcome,
        rule="test",
    )
    image = call.exam.images.order_by("position")[0] if call.exam else None
    if image is not None:
        ModelPicture.objects.create(
            image=image,
            policy="stored-1",
            sha256=truth.token("picture", number),
            width=1,
            height=1,
            n_bytes=1 + truth.turn,
            made_at=NOON,
        )

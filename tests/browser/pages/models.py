"""Models of the site in which every page has something to show: entries in every state, runs, files on their way."""

from __future__ import annotations

import json

from django.utils import timezone

from annotation.enums import JobState
from annotation.models import Job, Upload
from readerstudy.analysis.comparing_models import compare_models
from readerstudy.models import ModelEntry
from readerstudy.predictions.entries import edit_model, enter_model, replace_model, withdraw_model
from readerstudy.predictions.importing import PredictionsImported, SentFile, import_predictions
from readerstudy.predictions.listing import Target
from readerstudy.predictions.runs import withdraw_run
from readerstudy.predictions.uploads import UploadRequest, report_of
from tests.browser.pages.place import Place


def enter_models(place: Place) -> None:
    cora, mona, now = place.people["cora"], place.people["mona"], timezone.now()
    fields = {
        "name": place.named("Reading model"),
        "prompt": place.said("Look at the images."),
        "link": "https://x.org",
    }
    listed = enter_model({**fields, "version": "1"}, actor=cora, at=now)
    edit_model(listed, {"decoding": place.said("temperature 0")}, actor=cora, at=now)
    for number in range(1, 4):
        found = _import(place, listed, f"Run {number}", dry_run=False)
        place.things[f"run {number}"] = found.run
    withdraw_run(place.things["run 3"], place.said("the wrong checkpoint"), actor=cora, at=now)
    replaced = enter_model({"name": place.named("Old model")}, actor=cora, at=now)
    replace_model(replaced, {"name": place.named("Old model"), "version": "2"}, actor=cora, at=now)
    withdrawn = enter_model({"name": place.named("Gone model")}, actor=cora, at=now)
    withdraw_model(withdrawn, place.said("its training set held the cases"), actor=cora, at=now)
    new = enter_model({"name": place.named("Own model")}, actor=mona, at=now)
    for name, entry in (("listed", listed), ("replaced", replaced), ("withdrawn", withdrawn), ("new", new)):
        place.things[f"model {name}"] = ModelEntry.objects.get(pk=entry.pk)
    _send(place, listed)
    _compare(place, listed)


def _compare(place: Place, *entries: ModelEntry) -> None:
    """Two models on a whole bank, one with two runs, one with failed answers."""
    cora, now = place.people["cora"], timezone.now()
    other = enter_model({"name": place.named("Second model")}, actor=cora, at=now)
    bank = place.things["study draft"].bank
    for entry, said in ((entries[0], "B"), (entries[0], "C"), (other, place.said("I cannot tell."))):
        lines = "\n".join(json.dumps({"id": str(number), "pred_answer": said}) for number in range(1, 9))
        file = SentFile(place.named("bank.jsonl"), lines.encode())
        import_predictions(entry, Target(bank), file, actor=cora, at=now)
    compare_models(bank, actor=cora, at=now)


def _records(place: Place, said: str) -> list[dict[str, str]]:
    return [
        {"id": "1", "pred_answer": "B", "why": said},
        {"id": "2", "pred_answer": place.said("I cannot tell.")},
        {"id": place.named("another question"), "pred_answer": "A"},
    ]


def _import(
    place: Place, entry: ModelEntry, said: str, *, dry_run: bool, more: tuple[dict[str, str], ...] = ()
) -> PredictionsImported:
    lines = "\n".join(json.dumps(one) for one in (*_records(place, said), *more))
    target = Target.of_study(place.things["study closed"])
    file = SentFile(place.named(f"{said}.jsonl"), lines.encode())
    return import_predictions(entry, target, file, actor=place.people["cora"], at=timezone.now(), dry_run=dry_run)


def _send(place: Place, entry: ModelEntry) -> None:
    """A file that waits for its check, a good one, one with wrong rows, one that is stored."""
    good = _import(place, entry, "Another", dry_run=True)
    conflict = {"id": "1", "pred_answer": "D"}
    bad = _import(place, entry, "Bad", dry_run=True, more=(conflict,))
    stored = _import(place, entry, "Run 1", dry_run=False)
    results = {
        "waiting": ("check_predictions", JobState.QUEUED, None),
        "good": ("check_predictions", JobState.SUCCEEDED, {**report_of(good), "acceptable": True}),
        "bad": ("check_predictions", JobState.SUCCEEDED, {**report_of(bad), "acceptable": False}),
        "stored": (
            "store_predictions",
            JobState.SUCCEEDED,
            {**report_of(stored), "run_id": place.things["run 1"].public_id},
        ),
    }
    cora, now = place.people["cora"], timezone.now()
    asked = UploadRequest(entry, good.target).as_params()
    for name, (kind, state, result) in results.items():
        upload = Upload(created_by=cora, created_at=now, purpose="predictions", n_files=1, n_bytes=900)
        upload.job = Job.objects.create(
            kind=kind,
            title=place.named(f"Predictions that are {name}"),
            params={**asked, "name": place.named("predictions.jsonl"), "upload": upload.public_id},
            state=state,
            result=result,
            created_by=cora,
            created_at=now,
        )
        upload.save()
        place.things[f"sent {name}"] = upload

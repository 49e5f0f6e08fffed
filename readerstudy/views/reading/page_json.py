"""What the reading page is told, as plain JSON: its state, and the answers to what it sends."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from readerstudy.enums import RemarkKind
from readerstudy.models import Reading, Remark, Response
from readerstudy.reading.practice import Feedback
from readerstudy.reading.sessions import Lease
from readerstudy.reading.showing import ShownCase, ShownState

ACTS = ("open", "choice", "events", "commit", "remark")
Json = dict[str, Any]


def state_json(shown: ShownState) -> Json:
    study, rules, position = shown.enrolment.study, shown.rules, shown.position
    return {
        "study": {
            "name": study.name,
            "slug": study.slug,
            "protocol": study.protocol_sha256,
            "simulated": study.simulated,
        },
        "block": str(position.block),
        "n": position.n,
        "done": position.done,
        "session": shown.session,
        "writer": shown.writer,
        "paused": shown.paused,
        "finished": shown.finished,
        "next": reverse("reading-room" if position.is_undecided else "reading", args=[study.slug]),
        "rules": {
            "time_limit_s": rules.time_limit_s,
            "confidence": rules.confidence,
            "slips": rules.slips,
            "cannot_tell": rules.cannot_tell,
            "may_pause": rules.may_pause,
            "n_ready": rules.n_ready,
            "hidden_tools": list(rules.hidden_tools),
            "least_window": [rules.least_width, rules.least_height] if rules.least_width is not None else None,
        },
        "cases": [_place(study.slug, place) for place in shown.cases],
        "last": _last(study.slug, shown),
    }


def lease_json(lease: Lease, state: Json) -> Json:
    if lease.session is None:
        return {"writer": False, "since": lease.since.isoformat() if lease.since else None, "state": state}
    return {"writer": True, "session": lease.session, "state": state}


def opened_json(reading: Reading, left: float | None) -> Json:
    return {
        "opened": True,
        "closed": reading.closed_at is not None,
        "seconds_left": left,
        "choice": reading.choice if reading.closed_at is None else "",
        "choice_sequence": reading.choice_sequence,
    }


def stored_json(place: str, response: Response) -> Json:
    return {
        "place": place,
        "option": response.option,
        "state": response.state,
        "key": response.key,
        "delivered_late": response.delivered_late,
    }


def feedback_json(feedback: Feedback | None) -> Json | None:
    if feedback is None:
        return None
    return {"correct": feedback.correct, "key": feedback.key, "explanation": feedback.explanation}


def remark_json(remark: Remark) -> Json:
    return {"stored": {"key": remark.key, "kind": remark.kind, "value": remark.value}}


def _place(slug: str, place: ShownCase) -> Json:
    return {
        "id": place.id,
        "position": place.position,
        "stem": place.stem,
        "options": _options(place.options),
        "views": place.views,
        "withheld": place.withheld,
        "information": place.information,
        "opened": place.opened,
        "painted": place.painted,
        "choice": place.choice,
        "choice_sequence": place.choice_sequence,
        "seconds_left": place.seconds_left,
        "break_before": place.break_before,
        "begins": place.begins,
        "urls": {act: reverse(f"reading-{act}", args=[slug, place.id]) for act in ACTS},
    }


def _options(options: list[tuple[str, str]]) -> list[Json]:
    return [{"id": letter, "text": text} for letter, text in options]


def _last(slug: str, shown: ShownState) -> Json | None:
    if shown.last is None:
        return None
    return {
        "id": shown.last.id,
        "needs_guess": shown.last.asked == RemarkKind.GUESS,
        "needs_confidence": shown.last.asked == RemarkKind.CONFIDENCE,
        "may_slip": shown.last.may_slip,
        "option": shown.last.option,
        "stem": shown.last.stem,
        "options": _options(shown.last.options),
        "urls": {"remark": reverse("reading-remark", args=[slug, shown.last.id])},
    }

"""One recorded session of a reader: every address that is theirs, and many that are not."""

from __future__ import annotations

import json
from typing import Any

from django.urls import NoReverseMatch, reverse

from annotation.models import GenerationRun, Image
from readerstudy.enrolment.participation import consent_sha256
from readerstudy.enums import Block
from readerstudy.models import ModelRun, PredictionRun, PresentedCase
from tests.readerstudy.blinding.recording import Recorder
from tests.readerstudy.blinding.worlds import World
from tests.readerstudy.studies import FACTS, places_of, seen_by

Json = dict[str, Any]
NOBODY = "AAAAAAAAAAAAAAAA"
OWN = (
    *("reading", "reading-consent", "reading-consent-copy", "reading-facts", "reading-instructions"),
    *("reading-display", "reading-room", "reading-done", "reading-withdraw"),
)
COORDINATORS = ("study-invite",)
PAGE = "00000000-0000-4000-8000-000000000001"


class Walk:
    """A reader who reads all cases, makes every mistake that a page can make, and looks where nothing is to be seen."""

    def __init__(self, world: World, recorder: Recorder) -> None:
        self.world, self.web, self.slug = world, recorder, world.study.slug
        self.session = ""
        self.sequence = 0
        self.seen: set[str] = set()

    def read_everything(self) -> None:
        self.look_around()
        self.enter()
        self.look_around()
        state = self.begin()
        while not state["finished"]:
            state = self.read(state)
        self.leave()
        self.look_around()

    # --- pages ----------------------------------------------------------------------------------
    def look_around(self) -> None:
        """Pages that a reader can open by hand, their own and others."""
        for name in OWN:
            self.web.get(reverse(name, args=[self.slug]))
        for name in (*COORDINATORS, *(name for name in ("study", "study-watch") if _exists(name))):
            self.web.get(reverse(name, args=[self.slug]))
        for address in ("/", reverse("readings"), reverse("banks"), reverse("images"), reverse("rounds")):
            self.web.get(address)
        run = PredictionRun.objects.select_related("entry").get(study=self.world.study)
        asked, written = ModelRun.objects.get().batch, GenerationRun.objects.get()
        for address in (
            reverse("model-runs"),
            *(reverse(name, args=[asked.public_id]) for name in ("model-run", "model-run-calls", "model-run-variants")),
            reverse("model-run-call", args=[asked.public_id, 1]),
            reverse("generation-run", args=[written.bank.slug, written.public_id]),
            reverse("models"),
            reverse("model", args=[run.entry.public_id]),
            reverse("prediction-run", args=[run.public_id]),
            reverse("prediction-import-new", args=[run.entry.public_id]),
        ):
            self.web.get(address)

    def enter(self) -> None:
        """From the consent to the display check, each step first wrongly."""
        mine = self.world.enrolment
        agreed = {"agreed": "yes", "sha256": consent_sha256(self.world.study)}
        steps: list[tuple[str, list[dict[str, Any]]]] = [
            ("reading-consent", [{}, {**agreed, "sha256": "0"}, agreed]),
            ("reading-facts", [{}, FACTS]),
            ("reading-instructions", [{}]),
        ]
        for name, said in steps:
            for fields in said:
                self.web.post(reverse(name, args=[self.slug]), fields)
        for wrong in ({"light": "nothing"}, {}):
            self.web.post(reverse("reading-display", args=[self.slug]), seen_by(mine, **wrong))

    def leave(self) -> None:
        for fields in ({}, {"declared": "yes"}):
            self.web.post(reverse("reading-done", args=[self.slug]), fields)

    # --- reading --------------------------------------------------------------------------------
    def ask(self, name: str, place: str = "", **fields: Any) -> Any:
        args = [self.slug, place] if place else [self.slug]
        sent = {"session": self.session, **fields}
        return self.web.post(reverse(f"reading-{name}", args=args), sent, accept="application/json")

    def begin(self) -> Json:
        found: Json = self.ask("session", device=json.dumps({"width": 1366})).json()
        self.session = found["session"]
        state: Json = found["state"]
        return state

    def state(self, session: str | None = None) -> Json:
        address = reverse("reading-state", args=[self.slug])
        answer: Any = self.web.get(f"{address}?session={self.session if session is None else session}")
        found: Json = answer.json()
        return found

    def read(self, state: Json) -> Json:
        """The case that is next, with everything that a page can do around it."""
        case = state["cases"][0]
        if state["paused"] or case["break_before"]:
            self.ask("pause")
            self.ask("resume")
        self.fetch_images(state)
        is_clumsy = case["position"] % 4 == 1  # makes every mistake; the other cases are read straight
        if is_clumsy:
            self.try_too_early(state)
            self.ask("open", case["id"])
        self.ask("open", case["id"])
        self.ask("choice", case["id"], option="B", sequence=self._next())
        self.tell(case, "heartbeat")
        option = "ABCD"[case["position"] % 4]
        if case["position"] % 4 == 2:
            self.decline(case, option)
        else:
            answer = self.commit(case, option, is_clumsy=is_clumsy)
            assert answer.status_code == 200, answer.content
        self.ask("remark", case["id"], key=self._key(), kind="confidence", value="60")
        if is_clumsy:
            self.say_more(case, option)
        return self.state()

    def fetch_images(self, state: Json) -> None:
        for case in state["cases"]:
            for view in case["views"]:
                for address in (view["preview"], view["full"]):
                    if address not in self.seen:
                        self.seen.add(address)
                        self._fetch(address)

    def _fetch(self, address: str) -> None:
        answer: Any = self.web.get(address, accept_encoding="gzip, br, zstd")
        assert answer.status_code == 200
        self.web.get(address, accept_encoding="gzip")
        self.web.head(address)
        if "ETag" in answer:
            self.web.get(address, if_none_match=answer["ETag"])

    def try_too_early(self, state: Json) -> None:
        """What is not shown yet, or never: a case that is not prefetched, another reader's, none at all, its images."""
        prefetched = {case["id"] for case in state["cases"]}
        mine = places_of(self.world.enrolment, Block(state["block"]))
        ahead = [place for place in mine if place.public_id not in prefetched]
        theirs = places_of(self.world.others[0])[0]
        for name in (*[place.public_id for place in ahead[-1:]], theirs.public_id, NOBODY):
            self.ask("open", name)
            self.ask("commit", name, key=self._key(), option="A")
        self._try_image(ahead[-1] if ahead else theirs)
        first = state["cases"][0]["id"]
        self.web.get(reverse("reading-open", args=[self.slug, first]))
        self.ask("commit", state["cases"][-1]["id"], key=self._key(), option="A")
        self.ask("choice", first, option="A", sequence="x")

    def _try_image(self, place: PresentedCase) -> None:
        image = Image.objects.filter(exam=place.case.revision.question.exam_id)[0]
        for rendition in image.renditions.order_by("pk")[:2]:
            if reverse("rendition", args=[rendition.name]) not in self.seen:
                self.web.get(reverse("rendition", args=[rendition.name]))

    def tell(self, case: Json, kind: str) -> Any:
        return self.ask("events", case["id"], page=PAGE, events=json.dumps([self._event(kind)]))

    def commit(self, case: Json, option: str, *, is_clumsy: bool) -> Any:
        """Rightly; where the reader is clumsy also before everything is painted, again, and with another answer."""
        key = self._key()
        if is_clumsy:
            self.ask("commit", case["id"], key=key, option=option)
        told = [self._event("painted", views=[view["id"] for view in case["views"]]), self._event("submitted")]
        sent = {"key": key, "option": option, "page": PAGE, "events": json.dumps(told)}
        answer = self.ask("commit", case["id"], **sent)
        if is_clumsy:
            self.ask("commit", case["id"], **sent)
            self.ask("commit", case["id"], **{**sent, "key": self._key(), "option": "ABCD"["BCDA".index(option)]})
        return answer

    def decline(self, case: Json, guess: str) -> None:
        """Cannot tell, and after nonsense a best guess; the page is loaded again in between."""
        told = [self._event("painted", views=[view["id"] for view in case["views"]]), self._event("submitted")]
        sent = {"key": self._key(), "declined": "yes", "page": PAGE, "events": json.dumps(told)}
        assert self.ask("commit", case["id"], **sent).status_code == 200
        assert self.state()["last"]["needs_guess"]
        for value in ("E", "", guess):
            said = self.ask("remark", case["id"], key=self._key(), kind="guess", value=value)
        assert said.status_code == 200, said.content
        self.state()

    def say_more(self, case: Json, option: str) -> None:
        """A slip, a fault, nonsense; another page that takes the write lease, a page that has lost it."""
        self.ask("remark", case["id"], key=self._key(), kind="slip", value="ABCD"["BCDA".index(option)])
        self.ask("remark", case["id"], key=self._key(), kind="fault", text="a line over the apex")
        for kind in ("guess", "opinion"):
            self.ask("remark", case["id"], key=self._key(), kind=kind, value="A")
        lost, self.session = self.session, ""
        self.ask("session")
        self.session = self.ask("session", take="yes").json()["session"]
        self.state(session=lost)

    # --- the clock of the page ------------------------------------------------------------------
    def _next(self) -> int:
        self.sequence += 1
        return self.sequence

    def _key(self) -> str:
        return f"00000000-0000-4000-8000-{self._next():012x}"

    def _event(self, kind: str, **details: Any) -> Json:
        number = self._next()
        return {"sequence": number, "kind": kind, "client_ms": number * 100.0, "details": details}


def _exists(name: str) -> bool:
    """Whether the site has this page by now."""
    try:
        reverse(name, args=["x"])
    except NoReverseMatch:
        return False
    return True

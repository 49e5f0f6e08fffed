"""A prompt in two versions whose questions are reviewed, with flags and comments."""

from __future__ import annotations

from annotation.enums import Flag, RoundState
from tests.annotation.feedback.made import generated, questions_prompt, reviewed
from tests.annotation.review.cases import make_bank, make_round
from tests.browser.pages.place import Place


def judge_prompts(place: Place) -> None:
    bank = make_bank("Written by models")
    name, people = place.named("questions of a model")[:100], place.people
    first = questions_prompt(1, name=name, reason=place.said("Our first words."))
    second = questions_prompt(2, name=name, reason=place.said("No finding that is merely not mentioned."), parent=first)
    closed = make_round(state=RoundState.CLOSED, n_questions=0, name="Of prompts")
    for version, numbers in ((first, range(1, 25)), (second, range(31, 43))):
        _run, questions = generated(bank, version, numbers)
        flags = [Flag.SEVERAL_VALID] if version == first else [Flag.UNSOUND]
        said = place.said("The second option is right as well.")
        reviewed(closed, people["nora"], dict.fromkeys(questions[:5], flags), comment=said, verdict="revise")
        reviewed(closed, people["nora"], {one: [] for one in questions[5:]})
    place.things |= {"flagged first": first, "flagged second": second}

"""The bar above the pages of a design: six steps, which of them are ready, which one is shown."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from readerstudy.design.overview import StudyLine
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy

STEPS = {
    "study-cases": gettext_lazy("Cases"),
    "study-arms": gettext_lazy("Arms"),
    "study-rules": gettext_lazy("Rules"),
    "study-readers": gettext_lazy("Readers"),
    "study-dry-run": gettext_lazy("Dry run"),
    "study-freeze": gettext_lazy("Freeze"),
}


@dataclass(frozen=True)
class DesignStep:
    name: str
    label: str
    url: str
    is_done: bool
    is_current: bool


def steps_of(study: ReaderStudy, current: str = "", *, n_cases: int) -> list[DesignStep]:
    """The steps of a study. A dry run leaves no trace, so that nobody can say whether it was made."""
    frozen = study.state != StudyState.DRAFT
    done = {
        "study-cases": n_cases > 0,
        "study-arms": True,  # one arm stands from the beginning
        "study-rules": bool(study.consent and study.instructions and study.contact),
        "study-readers": study.n_readers > 0,
        "study-freeze": frozen,
    }
    return [
        DesignStep(name, str(label), reverse(name, args=[study.slug]), frozen or done.get(name, False), name == current)
        for name, label in STEPS.items()
    ]


@dataclass(frozen=True)
class NextStep:
    """The one thing to do next with a study."""

    sentence: str
    label: str
    url: str
    is_act: bool = False  # asked for by POST, and confirmed


def next_of(line: StudyLine) -> NextStep | None:
    """What comes next; None for a study that is over."""
    study = line.study
    if study.state == StudyState.DRAFT:
        return _next_of_draft(line)
    if study.state == StudyState.FROZEN:
        sentence = _("The design is frozen. Readers can read as soon as the study is open.")
        return NextStep(sentence, _("Open the study"), reverse("study-open", args=[study.slug]), is_act=True)
    return None


def _next_of_draft(line: StudyLine) -> NextStep:
    sentences = {
        "study-cases": _("Choose the cases first: everything else depends on them."),
        "study-rules": _("Readers need a consent text, instructions and a contact."),
    }
    steps = steps_of(line.study, n_cases=line.n_cases)
    for step in steps:
        if not step.is_done and step.name in sentences:
            return NextStep(sentences[step.name], step.label, step.url)
    sentence = _("Walk through as a reader, then freeze the design.")
    return NextStep(sentence, _("Check and freeze"), steps[-1].url)

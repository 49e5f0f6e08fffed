from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from annotation.call_enums import BatchState
from annotation.enums import AssignmentState, QuestionState, RoundState, RoundSteps
from annotation.model_calls.kernels.pacing import BATCH_TRANSITIONS
from annotation.questionbank.kernels.entries import QUESTION_TRANSITIONS
from annotation.review.kernels.transitions import ROUND_TRANSITIONS
from annotation.review.kernels.transitions import TRANSITIONS as ASSIGNMENT_TRANSITIONS
from readerstudy.enums import StudyState
from readerstudy.study.kernels.states import ACTS, CASE_TRANSITIONS, CaseState
from readerstudy.study.kernels.states import TRANSITIONS as STUDY_TRANSITIONS

HEAD = """# States

Made by `manage.py write_states` from the tables of states in the code; a test compares them.
"""
Arrow = tuple[str, str, str]  # from, to, by which act; the act may be empty


def states_document() -> str:
    """Markdown with one Mermaid diagram for each thing that has states."""
    studies = ((a, b, ACTS[b]) for a, after in STUDY_TRANSITIONS.items() for b in after)
    return "".join(
        [
            HEAD,
            _diagram("A question", QuestionState.IMPORTED, _arrows(QUESTION_TRANSITIONS)),
            _diagram("A review round", RoundState.DRAFT, _arrows(ROUND_TRANSITIONS)),
            *(
                _diagram(
                    f"An assignment in a round with the steps: {RoundSteps(steps).label}",
                    AssignmentState.WAITING,
                    ((a, b, act) for (a, act), b in table.items()),
                )
                for steps, table in ASSIGNMENT_TRANSITIONS.items()
            ),
            _diagram("A reader study", StudyState.DRAFT, studies),
            _diagram(
                "A case in the order of a reader",
                CaseState.WAITING,
                ((a, b, act) for (a, act), b in CASE_TRANSITIONS.items() if a != b),
            ),
            _diagram("The calls of a model run", BatchState.PLANNED, _arrows(BATCH_TRANSITIONS)),
        ]
    )


def _arrows(table: Mapping[Any, Iterable[Any]]) -> Iterable[Arrow]:
    return ((state, following, "") for state, after in table.items() for following in after)


def _diagram(title: str, first: str, arrows: Iterable[Arrow]) -> str:
    """A heading, and what leads where in Mermaid, whose names hold no blanks."""
    written = sorted((_word(state), _word(following), str(act)) for state, following, act in arrows)
    lines = [f"    {state} --> {following}" + (f": {act}" if act else "") for state, following, act in written]
    return "\n".join(
        [f"\n## {title}\n\n```mermaid", "stateDiagram-v2", f"    [*] --> {_word(first)}", *lines, "```", ""]
    )


def _word(state: str) -> str:
    return str(state).replace(" ", "_")


class Command(BaseCommand):
    help = "Write docs/states.md from the tables of states."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "states.md").write_text(states_document())

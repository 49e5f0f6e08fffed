from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from annotation.call_enums import BatchState
from annotation.model_calls.kernels.pacing import BATCH_TRANSITIONS
from annotation.review.kernels.transitions import assignment_states, diagram, question_states, round_states
from readerstudy.study.kernels.states import place_states, study_states

HEAD = """# States

Made by `manage.py write_states` from the tables of states in the code; a test compares them.
"""


def states_document() -> str:
    """Markdown with one Mermaid diagram for each thing that has states."""
    batches = {(str(a), str(b), "") for a, following in BATCH_TRANSITIONS.items() for b in following}
    calls = diagram("The calls of a model run", BatchState.PLANNED, batches)
    return HEAD + question_states() + round_states() + assignment_states() + study_states() + place_states() + calls


class Command(BaseCommand):
    help = "Write docs/states.md from the tables of states."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "states.md").write_text(states_document())

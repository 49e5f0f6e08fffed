from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from annotation.review.kernels.transitions import assignment_states, question_states, round_states
from readerstudy.conducting.diagrams import place_states, study_states

HEAD = """# States

Made by `manage.py write_states` from the tables of states in the code; a test compares them.
"""


def states_document() -> str:
    """Markdown with one Mermaid diagram for each thing that has states."""
    return HEAD + question_states() + round_states() + assignment_states() + study_states() + place_states()


class Command(BaseCommand):
    help = "Write docs/states.md from the tables of states."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "states.md").write_text(states_document())

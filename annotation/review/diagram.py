"""The table of states as text and as a diagram, so that the documentation is made from what the program does."""

from __future__ import annotations

from annotation.enums import AssignmentState, RoundSteps
from annotation.review.transitions import TRANSITIONS

HEAD = """# States

Made by `manage.py write_states` from the table in `annotation/review/transitions.py`; a test compares them.
"""


def states_document() -> str:
    """Markdown with one Mermaid diagram for each kind of round."""
    return HEAD + "".join(_diagram(RoundSteps(steps)) for steps in TRANSITIONS)


def _diagram(steps: RoundSteps) -> str:
    arrows = sorted({(state, str(following), act) for (state, act), following in TRANSITIONS[steps].items()})
    lines = [f"    {state} --> {following}: {act}" for state, following, act in arrows]
    title = f"\n## An assignment in a round with the steps: {steps.label}\n\n"
    return "\n".join(
        [title + "```mermaid", "stateDiagram-v2", f"    [*] --> {AssignmentState.WAITING}", *lines, "```", ""]
    )

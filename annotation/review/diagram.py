"""The table of states as text and as a diagram, so that the documentation is made from what the program does."""

from __future__ import annotations

from collections.abc import Callable

from annotation.enums import AssignmentState, RoundSteps
from annotation.review.kernels.transitions import TRANSITIONS

HEAD = """# States

Made by `manage.py write_states` from the tables of states in the code; a test compares them.
"""
Arrow = tuple[str, str, str]  # from, to, by which act; the act may be empty
Section = Callable[[], str]
_sections: dict[str, Section] = {}


def register(name: str, section: Section) -> None:
    """Let another app add a part to the document; see ``diagram``. Apps call this when they start."""
    if _sections.setdefault(name, section) is not section:
        raise ValueError(f"a part named {name} is there already")


def states_document() -> str:
    """Markdown with one Mermaid diagram for each kind of round, and those of other apps."""
    return (
        HEAD + "".join(_of_round(RoundSteps(steps)) for steps in TRANSITIONS) + "".join(s() for s in _sections.values())
    )


def diagram(title: str, first: str, arrows: set[Arrow]) -> str:
    """One part of the document: a heading and what leads where."""
    lines = [f"    {state} --> {following}" + (f": {act}" if act else "") for state, following, act in sorted(arrows)]
    return "\n".join([f"\n## {title}\n\n```mermaid", "stateDiagram-v2", f"    [*] --> {first}", *lines, "```", ""])


def _of_round(steps: RoundSteps) -> str:
    arrows = {(str(state), str(following), str(act)) for (state, act), following in TRANSITIONS[steps].items()}
    return diagram(f"An assignment in a round with the steps: {steps.label}", AssignmentState.WAITING, arrows)

"""What a team says of its model: the list of questions, what is missing in the answers, and the model card. Pure."""

from __future__ import annotations

FORM = "statement-1"  # change the name when the list changes

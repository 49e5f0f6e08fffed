"""What stops the finished study of the demonstration."""

from __future__ import annotations


class FinishedStudyRefused(Exception):
    """An ordinary act refused a part of the finished study; the text says which."""

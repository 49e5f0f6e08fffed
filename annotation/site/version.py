"""The version of this program: stored with every analysis, printed in every report. Pure."""

from __future__ import annotations

VERSION = "0.1.0"

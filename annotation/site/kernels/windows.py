"""The smallest browser windows that a round or a study can ask for: width and height in CSS pixels."""

from __future__ import annotations

# Below the first pair a demand says nothing, above the second no ordinary screen can meet it.
LEAST_WINDOW, MOST_WINDOW = (640, 400), (3840, 2160)

"""A prompt that comes with the program, as it is in the code. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.call_enums import PromptPurpose, SentImages
from annotation.prompts.kernels.answer_schemas import prompt_sha256


@dataclass(frozen=True)
class ShippedPrompt:
    """Where this changes, it is stored as the next version when it is needed next; what was asked with it stays."""

    name: str
    text: str
    variables: tuple[str, ...]
    reason: str
    purpose: PromptPurpose = PromptPurpose.ANSWER
    images: SentImages = SentImages.NONE
    instruction: str = ""
    schema: str = ""

    @property
    def sha256(self) -> str:
        """As its stored version has it."""
        return prompt_sha256(
            instruction=self.instruction,
            text=self.text,
            variables=self.variables,
            images=self.images.value,
            schema=self.schema,
        )

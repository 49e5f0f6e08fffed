"""What an import of a batch would do, without doing it, and the counts of what one did."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.questionbank.kernels.batches import Batch, ExamRow, QuestionRow
from annotation.questionbank.known import (
    KnownQuestion,
    arrived_images,
    is_unchanged,
    known_exams,
    known_questions,
    roots_of,
)


@dataclass(slots=True)
class Counts:
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    exams: int = 0
    images: int = 0

    def add(self, other: Counts) -> None:
        self.created += other.created
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.exams += other.exams
        self.images += other.images


class BatchComparison:
    """What an import of these batches would do, without doing it. ``bank_id`` is None for a bank to be made."""

    def __init__(self, bank_id: int | None, root: str) -> None:
        self.counts = Counts()
        self._bank_id = bank_id
        self._root = root
        self._roots = set() if bank_id is None else roots_of(bank_id, root)
        self._seen_exams: set[int] = set()
        self._seen_images: set[int] = set()

    def compare(self, batch: Batch) -> list[tuple[str, str]]:
        """Key and "created", "updated" or "unchanged" of every question that is not refused."""
        known = {} if self._bank_id is None else known_questions(self._bank_id, batch.questions)
        acts = [(row.key, _act_on(row, known)) for row in batch.questions]
        for _key, act in acts:
            setattr(self.counts, act, getattr(self.counts, act) + 1)
        wanted = {row.exam for row, (_key, act) in zip(batch.questions, acts, strict=True) if act != "unchanged"}
        self._count_exams([batch.exams[index] for index in sorted(wanted)])
        return acts

    def _count_exams(self, exams: list[ExamRow]) -> None:
        stored = {} if self._bank_id is None else known_exams(self._bank_id, exams, self._roots)
        images = [image for exam in exams for image in exam.images]
        arrived = arrived_images(self._bank_id, self._root, images)
        for exam in exams:
            known = stored.get(exam.key)
            if known is None and exam.key_digest not in self._seen_exams:
                self._seen_exams.add(exam.key_digest)
                self.counts.exams += not any(image.path in arrived for image in exam.images)
            for image in exam.images:
                is_new = image.path not in arrived and not (known and image.path in known.paths)
                if is_new and image.path_digest not in self._seen_images:
                    self._seen_images.add(image.path_digest)
                    self.counts.images += 1


def _act_on(row: QuestionRow, known: dict[str, KnownQuestion]) -> str:
    if row.key not in known:
        return "created"
    return "unchanged" if is_unchanged(row, known) else "updated"

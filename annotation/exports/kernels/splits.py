"""The splits of a release: every patient in one of them, each task and category in the shares asked for. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256

from annotation.enums import Split

Shares = Mapping[Split, int]  # percent
Stratum = tuple[str, str]  # task and category


def faults_of_shares(shares: Shares) -> str:
    """What is wrong, in a sentence; empty: nothing."""
    if any(share < 0 for share in shares.values()) or sum(shares.values()) != 100:
        told = ", ".join(f"{split} {share}" for split, share in shares.items())
        return f"The shares of the splits are whole percent, none below 0, that add up to 100; these are {told}."
    return ""


def split_patients(
    patients: Mapping[str, Counter[Stratum]], shares: Shares, seed: int, known: Mapping[str, Split]
) -> dict[str, Split]:
    """The split of each patient, of whom the counts are their questions; who is ``known`` stays where they were.

    In an order that the seed draws, a hash of seed and patient, each goes where most is missing of what they have: of
    questions in all, of their tasks, and of their categories in these, each by its share, so that what is rare decides
    no more than what is frequent.
    """
    wanted = {split: share / 100 for split, share in shares.items() if share}
    parts = {patient: _parts(own) for patient, own in patients.items()}
    total: Counter[Stratum] = sum(parts.values(), Counter())
    held = {split: Counter[Stratum]() for split in Split}
    found = {patient: known[patient] for patient in patients if patient in known}
    for patient, split in found.items():
        held[split].update(parts[patient])
    rest = [patient for patient in patients if patient not in found]
    for patient in sorted(rest, key=lambda one: sha256(f"{seed} {one}".encode()).digest()):
        own = parts[patient]

        def missing(split: Split, own: Counter[Stratum] = own) -> float:
            return sum(n * (1 - held[split][one] / (wanted[split] * total[one])) for one, n in own.items())

        found[patient] = max(wanted, key=missing)
        held[found[patient]].update(own)
    return found


def _parts(own: Counter[Stratum]) -> Counter[Stratum]:
    """With all of them, and those of each task."""
    found = own.copy()
    for (task, _category), n in own.items():
        found["", ""] += n
        found[task, ""] += n
    return found

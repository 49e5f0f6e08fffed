"""The rows of a Parquet file as text, as those of any table of questions. Pure; pyarrow may not be installed.

Sizes are looked up before anything is unpacked. A list is a cell with "|" between its parts; other values are text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, BinaryIO

from annotation.questionbank.kernels.sheets import MOST_COLUMNS
from annotation.questionbank.kernels.strictjson import unreadable

MAGIC = b"PAR1"
MOST_BYTES = 4_000_000_000  # of all columns, unpacked
MOST_GROUP_BYTES = 256_000_000
AT_ONCE = 1_000  # rows
_NO_PARQUET = (
    "The file is Parquet, which is off here, since pyarrow is not installed; “make setup EXTRAS=parquet” installs "
    "it, or send CSV or JSON Lines"
)


def cell_of_parquet(value: Any) -> str:
    """The text of one value."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "|".join(map(cell_of_parquet, value))
    return value if isinstance(value, str) else str(value)


def lines_of_parquet(
    stream: BinaryIO, cell_of: Callable[[Any], str] = cell_of_parquet
) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each row, first the names of the columns. Raises BankRefused."""
    if find_spec("pyarrow") is None:
        raise unreadable("parquet_off", _NO_PARQUET)
    import pyarrow as pa  # here, since every start of the program would wait for it
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream)
        _check_sizes(file.metadata)
        names = list(file.schema_arrow.names)
        yield 1, names
        number = 1
        for batch in file.iter_batches(batch_size=AT_ONCE):
            columns = [column.to_pylist() for column in batch.columns]
            for cells in zip(*columns, strict=True):
                number += 1
                yield number, [cell_of(cell) for cell in cells]
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise unreadable("form", "The file is not Parquet, or broken") from None


def _check_sizes(metadata: Any) -> None:
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    if max(sizes, default=0) > MOST_GROUP_BYTES or sum(sizes) > MOST_BYTES or min(sizes, default=0) < 0:
        raise unreadable("too_large", "The Parquet file is too large. Write smaller groups of rows, or JSON Lines")
    if metadata.num_columns > MOST_COLUMNS:
        raise unreadable("columns", f"The Parquet file has more than {MOST_COLUMNS} columns")

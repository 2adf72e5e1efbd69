"""Read the markdown tables in which the stages are specified."""

from __future__ import annotations

from pathlib import Path


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of the one table in a file, by column heading.

    Text around the table is left out.
    """
    lines = [
        line.strip()
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith("|")
    ]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in (line.strip("| ") for line in lines)
    ]
    heading, rows = cells[0], cells[2:]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(heading):
            raise ValueError(
                f"{path.name}, row {number}: {len(row)} cells, expected {len(heading)}"
            )
    return [dict(zip(heading, row, strict=True)) for row in rows]

"""What a notebook shows of a result."""

from __future__ import annotations

import copy
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import Cell, Result, Table

#: The media type of the version of Vega-Lite that the report uses.
VEGA_LITE = "application/vnd.vegalite.v6+json"

#: Rows of a table, at most.
ROWS_MAX = 200

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")),
    "bytes": ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "bytes_per_s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")),
}


def figure(value: object, unit: str) -> str:
    """A figure for people, with four significant digits."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if unit in ("ratio", "off_ratio"):
        return f"{100 * value:.4g} %"
    for worth, name in _STEPS.get(unit, ()):
        if abs(value) >= worth or worth == 1:
            return f"{value / worth:.4g} {name}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    shown = escape(figure(cell.value, cell.unit))
    if cell.published is not None:
        printed = cell.printed or figure(cell.published, cell.unit)
        shown += f"<br><small>{escape(printed)} {escape(cell.verdict or '')}</small>"
    align = "right" if isinstance(cell.value, (int, float)) else "left"
    return f'<td style="text-align: {align}">{shown}</td>'


def table(table: Table) -> str:
    """A table, with published figures below ours."""
    head = "".join(f"<th>{escape(column.title)}</th>" for column in table.columns)
    rows = []
    for row in table.rows[:ROWS_MAX]:
        cells = "".join(_cell(row.cells.get(column.id)) for column in table.columns)
        title = escape(row.title or row.id)
        rows.append(f'<tr><th style="text-align: left">{title}</th>{cells}</tr>')
    rest = len(table.rows) - ROWS_MAX
    more = f"<p>and {rest} more rows</p>" if rest > 0 else ""
    return (
        f"<table><caption>{escape(table.title)}</caption><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{more}"
    )


def result(result: Result) -> str:
    """A result: what it found, and its tables."""
    findings = "".join(f"<li>{escape(finding)}</li>" for finding in result.findings)
    warnings = "".join(f"<p><b>Warning:</b> {escape(one)}</p>" for one in result.warnings)
    tables = "".join(table(one) for one in result.tables)
    return (
        f"<h3>{escape(result.title)}</h3>{warnings}"
        + (f"<ul>{findings}</ul>" if findings else "")
        + tables
    )


def chart_bundle(title: str, caption: str, spec: dict[str, Any]) -> dict[str, Any]:
    """What a notebook draws a chart from; the size is for its column."""
    height = spec.get("usermeta", {}).get("height", 300)
    drawn = copy.copy(spec)
    drawn.setdefault("title", title)
    drawn.setdefault("width", 640)
    drawn.setdefault("height", height)
    return {VEGA_LITE: drawn, "text/plain": f"{title}\n{caption}"}

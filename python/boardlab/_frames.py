"""Tables as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._result import Cell, Field, Table

#: What installs a library.
INSTALL = {"polars": "polars", "pandas": "pandas", "pyarrow": "arrow"}


class Frame(NamedTuple):
    """Columns and their values."""

    fields: tuple[Field, ...]
    values: list[list[Any]]


def frame(table: Table, published: bool) -> Frame:
    """The columns of a table: the id and the title of the rows, and the figures."""
    from ._result import Field

    fields = [Field("row", "", "str", "row")]
    values: list[list[Any]] = [[row.id for row in table.rows]]
    if any(row.title for row in table.rows):
        fields.append(Field("title", "", "str", "title"))
        values.append([row.title for row in table.rows])
    for column in table.columns:
        cells = [row.cells.get(column.id) for row in table.rows]
        unit = _unit(cells)
        kind, own = _typed([None if cell is None else cell.value for cell in cells])
        fields.append(Field(column.id, unit, kind, column.title))
        values.append(own)
        if published and any(cell is not None and cell.published is not None for cell in cells):
            kind, print_ = _typed([None if cell is None else cell.published for cell in cells])
            fields.append(Field(f"{column.id}.published", unit, kind, f"{column.title}, published"))
            values.append(print_)
            fields.append(Field(f"{column.id}.verdict", "", "str", f"{column.title}, verdict"))
            values.append([None if cell is None else cell.verdict for cell in cells])
    return Frame(tuple(fields), values)


def _unit(cells: list[Cell | None]) -> str | None:
    units = {
        cell.unit for cell in cells if cell is not None and isinstance(cell.value, (int, float))
    }
    return units.pop() if len(units) == 1 else ("" if not units else None)


def _typed(values: list[Any]) -> tuple[str, list[Any]]:
    """The type that all of `values` have, and the values in it."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and kinds:
        return "int", values
    if kinds <= {int, float} and kinds:
        return "float", [None if value is None else float(value) for value in values]
    return "str", [None if value is None else str(value) for value in values]


def _library(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        extra = INSTALL[name]
        raise ImportError(
            f"this needs {name}, which is not installed: pip install 'boardlab[{extra}]'",
            name=name,
        ) from error


def to_polars(table: Table, published: bool) -> Any:
    """A data frame of polars."""
    polars = _library("polars")
    types = {"int": polars.Int64, "float": polars.Float64, "str": polars.String}
    fields, values = frame(table, published)
    schema = {field.name: types[field.type] for field in fields}
    return polars.DataFrame(
        {field.name: own for field, own in zip(fields, values)}, schema=schema, strict=True
    )


def to_pandas(table: Table, published: bool) -> Any:
    """A data frame of pandas."""
    pandas = _library("pandas")
    types = {"int": "Int64", "float": "Float64", "str": "string"}
    fields, values = frame(table, published)
    columns = {
        field.name: pandas.array(own, dtype=types[field.type])
        for field, own in zip(fields, values)
    }
    data = pandas.DataFrame(columns)
    data.attrs["units"] = {field.name: field.unit for field in fields if field.unit}
    return data


def to_arrow(table: Table, published: bool) -> Any:
    """A table of Arrow."""
    arrow = _library("pyarrow")
    types = {"int": arrow.int64(), "float": arrow.float64(), "str": arrow.string()}
    fields, values = frame(table, published)

    def field_of(field: Field) -> Any:
        metadata = {"title": field.title}
        if field.unit:
            metadata["unit"] = field.unit
        return arrow.field(field.name, types[field.type], metadata=metadata)

    schema = arrow.schema(
        [field_of(field) for field in fields], metadata={"id": table.id, "title": table.title}
    )
    return arrow.table(values, schema=schema)

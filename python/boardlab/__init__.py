"""boardlab: a performance laboratory for embedded boards.

How fast will a flash part, a driver, a filesystem, a card or an SSD be? What limits it, how long
will it live, and what does a power cut leave behind? boardlab computes it on models built from data
sheets and real algorithms, in virtual time, and puts published figures beside its own.

    import boardlab

    result = boardlab.run("nor-write")                    # a built-in scenario
    print(result)                                         # as the command line prints it
    table = result.tables["table5"]
    print(table["total", "total_ns"].value)               # virtual time, in nanoseconds
    frame = table.to_polars(published=True)               # beside the published figures
    slow = boardlab.run("nor-write", set={"linux.wait": "300 us"}, seed=7)

Functions: run, tune, life, powercut, advise, sweep, reproduce; boardlab.image for flash images;
parts, boards and scenarios for what there is. Each takes the name of a scenario, the path of its
file, or a Scenario.

Units. Numbers have the unit that ends the name of their column or their key: _ns, _bytes,
_bytes_per_s, _count, _ratio. Table.schema and the metadata of Arrow say it too. Values that you set
are texts with their unit: "256 us", "128 KiB", "33.3 MHz".

Errors. Every exception of boardlab is a boardlab.Error. InputError, RunError and ImageError have
the message of the command line, and its parts: place, found, expected, help. InternalError is a
defect of boardlab.

Equal scenarios, settings, seeds and versions give equal bytes: Result.json is what `boardlab run
--format json --no-wall-time` prints.

Threads. Runs release the interpreter's lock. Several runs may go on at a time, in threads and in
processes, also after a fork. Ctrl-C ends a run within a second; a run in another thread than the
main one does not see it, as always in Python.

Source: the experiments, models and formats are described in the documents of boardlab; the compiled
half of this package is the crate crates/python.
"""

from . import image, policies, traces
from ._boardlab import VERSION as __version__
from ._errors import Error, ImageError, InputError, InternalError, Place, RunError
from ._result import (
    Agreement,
    Attachment,
    Cell,
    Chart,
    Column,
    Curve,
    Difference,
    Field,
    Parameter,
    Publication,
    Reproduction,
    Result,
    Row,
    Table,
    Tables,
)
from ._run import SweepResult, advise, life, powercut, reproduce, run, sweep, tune
from ._scenario import Board, Key, Part, Scenario, Value, boards, parts, scenarios

__all__ = [
    "Agreement",
    "Attachment",
    "Board",
    "Cell",
    "Chart",
    "Column",
    "Curve",
    "Difference",
    "Error",
    "Field",
    "ImageError",
    "InputError",
    "InternalError",
    "Key",
    "Parameter",
    "Part",
    "Place",
    "Publication",
    "Reproduction",
    "Result",
    "Row",
    "RunError",
    "Scenario",
    "SweepResult",
    "Table",
    "Tables",
    "Value",
    "__version__",
    "advise",
    "boards",
    "image",
    "life",
    "parts",
    "policies",
    "powercut",
    "reproduce",
    "run",
    "scenarios",
    "sweep",
    "traces",
    "tune",
]

"""Sweeps, lifetimes and power cuts on many processes and machines, carried by Dask.

    from boardlab import fleet

    swept = fleet.sweep("nor-write", {"linux.wait": ["170 us", "200 us"], "seed": range(1, 1001)})
    swept.frame().collect()                      # a data frame, a row a point
    fleet.lives("sd-life", 10_000, client)       # on any cluster of Dask

A sweep is cut into batches, each a task of Dask. Every batch is a file of Parquet in the folder of the
sweep, the store, so neither this process nor the scheduler ever holds all points. What has run is not
run again: after a kill, Ctrl-C, or the end of a scheduler the same call goes on. A lost worker loses
one batch, whose size :attr:`Swept.batch` tells.

The points, their seeds and their figures are those of :func:`boardlab.sweep`, to the byte, on any cluster.

Needs Dask and polars: ``pip install 'boardlab[fleet]'``, on the workers too.
"""

from ._cost import Cost, Overhead, cost, measure
from ._lives import Estimate, Lives, lives
from ._refine import Refined, refine
from ._store import Store
from ._sweep import Swept, powercut, sweep

__all__ = [
    "Cost",
    "Estimate",
    "Lives",
    "Overhead",
    "Refined",
    "Store",
    "Swept",
    "cost",
    "lives",
    "measure",
    "powercut",
    "refine",
    "sweep",
]

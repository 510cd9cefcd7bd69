//! Wrong arguments of a sweep, all of them told before any point is run.

use crate::case::Case;

macro_rules! grid {
    ($name:literal, $argument:literal, $place:literal, $says:expr $(,)?) => {
        Case::arguments($name, &["sweep", "nor-write", "--grid", $argument], $says).at($place)
    };
}

/// One wrong argument.
pub(crate) const CASES: &[Case] = &[
    Case::arguments("sweep without grid", &["sweep", "nor-write"], &["--grid <KEY=V,V...>"]),
    Case::arguments(
        "sweep with a kernel that is not there",
        &["sweep", "context-switch", "--grid", "seed=1", "--set", "kernel=no-such.elf"],
        &["`kernel`", "no-such.elf", "no such file"],
    ),
    Case::arguments(
        "sweep on no thread",
        &["sweep", "nor-write", "--grid", "seed=1", "--threads", "0"],
        &["'0'", "from 1 to 1024"],
    ),
    grid!("grid without values", "linux.wait=", "--grid:1:11", &["no values", "VALUE,VALUE"]),
    grid!("grid without an equals sign", "linux.wait", "--grid:1:1", &["has no `=`", "--grid"]),
    grid!("grid with an empty value", "seed=1,,2", "--grid:1:8", &["a value is empty"]),
    grid!(
        "grid over an unknown key",
        "linux.wayt=1us",
        "--grid:1:7",
        &["unknown key `wayt` in `linux`", "did you mean `wait`?"]
    ),
    grid!(
        "grid with a value of another unit",
        "linux.wait=1us,1KiB",
        "--grid:1:16",
        &["`linux.wait`: `1KiB` has `KiB`, a unit of size"]
    ),
    grid!(
        "grid with a number beyond the limits",
        "board.bus.chips=1,99",
        "--grid:1:19",
        &["`99` is not from 1 to 16"]
    ),
    grid!(
        "grid over an unknown part",
        "part=nor-eval",
        "--grid:1:6",
        &["unknown part `nor-eval`", "did you mean `nor-evaluation`?"]
    ),
    Case::arguments(
        "grid over a key that no point uses",
        &["sweep", "card-fio", "--grid", "part.slc_cache.folding=valid,whole"],
        &["has no effect with slc_cache.size = \"none\"", "set the size to fixed or dynamic"],
    )
    .at("--grid:1:"),
    Case::arguments(
        "--set of a key that no point uses",
        &["sweep", "card-fio", "--grid", "seed=1,2", "--set", "part.slc_cache.folding=whole"],
        &["`whole` has no effect with slc_cache.size"],
    )
    .at("--set:1:"),
    grid!("grid with a value twice", "seed=1,2,1", "--grid:1:10", &["a value is given twice"]),
    grid!("grid with a range that goes down", "seed=5..1", "--grid:1:6", &["goes down", "1..8"]),
    grid!("grid with a wrong seed", "seed=1,one", "--grid:1:8", &["a seed is not a whole number"]),
    grid!(
        "grid with too long a range",
        "seed=1..100000",
        "--grid:1:6",
        &["100000 points, more than 10000"]
    ),
    Case::arguments(
        "grid with too many points",
        &["sweep", "nor-write", "--grid", "seed=1..200", "--grid", "board.bus.chips=1..200"],
        &["the grid has 40000 points, more than 10000", "several sweeps"],
    ),
    Case::arguments(
        "grid with a key twice",
        &["sweep", "nor-write", "--grid", "seed=1", "--grid", "seed=2"],
        &["`seed` is given twice, here and by another --grid"],
    )
    .at("--grid:1:1"),
    Case::arguments(
        "grid over a key that is set",
        &["sweep", "nor-write", "--set", "linux.wait=1us", "--grid", "linux.wait=2us"],
        &["`linux.wait` is given twice, here and by --set"],
    )
    .at("--grid:1:1"),
    Case::arguments(
        "cell that is none",
        &["sweep", "nor-write", "--grid", "seed=1", "--cell", "table5/total"],
        &["a cell is named by three parts", "TABLE/ROW/COLUMN"],
    )
    .at("--cell:1:1"),
    Case::arguments(
        "sweep into a folder that cannot be made",
        &["sweep", "nor-write", "--grid", "seed=1", "--out", "/proc/boardlab"],
        &["cannot write `/proc/boardlab`", "name another folder with --out"],
    )
    .at("/proc/boardlab"),
];

//! The texts of tiotest: the tables that it prints, and the terse lines that tiobench.pl reads.
//!
//! Layer: rank 6, part of [`tiobench`](crate::tiobench). Source: `print_results` of `tiotest.c`,
//! versions 0.3.5 and 0.4.2. User time is always 0 here: the program takes no time between its calls.

use super::{Results, Test, TestResult};
use boardlab_sim::{Duration, Phase};
use std::fmt::{self, Write};

/// The numbers of a row.
struct Row {
    megabytes: f64,
    seconds: f64,
    system: f64,
    latency: Latency,
}

/// The columns of latency: milliseconds, milliseconds, percent, percent.
struct Latency {
    average: f64,
    maximum: f64,
    over_2_s: f64,
    over_10_s: f64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    let whole = Duration::from_nanos(whole).as_secs_f64();
    if whole > 0.0 { Duration::from_nanos(part).as_secs_f64() / whole } else { 0.0 }
}

impl Latency {
    fn of(phase: &Phase, over_2_s: u64, over_10_s: u64) -> Self {
        let milliseconds =
            |span: Option<Duration>| span.map_or(0.0, |span| span.as_secs_f64() * 1e3);
        Self {
            average: milliseconds(phase.mean()),
            maximum: milliseconds(phase.max()),
            over_2_s: ratio(over_2_s, phase.count()) * 100.0,
            over_10_s: ratio(over_10_s, phase.count()) * 100.0,
        }
    }

    /// The end of a row of the second table.
    fn columns(&self) -> String {
        let Self { average, maximum, over_2_s, over_10_s } = self;
        format!("| {average:12.3} ms | {maximum:12.3} ms | {over_2_s:8.5} | {over_10_s:9.5} |")
    }

    fn terse(&self) -> String {
        let Self { average, maximum, over_2_s, over_10_s } = self;
        format!("{average:.5},{maximum:.5},{over_2_s:.5},{over_10_s:.5}")
    }
}

impl Row {
    fn of(measured: &TestResult) -> Self {
        Self {
            megabytes: ratio(measured.bytes.get(), 1 << 20),
            seconds: measured.elapsed.as_secs_f64(),
            system: measured.cpu.as_secs_f64(),
            latency: Latency::of(&measured.latency, measured.over_2_s, measured.over_10_s),
        }
    }
}

impl Results {
    fn of(&self, test: Test) -> Option<&TestResult> {
        self.measured.iter().find(|measured| measured.test == test)
    }

    fn total(&self) -> Latency {
        let mut all = Phase::new();
        self.measured.iter().for_each(|measured| all.merge(&measured.latency));
        let sum = |of: fn(&TestResult) -> u64| self.measured.iter().map(of).sum();
        Latency::of(&all, sum(|measured| measured.over_2_s), sum(|measured| measured.over_10_s))
    }

    /// The lines of `tiotest -T`: MB, seconds, user and system time, average and longest latency in
    /// ms, percent of latencies over 2 s and over 10 s. A skipped test has zeros.
    #[must_use]
    pub fn terse(&self) -> String {
        let mut text = String::new();
        for (test, name) in Test::ALL.into_iter().zip(["write", "rwrite", "read", "rread"]) {
            let none = || Row {
                megabytes: 0.0,
                seconds: 0.0,
                system: 0.0,
                latency: Latency::of(&Phase::new(), 0, 0),
            };
            let Row { megabytes, seconds, system, latency } =
                self.of(test).map_or_else(none, Row::of);
            let latency = latency.terse();
            let _ =
                writeln!(text, "{name}:{megabytes:.5},{seconds:.5},0.00000,{system:.5},{latency}");
        }
        let _ = writeln!(text, "total:{}", self.total().terse());
        text
    }
}

/// The two tables of tiotest.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(&str, usize); 4] =
            [("Write", 11), ("Random Write", 4), ("Read", 12), ("Random Read", 5)];
        let made = || {
            let named = Test::ALL.into_iter().zip(NAMES);
            named.filter_map(|(test, name)| self.of(test).map(|measured| (Row::of(measured), name)))
        };
        let line = "-".repeat(70);
        writeln!(f, "Tiotest results for {} concurrent io threads:", self.threads)?;
        writeln!(f, ",{line}.")?;
        writeln!(f, "| Item                  | Time     | Rate         | Usr CPU  | Sys CPU |")?;
        writeln!(f, "+-----------------------+----------+--------------+----------+---------+")?;
        for (Row { megabytes, seconds, system, .. }, (name, width)) in made() {
            let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
            let (rate, system) = (per_second(megabytes), per_second(system) * 100.0);
            write!(f, "| {name} {megabytes:width$.0} MBs | {seconds:6.1} s ")?;
            writeln!(f, "| {rate:7.3} MB/s | {:5.1} %  | {system:5.1} % |", 0.0)?;
        }
        writeln!(f, "`{line}'")?;
        writeln!(f, "Tiotest latency results:")?;
        writeln!(f, ",{line}---.")?;
        writeln!(f, "| Item         | Average latency | Maximum latency | % >2 sec | % >10 sec |")?;
        writeln!(f, "+--------------+-----------------+-----------------+----------+-----------+")?;
        for (row, (name, _)) in made() {
            writeln!(f, "| {name:<12} {}", row.latency.columns())?;
        }
        writeln!(f, "|--------------+-----------------+-----------------+----------+-----------|")?;
        writeln!(f, "| {:<12} {}", "Total", self.total().columns())?;
        writeln!(f, "`--------------+-----------------+-----------------+----------+-----------'")
    }
}

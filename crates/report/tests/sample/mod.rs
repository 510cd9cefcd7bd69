//! A result that looks like the NOR evaluation, for the tests of the renderers alone.
//!
//! The figures are plausible, not computed by any model: tables 4 to 6 with published figures, a
//! histogram with marks, a chart with two vertical axes and grouped bars over named steps.

#![allow(dead_code, reason = "each test file uses its own part of the sample")]
#![allow(clippy::unwrap_used, reason = "test code")]

use boardlab_result::{
    Attachment, Axis, Cell, Chart, Curve, Layer, Mark, Origin, Parameter, Publication,
    Reproduction, Row, RunResult, Side, Style, Table, Value, Verdict,
};

/// The whole evaluation, and a second small run.
pub(crate) fn reproduction() -> Reproduction {
    Reproduction::new(vec![nor_write(), with_every_verdict()])
}

/// The NOR evaluation.
pub(crate) fn nor_write() -> RunResult {
    let title = "NOR flash: why writing from Linux is slower than from u-boot";
    let mut run = RunResult::new("nor-write", title, 1, "0.1.0");
    run.virtual_time_ns = 116_023_000_000;
    run.wall_time_ns = Some(843_000_000);
    run.publication = Some(Publication {
        title: "書込み性能".into(),
        translation: "Write performance".into(),
        authors: "Who".into(),
        publisher: "Where".into(),
        date: "2009".into(),
        cited_as: "nor.md".into(),
    });
    findings(&mut run);
    run.tables = vec![table4(), table5(), table6()];
    charts(&mut run);
    parameters(&mut run);
    run.warnings.push(
        "The completion times of the evaluation's part are printed as a range only; their \
         distribution within it is assumed to be triangular."
            .into(),
    );
    run.attachments.push(Attachment {
        name: "linux-6.1-cfi-wait.patch".into(),
        title: "The recommended wait for Linux 6.1".into(),
        text: PATCH.into(),
    });
    run.count_provenance();
    run
}

const PATCH: &str = "\
--- a/drivers/mtd/chips/cfi_cmdset_0002.c
+++ b/drivers/mtd/chips/cfi_cmdset_0002.c
@@ -1987,7 +1987,7 @@ static int __xipram do_write_buffer(struct map_info *map,
 \tINVALIDATE_CACHE_UDELAY(map, chip,
 \t\t\t\tadr, map_bankwidth(map),
-\t\t\t\tchip->word_write_time);
+\t\t\t\tchip->buffer_write_wait);
 
 \tret = do_write_buffer_wait(map, chip, adr, datum);
";

fn findings(run: &mut RunResult) {
    for text in [
        "A fixed wait of 256 us measures as 253.7 us, and 170 us as 168.5 us: `udelay` on PowerPC \
         multiplies by 33 whole ticks a microsecond, but the time base runs at 33.3 MHz.",
        "The 256 us come from the typical time of a single-word program (CFI byte 1Fh, 2^8 us), \
         not of a buffer (20h). Waiting for the buffer time would take 76.5 s.",
        "A poll period of 1.6 us, as the kernel's source gives it, makes table 6 end at 36.2 s. \
         The printed 36.7 s needs a period of about 11 us, which is the one fitted parameter.",
        "With the tuned wait of 176 us and polls each 1 us the same data take 36.1 s.",
    ] {
        run.findings.push(text.into());
    }
}

fn table(id: &str, title: &str, poll: bool) -> Table {
    let mut table = Table::new(id, title)
        .column("mean_ns", "mean")
        .column("min_ns", "min")
        .column("max_ns", "max")
        .column("count", "count")
        .column("total_ns", "total");
    table.source = Some(format!("nor.md, table {}", &id[5..]));
    table.parameters = vec!["bus.write_cycle".into(), "part.program_time".into()];
    if poll {
        table.parameters.push("improved.poll_gap".into());
        table.parameters.push("part.program_distribution".into());
    }
    table
}

/// A cell with the published figure beside it.
fn beside(ours: u64, published: u64, printed: &str, verdict: Verdict) -> Cell {
    let mut cell = Cell::int(ours);
    cell.published = Some(Value::Int(i64::try_from(published).unwrap()));
    cell.printed = Some(printed.into());
    cell.verdict = Some(verdict);
    cell
}

fn step(id: &str, title: &str, mean: Cell, range: (u64, u64), count: u64, total: Cell) -> Row {
    Row::new(id, title)
        .cell("mean_ns", mean)
        .cell("min_ns", Cell::int(range.0))
        .cell("max_ns", Cell::int(range.1))
        .cell("count", beside(count, count, &count.to_string(), Verdict::Pass))
        .cell("total_ns", total)
}

fn table4() -> Table {
    let mut table = table("table4", "u-boot: 64 MiB by 512-byte buffers", false);
    let ms = 1_000_000;
    let mut wait = step(
        "U-6",
        "wait for completion",
        beside(201_381, 200_000, "200 us", Verdict::Close),
        (171_300, 226_900),
        131_072,
        beside(26_395 * ms, 26_200 * ms, "26.2 s", Verdict::Close),
    );
    wait.cells.get_mut("mean_ns").unwrap().finding = Some(2);
    wait.cells.get_mut("total_ns").unwrap().finding = Some(2);
    table.rows = vec![
        step(
            "U-4",
            "issue the command",
            beside(1_141, 1_000, "1 us", Verdict::Pass),
            (1_141, 1_141),
            131_072,
            beside(149_553_152, 131 * ms, "131 ms", Verdict::Pass),
        ),
        step(
            "U-5",
            "fill the buffer",
            beside(73_060, 73_000, "73 us", Verdict::Input),
            (73_060, 73_060),
            131_072,
            beside(9_576_120_320, 9_600 * ms, "9.6 s", Verdict::Input),
        ),
        wait,
        total(36_121_000_000, 35_900, "35.9 s", Verdict::Pass),
    ];
    table
}

fn total(ours: u64, published_ms: u64, printed: &str, verdict: Verdict) -> Row {
    let cell = beside(ours, published_ms * 1_000_000, printed, verdict);
    Row::new("total", "").cell("total_ns", cell)
}

fn table5() -> Table {
    let mut table = table("table5", "Linux 3.4: a fixed wait, then the toggle bit", false);
    let ms = 1_000_000;
    let mut wait = step(
        "L-7",
        "wait for completion",
        beside(254_264, 253_000, "253 us", Verdict::Close),
        (254_264, 254_264),
        131_072,
        beside(33_326_891_008, 33_300 * ms, "33.3 s", Verdict::Pass),
    );
    wait.cells.get_mut("mean_ns").unwrap().finding = Some(0);
    table.rows = vec![
        step(
            "L-3",
            "copy 4 MiB from user space",
            beside(11 * ms, 11 * ms, "11 ms", Verdict::Input),
            (11 * ms, 11 * ms),
            16,
            beside(176 * ms, 176 * ms, "176 ms", Verdict::Input),
        ),
        step(
            "L-6",
            "fill the buffer",
            beside(73_060, 73_000, "73 us", Verdict::Input),
            (73_060, 73_060),
            131_072,
            beside(9_576_120_320, 9_600 * ms, "9.6 s", Verdict::Input),
        ),
        wait,
        total(43_202_000_000, 43_200, "43.2 s", Verdict::Pass),
    ];
    table
}

fn table6() -> Table {
    let mut table = table("table6", "Linux, improved: 170 us, then the toggle bit", true);
    let ms = 1_000_000;
    table.rows = vec![
        step(
            "L-7",
            "wait for completion",
            beside(204_700, 205_000, "168 us + 37 us", Verdict::Pass),
            (169_010, 236_400),
            131_072,
            beside(26_830_000_000, 26_800 * ms, "26.8 s", Verdict::Pass),
        ),
        total(36_702_000_000, 36_700, "36.7 s", Verdict::Pass),
    ];
    table
}

/// A short run in which each verdict, an empty cell and words occur.
pub(crate) fn with_every_verdict() -> RunResult {
    let mut run =
        RunResult::new("verdicts", "Every verdict, with Japanese: 書込み待ち時間", 7, "0.1.0");
    run.findings
        .push("書込みの待ち時間は固定の256usではなく、完了を確認するまでの時間である。".into());
    let mut table = Table::new("table3.3", "File systems <compared> & \"quoted\"")
        .column("jffs2_ns", "JFFS2")
        .column("rate_bytes_per_s", "rate")
        .column("cpu_ratio", "CPU")
        .column("note", "note");
    let mut absent = beside(1, 150_000_000, "0.15 s", Verdict::NotBuilt);
    absent.value = Value::None;
    table.rows = vec![
        Row::new("mount", "マウント")
            .cell("jffs2_ns", beside(3_800_000_000, 3_910_000_000, "3.91 s", Verdict::Fail))
            .cell("rate_bytes_per_s", Cell::int(1_865_240))
            .cell("cpu_ratio", Cell::real(0.552_4))
            .cell("note", Cell::text("copied, \"as is\"\nover two lines")),
        Row::new("write", "")
            .cell("jffs2_ns", beside(225_000_000, 150_000_000, "0.15 s", Verdict::Differs)),
        Row::new("read", "read").cell("jffs2_ns", absent).cell("cpu_ratio", Cell::none()),
    ];
    run.tables.push(table);
    run.count_provenance();
    run
}

fn parameters(run: &mut RunResult) {
    let rows: [(&str, &str, Origin, &str); 8] = [
        ("part.program_time", "170 us to 226 us", Origin::Published, "nor.md, table 4, U-6"),
        ("part.program_distribution", "triangular, mode 204 us", Origin::Assumed, "mean of U-6"),
        ("part.buffer", "512 B", Origin::Datasheet, "CFI 2Ah"),
        ("part.word_time", "256 us", Origin::Datasheet, "CFI 1Fh = 08h"),
        ("bus.write_cycle", "285 ns", Origin::Published, "U-5: 73 us for 256 words"),
        ("bus.poll_gap", "1 us", Origin::Assumed, "loop of do_write_buffer, not measured"),
        ("clock.time_base", "33.3 MHz", Origin::Published, "nor.md, setting"),
        ("improved.poll_gap", "11 us", Origin::Fitted, "so that table 6 ends at 36.7 s"),
    ];
    for (key, value, origin, source) in rows {
        run.parameters.push(Parameter {
            key: key.into(),
            value: value.into(),
            origin,
            source: source.into(),
        });
    }
}

fn charts(run: &mut RunResult) {
    run.charts = vec![histogram(), optimum(), steps()];
    let positions = |from: u32, count: u32, by: u32| -> Vec<f64> {
        (0..count).map(|index| f64::from(from + index * by)).collect()
    };
    // A triangle from 170 to 226 us with its top at 204.
    let x = positions(160, 76, 1);
    let rising = |x: f64| (x - 170.0) / 34.0;
    let falling = |x: f64| (226.0 - x) / 22.0;
    let height = |x: &f64| (4_681.0 * rising(*x).min(falling(*x)).max(0.0)).round();
    let y = x.iter().map(height).collect();
    run.series.push(Curve { id: "wait_histogram".into(), unit: "count".into(), x, y });

    let x = positions(0, 65, 5);
    let beyond =
        |wait: &f64| (201.0 + ((*wait - 178.0) / 14.0).max(0.0).exp().ln_1p() * 0.1).max(*wait);
    let total = x.iter().map(|wait| beyond(wait) * 0.131 + 9.75).collect();
    let polls = x.iter().map(|wait| ((201.0 - wait) / 1.57).max(0.0) + 1.0).collect();
    run.series.push(Curve { id: "total".into(), unit: "s".into(), x: x.clone(), y: total });
    run.series.push(Curve { id: "polls".into(), unit: "polls".into(), x, y: polls });

    for (id, y) in [
        ("uboot_ours", [0.15, 9.58, 26.39]),
        ("uboot_print", [0.13, 9.6, 26.2]),
        ("linux_ours", [0.15, 9.58, 33.33]),
        ("linux_print", [0.13, 9.6, 33.3]),
    ] {
        let x = positions(0, 3, 1);
        run.series.push(Curve { id: id.into(), unit: "s".into(), x, y: y.to_vec() });
    }
}

fn layer(label: &str, curve: &str, style: Style, side: Side) -> Layer {
    Layer { side, ..Layer::new(label, curve, style) }
}

fn histogram() -> Chart {
    let mark = |x, label: &str| Mark { x, label: label.into() };
    Chart {
        id: "wait-histogram".into(),
        title: "When the chip completes a buffer".into(),
        caption: "Completion times of 131 072 programs of 512 bytes. The fixed wait of Linux ends \
                  after the slowest of them; the recommended one before most."
            .into(),
        x: Axis::fitting("time from the start of programming (us)"),
        y: Axis::from_zero("programs"),
        y2: None,
        categories: Vec::new(),
        layers: vec![layer("programs", "wait_histogram", Style::Bars, Side::Left)],
        marks: vec![
            mark(168.5, "improved: 170 us asked, 168.5 us waited"),
            mark(176.0, "recommended: 176 us"),
            mark(253.7, "Linux: 256 us asked, 253.7 us waited"),
        ],
    }
}

fn optimum() -> Chart {
    Chart {
        id: "total-against-wait".into(),
        title: "Total time against the fixed wait".into(),
        caption: "Below 180 us a longer wait costs nothing and saves polls; above 226 us each \
                  microsecond costs 0.13 s."
            .into(),
        x: Axis::from_zero("fixed wait (us)"),
        y: Axis::fitting("64 MiB (s)"),
        y2: Some(Axis::from_zero("polls per program")),
        categories: Vec::new(),
        layers: vec![
            layer("total time", "total", Style::Line, Side::Left),
            layer("polls (right axis)", "polls", Style::Dashed, Side::Right),
        ],
        marks: vec![Mark { x: 176.0, label: "optimum".into() }],
    }
}

fn steps() -> Chart {
    let bars = |label: &str, curve: &str| layer(label, curve, Style::Bars, Side::Left);
    Chart {
        id: "steps".into(),
        title: "The steps against the print".into(),
        caption: "Seconds in each step of writing 64 MiB.".into(),
        x: Axis::fitting("step"),
        y: Axis::from_zero("time (s)"),
        y2: None,
        categories: vec!["issue the command".into(), "fill the buffer".into(), "wait".into()],
        layers: vec![
            bars("u-boot, ours", "uboot_ours"),
            bars("u-boot, print", "uboot_print"),
            bars("Linux, ours", "linux_ours"),
            bars("Linux, print", "linux_print"),
        ],
        marks: Vec::new(),
    }
}

//! The charts of an advice.
//!
//! Layer: rank 10. Function: [`draw`].

use super::rank::{Advice, Ranked};
use boardlab_result::prose::{KIB, MIB, real, round};
use boardlab_result::{Axis, Chart, RunResult, Style};

/// Draws the boot against the fill level, and RAM against the size of the flash: of each filesystem the kind of
/// compression that comes first, for it changes little of both.
pub(super) fn draw(run: &mut RunResult, advice: &Advice) {
    let mut drawn: Vec<&Ranked> = Vec::new();
    for one in &advice.ranked {
        let filesystem = one.candidate.choice.filesystem;
        if drawn.iter().all(|other| other.candidate.choice.filesystem != filesystem) {
            drawn.push(one);
        }
    }
    let best = "Of each filesystem the compression that comes first.";
    let caption = format!("The mount, with the attach of UBI. {best}");
    let axes = [Axis::from_zero("fill level (%)"), Axis::from_zero("mount (s)")];
    let mut chart = Chart::new("advise-boot", "Boot against fill level", &caption, axes);
    for one in &drawn {
        let points = one.candidate.mountings().iter();
        let points =
            points.map(|one| (one.level.as_f64() * 100.0, round(one.mount.time.as_secs_f64(), 4)));
        let id = format!("advise_boot_{}", one.candidate.choice.filesystem);
        run.plot(&mut chart, (id, one.name()), "s", Style::Line, points);
    }
    run.charts.push(chart);
    if drawn.iter().all(|one| one.candidate.chips.len() < 2) {
        return;
    }
    let caption =
        format!("An empty filesystem after its mount: structures of a 32-bit kernel. {best}");
    let axes = [Axis::from_zero("size of the flash (MiB)"), Axis::from_zero("RAM (KiB)")];
    let mut chart = Chart::new("advise-ram", "RAM against size of the flash", &caption, axes);
    for one in &drawn {
        let points = one.candidate.chips.iter();
        let points = points.map(|one| (real(one.size) / MIB, round(real(one.memory) / KIB, 1)));
        let id = format!("advise_ram_{}", one.candidate.choice.filesystem);
        run.plot(&mut chart, (id, one.name()), "KiB", Style::Line, points);
    }
    run.charts.push(chart);
}

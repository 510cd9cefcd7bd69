//! Memory: about nine bytes a mapped page, independent of the length of a run.

#![allow(clippy::unwrap_used, reason = "tests")]

use boardlab_ftl::{
    CellTimes, Extent, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing, Translation,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn memory_is_nine_bytes_a_mapped_page_and_does_not_grow() {
    // 4 GiB of 4 KiB pages, 7 % spare.
    const LOGICAL: u32 = 1 << 20;
    let before = MEMORY.current_usage();
    let micros = Duration::from_micros;
    let rate = Rate::new(Bytes::new(100), micros(1)).unwrap();
    let cells = CellTimes::uniform(micros(75), micros(1_000), micros(4_000));
    let timing = Timing {
        slc: cells.clone(),
        native: cells,
        channel: rate,
        link: rate,
        command: micros(5),
        slots: 8,
        cache_program: true,
    };
    let stripe = Stripe { channels: 2, dies: 2, planes: 2, units: 4 };
    let part = Geometry::new(4_406, 256, Bytes::kib(4), LOGICAL).unwrap().striped(stripe).unwrap();
    let medium = TimedMedium::new(&part, &timing).unwrap();
    let mut ftl = PageMapped::new(part, Policies::default(), medium, Seed::new(1)).unwrap();
    let mut now = ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap().accepted;
    let mut host = Seed::new(1).stream("host");
    let mut write = |ftl: &mut PageMapped<TimedMedium>, writes: u32| {
        for _ in 0..writes {
            let page = u32::try_from(host.below(LOGICAL.into())).unwrap();
            now = ftl.write(now, Extent::new(page, 1)).unwrap().accepted;
        }
    };
    write(&mut ftl, 200_000);
    let used = MEMORY.peak_usage() - before;
    let tenths = used * 10 / LOGICAL as usize;
    assert!(tenths <= 92, "{tenths} tenths of a byte a page");
    MEMORY.reset_peak_usage();
    write(&mut ftl, 1_000_000);
    let grown = MEMORY.peak_usage().saturating_sub(before + used);
    assert!(grown < 100_000, "{grown} bytes more after a million requests");
}

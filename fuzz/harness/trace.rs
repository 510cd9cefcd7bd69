//! A block trace: the text of blkparse or an MSR trace, read to its end and fitted to a device.
//!
//! The first byte of an input chooses how it is read, the rest is the text.

use boardlab_block::Geometry;
use boardlab_sim::Bytes;
use boardlab_workload::trace::{
    Action, BeyondEnd, Disk, Fit, Format, Kind, Order, UnalignedPolicy,
};
use boardlab_workload::trace::{Reader, Reading};

/// The device that requests are fitted to.
const SIZE: Bytes = Bytes::mib(1);

/// Everything that is done with a trace before it is replayed.
pub(crate) fn run(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else { return };
    let chosen = |bit: u8| choice >> bit & 1 != 0;
    let format = match choice & 3 {
        0 => Format::Blkparse,
        1 => Format::Msr,
        _ => Format::detect(text),
    };
    let reading = Reading {
        action: if chosen(2) { Action::Queued } else { Action::Issued },
        disk: chosen(3).then_some(Disk::Device(8, 0)),
        order: if chosen(4) { Order::Clamp } else { Order::Refuse },
        ..Reading::of(format)
    };
    let beyond = match choice >> 5 & 3 {
        0 => BeyondEnd::Refuse,
        1 => BeyondEnd::Clamp,
        _ => BeyondEnd::Wrap,
    };
    let ragged = if chosen(7) { UnalignedPolicy::Widen } else { UnalignedPolicy::Refuse };
    let mut fit = Fit::new(&Geometry::of_size(SIZE), beyond, ragged);
    let lines = text.split(|&byte| byte == b'\n').count();
    let mut latest = None;
    for record in Reader::new(text, "input", reading) {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                assert!(error.place.line <= lines.max(1), "{error}");
                return;
            }
        };
        assert!(latest <= Some(record.at), "requests come in the order of time");
        latest = Some(record.at);
        let _ = fit.fit(record, |part| {
            let end = part.offset.get() + part.length.get();
            assert!(part.kind == Kind::Flush || end <= SIZE.get(), "{part:?}");
        });
    }
}

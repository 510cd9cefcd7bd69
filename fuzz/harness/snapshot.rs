//! A snapshot of unknown content: restored, gone on with, saved again.
//!
//! An input is taken as it is, and once more as the body behind a header that fits it, since the
//! check sum of the body would keep every change away.

use boardlab_arm926::Limit;
use boardlab_realview::Machine;

/// Instructions that the restored machine may execute.
const INSTRUCTIONS: u64 = 500;
/// Bytes of the header: magic, version, check sum, length.
const HEADER: usize = 24;

/// Everything that is done with a snapshot.
pub(crate) fn run(input: &[u8]) {
    restore(input);
    if let Some(mended) = mended(input) {
        restore(&mended);
    }
}

/// `input` with the check sum and the length that its body has.
fn mended(input: &[u8]) -> Option<Vec<u8>> {
    let (header, body) = input.split_at_checked(HEADER)?;
    let length = u64::try_from(body.len()).ok()?;
    let check_sum = crc32fast::hash(body);
    Some([&header[..12], &check_sum.to_le_bytes(), &length.to_le_bytes(), body].concat())
}

fn restore(bytes: &[u8]) {
    let Ok(mut machine) = Machine::restore(bytes) else { return };
    let end = machine.processor().counts.instructions.saturating_add(INSTRUCTIONS);
    machine.run(Limit::instructions(end));
    let Ok(saved) = machine.snapshot() else { return };
    let again = Machine::restore(&saved).expect("what was saved can be restored");
    assert!(again.snapshot().is_ok_and(|second| second == saved), "a restored machine is the same");
}

//! Whatever comes over the line of GDB's remote protocol: put together, checked, understood, answered.

use boardlab_computer::debug::commands::Command;
use boardlab_computer::debug::packets::{GdbInput, PACKET, Packets};

/// Everything that is done with what GDB sends, but for what the machine does.
pub(crate) fn run(input: &[u8]) {
    let mut packets = Packets::default();
    for &byte in input {
        if let Some(GdbInput::Packet(packet)) = packets.take(byte) {
            assert!(packet.len() <= PACKET, "{} bytes of a packet", packet.len());
            match Command::parse(&packet) {
                Ok(_) => packets.answer(b"OK"),
                Err(_) => packets.answer(&packet),
            }
        }
        // An acknowledgment, and all answers that can be asked for again, escaped.
        let sent = packets.output().len();
        assert!(sent <= 17 * (2 * PACKET + 8), "{sent} bytes for one");
    }
    // Whatever came before, a packet that is right is taken. The first half ends an unfinished frame.
    let valid = b"#00$?#3f";
    let arrived: Vec<_> = valid.iter().filter_map(|&byte| packets.take(byte)).collect();
    assert_eq!(arrived.last(), Some(&GdbInput::Packet(b"?".to_vec())));
}

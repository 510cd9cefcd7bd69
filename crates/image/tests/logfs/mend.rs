//! Makes checksums of LogFS right again, so that a change behind one is looked at.

use boardlab_logfs::format::crc;

/// A header of a segment, of an object, and of an entry in the journal.
const SEGMENT: usize = 24;
const OBJECT: usize = 28;
const ENTRY: usize = 16;

fn put(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_be_bytes());
}

fn length(bytes: &[u8], at: usize) -> usize {
    u16::from_be_bytes([bytes[at + 4], bytes[at + 5]]).into()
}

/// Makes the checksums of all segments, superblocks, objects and journal entries right.
pub(crate) fn mend(bytes: &mut [u8], segment_size: usize) {
    for segment in bytes.chunks_exact_mut(segment_size) {
        if segment[..SEGMENT].iter().all(|&it| it == 0xFF) {
            continue;
        }
        let sum = crc(&segment[4..SEGMENT]);
        put(segment, 0, sum);
        match segment[6] {
            1 => {
                let sum = crc(&segment[36..256]);
                put(segment, 32, sum);
            }
            2 => mend_entries(segment),
            _ => mend_objects(segment),
        }
    }
}

fn mend_entries(segment: &mut [u8]) {
    for at in (32..segment.len() - ENTRY).step_by(ENTRY) {
        let end = at + ENTRY + length(segment, at);
        if segment[at + 11..at + 15].eq_ignore_ascii_case(b"head") && end <= segment.len() {
            let sum = crc(&segment[at + 4..end]);
            put(segment, at, sum);
        }
    }
}

fn mend_objects(segment: &mut [u8]) {
    let mut at = SEGMENT;
    while at + OBJECT < segment.len() && segment[at..at + OBJECT].iter().any(|&it| it != 0xFF) {
        let end = at + OBJECT + length(segment, at);
        // The end of what is being written is in the journal.
        if end > segment.len() || segment[at + OBJECT..end].ends_with(&[0xFF; 8]) {
            break;
        }
        let (header, data) = (crc(&segment[at + 4..at + 24]), crc(&segment[at + OBJECT..end]));
        put(segment, at, header);
        put(segment, at + 24, data);
        at = end;
    }
}

//! The frames of GDB's remote protocol: what comes in is put together, checked and acknowledged; what goes out is kept until GDB has it.
//!
//! Layer: rank 9. Main types: [`Packets`], [`GdbInput`]. Bytes in, bytes out: it knows no line and no machine. Source: Debugging with GDB, appendix E, Remote
//! Protocol: E.1 frames and escapes, E.9 interrupts, E.12 packet acknowledgment. No byte ends anything: a packet with a wrong checksum is
//! asked for again, bytes between packets mean nothing, and what is longer than a packet may be is dropped as it comes, so that
//! memory is bounded. A `$` begins a packet wherever it stands, since data have it escaped.

use std::collections::VecDeque;

/// Bytes that a packet may have between `$` and `#`; GDB is told so.
pub const PACKET: usize = 0x4000;
/// Answers that are kept for GDB to ask for again.
const KEPT: usize = 16;
/// The answer to what nobody can understand (EINVAL).
pub const MALFORMED: &str = "E16";
/// The answer to a packet that is too long (E2BIG).
const TOO_LONG: &str = "E07";
/// What GDB sends to do without acknowledgments.
const NO_ACKS: &[u8] = b"QStartNoAckMode";

/// What GDB sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GdbInput {
    /// A packet that is whole: what is between `$` and `#`, escapes left in.
    Packet(Vec<u8>),
    /// Ctrl-C.
    Interrupt,
}

/// Where in a frame the next byte is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Between,
    Body,
    /// At the first digit of the checksum.
    First,
    /// At the second digit; `None` where the first was no digit.
    Second(Option<u8>),
}

/// Frames of both directions.
#[derive(Debug, Default)]
pub struct Packets {
    place: Place,
    body: Vec<u8>,
    /// Whether the body is too long; the rest of it is only summed.
    overlong: bool,
    sum: u8,
    no_acks: bool,
    /// Frames that GDB has not acknowledged, oldest first.
    kept: VecDeque<Vec<u8>>,
    out: Vec<u8>,
}

impl Packets {
    /// Takes a byte from GDB; what it completes.
    pub fn take(&mut self, byte: u8) -> Option<GdbInput> {
        match self.place {
            Place::Between => return self.between(byte),
            Place::Body if byte == b'$' => self.begin(),
            Place::Body if byte == b'#' => self.place = Place::First,
            Place::Body => {
                self.sum = self.sum.wrapping_add(byte);
                self.overlong |= self.body.len() == PACKET;
                if !self.overlong {
                    self.body.push(byte);
                }
            }
            Place::First => self.place = Place::Second(digit(byte)),
            Place::Second(first) => {
                self.place = Place::Between;
                let sent = first.zip(digit(byte)).map(|(high, low)| high << 4 | low);
                return self.end(sent == Some(self.sum));
            }
        }
        None
    }

    /// Sends `answer`, the contents of a packet, with escapes where they are due.
    pub fn answer(&mut self, answer: &[u8]) {
        let mut frame = vec![b'$'];
        for &byte in answer {
            if matches!(byte, b'#' | b'$' | b'}' | b'*') {
                frame.extend([b'}', byte ^ 0x20]);
            } else {
                frame.push(byte);
            }
        }
        let sum = frame[1..].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        frame.extend(format!("#{sum:02x}").bytes());
        self.out.extend(&frame);
        if !self.no_acks {
            if self.kept.len() == KEPT {
                self.kept.pop_front();
            }
            self.kept.push_back(frame);
        }
    }

    /// What is to be sent to GDB now.
    #[must_use]
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn begin(&mut self) {
        self.body.clear();
        (self.overlong, self.sum) = (false, 0);
        self.place = Place::Body;
    }

    fn between(&mut self, byte: u8) -> Option<GdbInput> {
        match byte {
            b'$' => self.begin(),
            b'+' => {
                self.kept.pop_front();
            }
            b'-' => self.out.extend(self.kept.front().into_iter().flatten()),
            3 => return Some(GdbInput::Interrupt),
            _ => {}
        }
        None
    }

    /// The end of a frame, whose checksum is right or wrong.
    fn end(&mut self, right: bool) -> Option<GdbInput> {
        if !self.no_acks {
            self.out.push(if right { b'+' } else { b'-' });
        }
        if !right {
            // Nobody sends it again without acknowledgments, but somebody waits.
            if self.no_acks {
                self.answer(MALFORMED.as_bytes());
            }
            return None;
        }
        if self.overlong {
            self.answer(TOO_LONG.as_bytes());
            return None;
        }
        if self.body == NO_ACKS {
            self.answer(b"OK");
            self.no_acks = true;
            self.kept.clear();
            return None;
        }
        Some(GdbInput::Packet(std::mem::take(&mut self.body)))
    }
}

/// The value of a hexadecimal digit.
fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `bytes` complete, and what is answered.
    fn take(packets: &mut Packets, bytes: &[u8]) -> (Vec<GdbInput>, String) {
        let arrived = bytes.iter().filter_map(|byte| packets.take(*byte)).collect();
        (arrived, String::from_utf8(packets.output()).unwrap())
    }

    fn packet(body: &[u8]) -> Vec<GdbInput> {
        vec![GdbInput::Packet(body.to_vec())]
    }

    #[test]
    fn a_packet_is_acknowledged_and_one_with_a_wrong_checksum_is_asked_for_again() {
        let mut packets = Packets::default();
        assert_eq!(take(&mut packets, b"$g#67"), (packet(b"g"), "+".into()));
        for wrong in [&b"$g#68"[..], b"$g#xx", b"$g#6x", b"$h#67"] {
            assert_eq!(take(&mut packets, wrong), (vec![], "-".into()));
        }
        assert_eq!(take(&mut packets, b"$g#67"), (packet(b"g"), "+".into()));
        assert_eq!(take(&mut packets, b"$#00"), (packet(b""), "+".into()));
    }

    #[test]
    fn what_is_no_packet_is_passed_over_and_a_new_packet_ends_a_torn_one() {
        let mut packets = Packets::default();
        let bytes = b"GET / HTTP/1.1\r\n\r\n\x00\xff#67+++$m10,4$g#67";
        assert_eq!(take(&mut packets, bytes), (packet(b"g"), "+".into()));
        let (arrived, _) = take(&mut packets, b"\x03$X0,1:\x03#22\x03");
        let data = GdbInput::Packet(b"X0,1:\x03".to_vec());
        assert_eq!(arrived, [GdbInput::Interrupt, data, GdbInput::Interrupt]);
    }

    #[test]
    fn what_is_too_long_is_dropped_and_the_next_packet_is_not() {
        let mut packets = Packets::default();
        let long = [&b"$"[..], &vec![b'a'; 20 << 20], b"#00"].concat();
        assert_eq!(take(&mut packets, &long), (vec![], "+$E07#ac".into()));
        assert!(packets.body.capacity() <= 2 * PACKET);
        let endless = [&b"$"[..], &vec![b'a'; 1 << 20], b"$g#67"].concat();
        assert_eq!(take(&mut packets, &endless), (packet(b"g"), "+".into()));
        let most = [&b"$"[..], &vec![0; PACKET], b"#00"].concat();
        assert_eq!(take(&mut packets, &most).0, packet(&[0; PACKET]));
    }

    #[test]
    fn an_answer_is_sent_again_until_it_is_acknowledged() {
        let mut packets = Packets::default();
        packets.answer(b"OK");
        packets.answer(b"a#$}*b");
        let second = "$a}\u{3}}\u{4}}]}\nb#25";
        assert_eq!(take(&mut packets, b""), (vec![], format!("$OK#9a{second}")));
        assert_eq!(take(&mut packets, b"-"), (vec![], "$OK#9a".into()));
        assert_eq!(take(&mut packets, b"+--"), (vec![], [second; 2].concat()));
        assert_eq!(take(&mut packets, b"+-"), (vec![], String::new()));
        for _ in 0..1_000 {
            packets.answer(b"OK");
        }
        assert_eq!(packets.kept.len(), KEPT, "of a GDB that acknowledges nothing");
    }

    #[test]
    fn without_acknowledgments_a_wrong_checksum_is_an_error() {
        let mut packets = Packets::default();
        assert_eq!(take(&mut packets, b"$QStartNoAckMode#b0"), (vec![], "+$OK#9a".into()));
        assert_eq!(take(&mut packets, b"+$g#67"), (packet(b"g"), String::new()));
        assert_eq!(take(&mut packets, b"$g#00"), (vec![], "$E16#ac".into()));
        packets.answer(b"x");
        assert_eq!(take(&mut packets, b"-"), (vec![], "$x#78".into()));
    }
}

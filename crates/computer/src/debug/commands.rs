//! What GDB may ask for: packets as commands, checked.
//!
//! Layer: rank 9. Main types: [`Command`], [`Misfit`]; [`Command::parse`] takes any bytes. Source: Debugging with GDB, appendix E, Remote Protocol: E.2 packets,
//! E.4 general query packets. One thread, number 1. Leaves out: several processes, starting of programs, tracepoints, files; for them the
//! empty answer stands, which says that there is no such thing.

use super::packets::PACKET;
use boardlab_arm926::WatchKind;

/// Why a packet is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// Nobody here knows its letters: the answer is empty.
    Unknown,
    /// Its letters are known, and the rest is wrong: the answer is an error.
    Malformed,
}

/// How a program goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// One instruction alone.
    pub step: bool,
    /// From another address than where it stopped.
    pub at: Option<u32>,
}

/// A breakpoint or a watchpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The accesses that it stops at; `None` for a breakpoint.
    pub watched: Option<WatchKind>,
    /// Its address.
    pub at: u32,
    /// Bytes that it watches; of a breakpoint the length of the instruction.
    pub length: u32,
}

/// A command of GDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// What can be done here?
    Supported,
    /// A piece of the description of the registers: from this byte on, so many.
    Description(usize, usize),
    /// Why is the program not running?
    Why,
    /// All registers.
    ReadRegisters,
    /// All registers, written.
    WriteRegisters(Vec<u8>),
    /// One register.
    ReadRegister(usize),
    /// One register, written.
    WriteRegister(usize, u32),
    /// So many bytes from an address on.
    Read(u32, usize),
    /// Bytes from an address on, written.
    Write(u32, Vec<u8>),
    /// Go on.
    Resume(Resume),
    /// The actions that `vCont` takes.
    Actions,
    /// Set a point.
    Insert(Point),
    /// Take a point away.
    Remove(Point),
    /// A command for the machine, from `monitor`.
    Monitor(Vec<u8>),
    /// The current thread.
    Thread,
    /// All threads.
    Threads,
    /// More threads than those.
    MoreThreads,
    /// Whether the program was there before GDB.
    Attached,
    /// Something of the one thread that needs no more than a yes.
    Agree,
    /// End the program; `true` wants an answer.
    Kill(bool),
    /// Let the program be.
    Detach,
}

impl Command {
    /// What the contents of a packet ask for.
    ///
    /// # Errors
    /// Why they are no command.
    pub fn parse(packet: &[u8]) -> Result<Self, Misfit> {
        let (&letter, rest) = packet.split_first().ok_or(Misfit::Unknown)?;
        match letter {
            b'?' if rest.is_empty() => Ok(Self::Why),
            b'g' if rest.is_empty() => Ok(Self::ReadRegisters),
            b'G' => bytes(rest).map(Self::WriteRegisters),
            b'p' => size(rest).map(Self::ReadRegister),
            b'P' => register(rest),
            b'm' => place(rest).map(|(at, length)| Self::Read(at, length)),
            b'M' => memory(rest, bytes),
            b'X' => memory(rest, |data| Ok(unescaped(data))),
            b'c' | b's' => resume(letter == b's', rest),
            b'C' | b'S' => signalled(letter == b'S', rest),
            b'Z' => point(rest).map(Self::Insert),
            b'z' => point(rest).map(Self::Remove),
            b'k' => Ok(Self::Kill(false)),
            b'D' => process(rest).map(|()| Self::Detach),
            b'H' => thread(rest.get(1..).unwrap_or_default()),
            b'T' => thread(rest),
            b'q' => query(rest),
            b'v' => verbose(rest),
            b'?' | b'g' => Err(Misfit::Malformed),
            _ => Err(Misfit::Unknown),
        }
    }
}

/// A general query, without the `q`.
fn query(rest: &[u8]) -> Result<Command, Misfit> {
    if let Some(hex) = rest.strip_prefix(b"Rcmd,") {
        return bytes(hex).map(Command::Monitor);
    }
    if let Some(rest) = rest.strip_prefix(b"Xfer:features:read:target.xml:") {
        let (offset, length) = split(rest, b',')?;
        return Ok(Command::Description(size(offset)?, size(length)?));
    }
    if rest.starts_with(b"Xfer:features:read:") {
        return Err(Misfit::Malformed);
    }
    let name = rest.split(|byte| *byte == b':').next().unwrap_or_default();
    match name {
        b"Supported" => Ok(Command::Supported),
        b"Attached" => Ok(Command::Attached),
        b"C" => Ok(Command::Thread),
        b"fThreadInfo" => Ok(Command::Threads),
        b"sThreadInfo" => Ok(Command::MoreThreads),
        b"Symbol" => Ok(Command::Agree),
        _ => Err(Misfit::Unknown),
    }
}

/// A packet with a word, without the `v`.
fn verbose(rest: &[u8]) -> Result<Command, Misfit> {
    if rest == b"Cont?" {
        return Ok(Command::Actions);
    }
    if let Some(process) = rest.strip_prefix(b"Kill") {
        return self::process(process).map(|()| Command::Kill(true));
    }
    let Some(actions) = rest.strip_prefix(b"Cont;") else { return Err(Misfit::Unknown) };
    let mut chosen = None;
    for action in actions.split(|byte| *byte == b';') {
        let mut parts = action.splitn(2, |byte| *byte == b':');
        let action = parts.next().unwrap_or_default();
        if let Some(of) = parts.next() {
            thread(of)?;
        }
        // Of several actions the first that is for a thread counts, and there is one thread.
        let resume = match action {
            [b'c'] | [b'C', _, _] => Resume { step: false, at: None },
            [b's'] | [b'S', _, _] => Resume { step: true, at: None },
            _ => return Err(Misfit::Malformed),
        };
        if let [_, signal @ ..] = action
            && !signal.is_empty()
        {
            number(signal)?;
        }
        chosen = chosen.or(Some(resume));
    }
    chosen.map(Command::Resume).ok_or(Misfit::Malformed)
}

/// `c` and `s`: with an address, or without.
fn resume(step: bool, rest: &[u8]) -> Result<Command, Misfit> {
    let at = if rest.is_empty() { None } else { Some(number(rest)?) };
    Ok(Command::Resume(Resume { step, at }))
}

/// `C` and `S`: with a signal, which a machine without an operating system has no use for.
fn signalled(step: bool, rest: &[u8]) -> Result<Command, Misfit> {
    let mut parts = rest.splitn(2, |byte| *byte == b';');
    number(parts.next().unwrap_or_default())?;
    let at = parts.next().map(number).transpose()?;
    Ok(Command::Resume(Resume { step, at }))
}

fn register(rest: &[u8]) -> Result<Command, Misfit> {
    let (index, value) = split(rest, b'=')?;
    let value = bytes(value)?.try_into().map_err(|_| Misfit::Malformed)?;
    Ok(Command::WriteRegister(size(index)?, u32::from_le_bytes(value)))
}

fn memory(
    rest: &[u8],
    decode: impl Fn(&[u8]) -> Result<Vec<u8>, Misfit>,
) -> Result<Command, Misfit> {
    let (head, data) = split(rest, b':')?;
    let (at, length) = place(head)?;
    let data = decode(data)?;
    if data.len() == length { Ok(Command::Write(at, data)) } else { Err(Misfit::Malformed) }
}

fn point(rest: &[u8]) -> Result<Point, Misfit> {
    // Conditions and commands of GDB behind a semicolon were not offered.
    let (kind, rest) = split(rest, b',')?;
    let (at, length) = split(rest, b',')?;
    let watched = match kind {
        b"0" | b"1" => None,
        b"2" => Some(WatchKind::Writes),
        b"3" => Some(WatchKind::Reads),
        b"4" => Some(WatchKind::Accesses),
        _ => return Err(Misfit::Unknown),
    };
    Ok(Point { watched, at: number(at)?, length: number(length)? })
}

/// A thread that there is: any, all, or number 1.
fn thread(of: &[u8]) -> Result<Command, Misfit> {
    match of {
        b"-1" => Ok(Command::Agree),
        number if matches!(self::number(number)?, 0 | 1) => Ok(Command::Agree),
        _ => Err(Misfit::Malformed),
    }
}

/// Nothing, or a process with a number.
fn process(rest: &[u8]) -> Result<(), Misfit> {
    match rest.split_first() {
        None => Ok(()),
        Some((b';', process)) => number(process).map(drop),
        Some(_) => Err(Misfit::Malformed),
    }
}

/// An address and a length.
fn place(rest: &[u8]) -> Result<(u32, usize), Misfit> {
    let (at, length) = split(rest, b',')?;
    Ok((number(at)?, size(length)?))
}

/// What is before the first `sign`, and behind it.
fn split(rest: &[u8], sign: u8) -> Result<(&[u8], &[u8]), Misfit> {
    let at = rest.iter().position(|byte| *byte == sign).ok_or(Misfit::Malformed)?;
    Ok((&rest[..at], &rest[at + 1..]))
}

/// A hexadecimal number of 32 bits.
fn number(digits: &[u8]) -> Result<u32, Misfit> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| all).ok_or(Misfit::Malformed)?;
    u32::from_str_radix(text, 16).map_err(|_| Misfit::Malformed)
}

fn size(digits: &[u8]) -> Result<usize, Misfit> {
    usize::try_from(number(digits)?).map_err(|_| Misfit::Malformed)
}

/// Bytes of two hexadecimal digits each.
fn bytes(hex: &[u8]) -> Result<Vec<u8>, Misfit> {
    let (pairs, rest) = hex.as_chunks::<2>();
    if !rest.is_empty() || hex.len() > PACKET {
        return Err(Misfit::Malformed);
    }
    let byte = |pair: &[u8; 2]| number(pair).map(|value| value.to_le_bytes()[0]);
    pairs.iter().map(byte).collect()
}

/// Binary data without its escapes. A lone one at the end stands for nothing.
fn unescaped(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len());
    let mut escaped = false;
    for &byte in data {
        match byte {
            b'}' if !escaped => escaped = true,
            _ => {
                bytes.push(if escaped { byte ^ 0x20 } else { byte });
                escaped = false;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packets_of_gdb_are_commands() {
        let point = |watched, length| Point { watched, at: 0x8000, length };
        let resume = |step, at| Command::Resume(Resume { step, at });
        let cases: [(&[u8], Command); 24] = [
            (b"qSupported:multiprocess+;swbreak+;;", Command::Supported),
            (b"qXfer:features:read:target.xml:0,ffb", Command::Description(0, 0xFFB)),
            (b"g", Command::ReadRegisters),
            (b"p19", Command::ReadRegister(25)),
            (b"Pf=00800000", Command::WriteRegister(15, 0x8000)),
            (b"m8000,10", Command::Read(0x8000, 16)),
            (b"M8000,2:0aFf", Command::Write(0x8000, vec![10, 255])),
            (b"X8000,3:a}\x03}]", Command::Write(0x8000, vec![b'a', b'#', b'}'])),
            (b"X8000,0:", Command::Write(0x8000, vec![])),
            (b"c", resume(false, None)),
            (b"s8000", resume(true, Some(0x8000))),
            (b"C05;8000", resume(false, Some(0x8000))),
            (b"vCont;c", resume(false, None)),
            (b"vCont;s:1;c", resume(true, None)),
            (b"vCont;C05:-1", resume(false, None)),
            (b"Z0,8000,4;X1,0", Command::Insert(point(None, 4))),
            (b"z2,8000,1", Command::Remove(point(Some(WatchKind::Writes), 1))),
            (b"Z3,8000,2", Command::Insert(point(Some(WatchKind::Reads), 2))),
            (b"Z4,8000,8", Command::Insert(point(Some(WatchKind::Accesses), 8))),
            (b"qRcmd,6865", Command::Monitor(b"he".to_vec())),
            (b"Hg0", Command::Agree),
            (b"Hc-1", Command::Agree),
            (b"vKill;1", Command::Kill(true)),
            (b"D;1", Command::Detach),
        ];
        for (packet, command) in cases {
            let shown = String::from_utf8_lossy(packet);
            // Conditions stand behind the length.
            let packet = packet.split(|byte| *byte == b';' && packet[0] == b'Z').next().unwrap();
            assert_eq!(Command::parse(packet), Ok(command), "{shown}");
        }
    }

    #[test]
    fn unknown_letters_and_malformed_packets_are_told_apart() {
        for unknown in
            [&b""[..], b"vRun;", b"vMustReplyEmpty", b"!", b"R", b"qOffsets", b"\xff", b"Z9,0,0"]
        {
            assert_eq!(Command::parse(unknown), Err(Misfit::Unknown), "{unknown:?}");
        }
        for malformed in [
            &b"gg"[..],
            b"m",
            b"m0",
            b"m0,",
            b"m,4",
            b"m123456789,4",
            b"m+1,4",
            b"M0,2:00",
            b"M0,1:0",
            b"X0,2:a",
            b"G0",
            b"Pf=0080",
            b"vCont;",
            b"vCont;x",
            b"vCont;c:2",
            b"Hg2",
            b"H",
            b"T",
            b"cz",
            b"C",
            b"C0;zz",
            b"Z0,0",
            b"D1",
            b"vKill;",
            b"qRcmd,0",
            b"qXfer:features:read:other.xml:0,1",
            b"vCont;C0g",
        ] {
            assert_eq!(Command::parse(malformed), Err(Misfit::Malformed), "{malformed:?}");
        }
    }

    proptest! {
        #[test]
        fn no_packet_panics(packet in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Command::parse(&packet);
        }

        #[test]
        fn no_packet_with_known_letters_panics(
            packet in "[?gGpPmMXcsCSZzkDHTqv]{1}(Cont;|Kill|Rcmd,|Xfer:features:read:target.xml:)?[0-9a-f,;:=]{0,40}",
        ) {
            let _ = Command::parse(packet.as_bytes());
        }
    }
}

//! Traces in the kernel's own binary format, and the text that blkparse makes of them.
//!
//! Source: `struct blk_io_trace` and the numbers of events in Linux 6.1,
//! `include/uapi/linux/blktrace_api.h`.

use boardlab_sim::{Bytes, Duration};
use boardlab_workload::trace::{Kind, Record};
use std::process::Command;

/// What happened.
pub(crate) mod act {
    pub(crate) const QUEUE: u32 = 1;
    pub(crate) const ISSUE: u32 = 7;
    pub(crate) const COMPLETE: u32 = 8;
    pub(crate) const PLUG: u32 = 9;
    pub(crate) const SPLIT: u32 = 13;
    pub(crate) const REMAP: u32 = 15;
}

/// To what kind of request.
pub(crate) mod category {
    pub(crate) const READ: u32 = 1;
    pub(crate) const WRITE: u32 = 1 << 1;
    pub(crate) const FLUSH: u32 = 1 << 2;
    pub(crate) const SYNC: u32 = 1 << 3;
    pub(crate) const QUEUE: u32 = 1 << 4;
    pub(crate) const ISSUE: u32 = 1 << 6;
    pub(crate) const COMPLETE: u32 = 1 << 7;
    pub(crate) const FS: u32 = 1 << 8;
    pub(crate) const PC: u32 = 1 << 9;
    pub(crate) const NOTIFY: u32 = 1 << 10;
    pub(crate) const AHEAD: u32 = 1 << 11;
    pub(crate) const META: u32 = 1 << 12;
    pub(crate) const DISCARD: u32 = 1 << 13;
    pub(crate) const FUA: u32 = 1 << 15;
}

/// An event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    time: u64,
    action: u32,
    sector: u64,
    bytes: u32,
    data: Vec<u8>,
}

impl Event {
    pub(crate) fn new(time: u64, act: u32, category: u32) -> Self {
        Self { time, action: act | category << 16, sector: 0, bytes: 0, data: Vec::new() }
    }

    pub(crate) fn at(self, sector: u64, bytes: u32) -> Self {
        Self { sector, bytes, ..self }
    }

    pub(crate) fn with(self, data: &[u8]) -> Self {
        Self { data: data.to_vec(), ..self }
    }

    pub(crate) fn act(&self) -> u32 {
        self.action & 0xFFFF
    }

    /// What should be read of it; nothing of a command with a dump and of nothing at all.
    pub(crate) fn record(&self) -> Option<Record> {
        let has = |bit: u32| self.action >> 16 & bit != 0;
        let kind = if self.bytes < 512 {
            has(category::FLUSH).then_some(Kind::Flush)?
        } else if has(category::DISCARD) {
            Kind::Discard
        } else if has(category::WRITE) {
            Kind::Write
        } else {
            Kind::Read
        };
        let data = kind != Kind::Flush;
        let offset = if data { self.sector * 512 } else { 0 };
        Some(Record {
            at: Duration::from_nanos(self.time),
            kind,
            offset: Bytes::new(offset),
            length: Bytes::new(u64::from(self.bytes / 512 * 512)),
            flushed: data && has(category::FLUSH),
            durable: kind == Kind::Write && has(category::FUA),
            line: 0,
        })
    }

    fn write(&self, sequence: u32, into: &mut Vec<u8>) {
        const MAGIC: u32 = 0x6561_7407;
        let word = |into: &mut Vec<u8>, value: u32| into.extend(value.to_le_bytes());
        word(into, MAGIC);
        word(into, sequence);
        into.extend(self.time.to_le_bytes());
        into.extend(self.sector.to_le_bytes());
        for value in [self.bytes, self.action, 697, 8 << 20, 0] {
            word(into, value);
        }
        let length = u16::try_from(self.data.len()).unwrap();
        into.extend([0, 0]);
        into.extend(length.to_le_bytes());
        into.extend(&self.data);
    }
}

/// Events of every kind that blkparse prints in its own way.
pub(crate) fn every_kind() -> Vec<Event> {
    use category::*;
    let mut events = vec![Event::new(0, 0, NOTIFY).with(b"a process\0")];
    let mut time = 10_000;
    let mut add = |event: fn(u64) -> Event| {
        time += 1_500;
        events.push(event(time));
    };
    add(|t| Event::new(t, act::QUEUE, WRITE | QUEUE | FS).at(2_048, 4_096));
    add(|t| Event::new(t, act::ISSUE, WRITE | ISSUE | FS).at(2_048, 4_096));
    add(|t| Event::new(t, act::COMPLETE, WRITE | COMPLETE | FS).at(2_048, 4_096));
    add(|t| Event::new(t, act::ISSUE, WRITE | SYNC | META | ISSUE | FS).at(8_192, 512));
    add(|t| Event::new(t, act::ISSUE, READ | AHEAD | ISSUE | FS).at(108, 65_536));
    add(|t| Event::new(t, act::ISSUE, WRITE | DISCARD | ISSUE | FS).at(1 << 20, 1 << 20));
    add(|t| Event::new(t, act::ISSUE, FLUSH | ISSUE | FS));
    add(|t| Event::new(t, act::ISSUE, FLUSH | WRITE | ISSUE | FS));
    add(|t| Event::new(t, act::ISSUE, FLUSH | WRITE | FUA | SYNC | ISSUE | FS).at(8, 4_096));
    add(|t| Event::new(t, act::ISSUE, WRITE | FUA | SYNC | ISSUE | FS).at(16, 4_096));
    add(|t| Event::new(t, act::ISSUE, ISSUE | FS));
    add(|t| Event::new(t, act::ISSUE, WRITE | ISSUE | FS).at(1 << 40, 512));
    add(|t| Event::new(t, act::ISSUE, READ | ISSUE | PC).at(0, 96).with(&[0x12, 0, 0, 0, 96, 0]));
    add(|t| Event::new(t, act::PLUG, 0));
    add(|t| Event::new(t, act::SPLIT, WRITE | FS).at(3_000, 8_192).with(&3_008_u64.to_be_bytes()));
    add(|t| Event::new(t, act::REMAP, WRITE | QUEUE | FS).at(3_000, 4_096).with(&[0; 16]));
    add(|t| Event::new(t, 2, NOTIFY).with(b"cfq697 a message"));
    events
}

/// The text of blkparse for these events; `None` without blkparse.
#[allow(clippy::print_stderr, reason = "the test says that it was skipped")]
pub(crate) fn printed(events: &[Event], options: &[&str]) -> Option<String> {
    if Command::new("blkparse").arg("-V").output().is_err() {
        eprintln!("skipped: needs blkparse (package blktrace)");
        return None;
    }
    let mut bytes = Vec::new();
    for (event, sequence) in events.iter().zip(1..) {
        event.write(sequence, &mut bytes);
    }
    let name = format!("boardlab-blkparse-{}-{}", std::process::id(), events.len());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("t.blktrace.0"), bytes).unwrap();
    let out = Command::new("blkparse")
        .args(["-i", "t"])
        .args(options)
        .current_dir(&folder)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap())
}

//! The write buffer against a bus that is simulated cycle by cycle.
//!
//! Layer: rank 3, tests.

use super::*;

/// A transfer on the simulated bus.
#[derive(Debug, Clone)]
struct Slow {
    at: u32,
    length: u32,
    words: u32,
    open: bool,
    cycles: u64,
    begun: bool,
}

/// The bus and the buffers, advanced by single cycles.
#[derive(Debug, Default)]
struct SlowBus {
    now: u64,
    ratio: u64,
    /// The cycles for which the bus is still busy.
    busy: u64,
    pending: Vec<Slow>,
}

impl SlowBus {
    fn span(&self, words: u32, waits: Waits) -> u64 {
        let each = 1 + u64::from(waits.next);
        self.ratio * (2 + u64::from(waits.first) + u64::from(words - 1) * each)
    }

    /// The oldest transfer leaves when the bus becomes free.
    fn leave(&mut self) {
        if self.busy == 0 && self.pending.first().is_some_and(|head| head.begun) {
            self.pending.remove(0);
        }
    }

    fn tick(&mut self) {
        if self.busy == 0
            && let Some(head) = self.pending.first_mut()
        {
            head.begun = true;
            self.busy = head.cycles;
        }
        self.now += 1;
        self.busy = self.busy.saturating_sub(1);
        self.leave();
    }

    fn wait_until(&mut self, free: impl Fn(&Self) -> bool) {
        while !free(self) {
            self.tick();
        }
    }

    fn store(&mut self, at: u32, width: Width, waits: Waits) {
        let words = |bus: &Self| bus.pending.iter().map(|other| other.words).sum::<u32>();
        self.wait_until(|bus| words(bus) < WORDS);
        let open = width == Width::Word;
        if let Some(last) = self.pending.last_mut()
            && (last.open && open && !last.begun)
            && last.at + last.length == at
            && !at.is_multiple_of(BURST_LIMIT)
        {
            last.length += 4;
            last.words += 1;
            last.cycles += self.ratio * (1 + u64::from(waits.next));
            return;
        }
        let addresses = |bus: &Self| bus.pending.iter().filter(|other| other.words > 0).count();
        self.wait_until(|bus| addresses(bus) < ADDRESSES as usize);
        let cycles = self.span(1, waits);
        let length = width.bytes();
        self.pending.push(Slow { at, length, words: 1, open, cycles, begun: false });
    }

    fn write_back(&mut self, at: u32, length: u32, waits: Waits) {
        self.wait_until(|bus| bus.pending.iter().all(|other| other.words > 0));
        let cycles = self.span(length / 4, waits);
        self.pending.push(Slow { at, length, words: 0, open: false, cycles, begun: false });
    }

    fn read(&mut self, at: u32, words: u32, waits: Waits) {
        let overlaps = |other: &Slow| other.at < at + 4 * words && at < other.at + other.length;
        if self.pending.iter().any(overlaps) {
            self.wait_until(|bus| bus.pending.is_empty());
        }
        // No other transfer begins while this one waits, and it has the bus to its end: a transfer that
        // ended on the bus keeps its place until then.
        let before = self.busy;
        self.now += before;
        self.busy = self.span(words, waits);
        let first = self.span(1, waits);
        self.now += first;
        self.busy -= first;
        self.leave();
    }
}

/// Numbers by xorshift.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((self.0 >> 32) % u64::from(limit)).unwrap()
    }
}

#[test]
fn times_are_those_of_a_bus_that_advances_by_cycles() {
    for seed in 1..200_u64 {
        let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let ratio = NonZeroU8::new(u8::try_from(1 + numbers.below(3)).unwrap()).unwrap();
        let mut slow = SlowBus { ratio: u64::from(ratio.get()), ..SlowBus::default() };
        let (mut buffer, mut now) = (WriteBuffer::new(ratio), Cycles(0));
        let mut last = 0;
        // Half of the runs fill the buffer with words of long bursts.
        let fills = seed % 2 == 0;
        for step in 0..400 {
            let mut small = |limit| u16::try_from(numbers.below(limit)).unwrap();
            let waits = Waits { first: small(if fills { 60 } else { 6 }), next: small(3) };
            let at = match numbers.below(if fills { 30 } else { 3 }) {
                0 => 4 * numbers.below(300),
                _ => last + 4,
            };
            let before = now.0;
            let waited = match numbers.below(if fills { 100 } else { 8 }) {
                0 => {
                    let at = at & !31;
                    slow.read(at, 8, waits);
                    let waited = buffer.before_read(Physical(at), 32, &mut now);
                    let start = buffer.free(now);
                    waited + buffer.transfer(start, 8, waits, &mut now)
                }
                1 => {
                    let at = at & !31;
                    slow.write_back(at, 32, waits);
                    let waited = buffer.before_write_back(&mut now);
                    buffer.write_back(Physical(at), 32, waits, now);
                    waited
                }
                2 => {
                    slow.wait_until(|bus| bus.pending.is_empty());
                    buffer.drain(&mut now)
                }
                4 => {
                    let count = 1 + numbers.below((32 - at % 32) / 4);
                    (0..count).for_each(|index| slow.store(at + 4 * index, Width::Word, waits));
                    last = at + 4 * (count - 1);
                    buffer.store_words(Physical(at), count, waits, &mut now)
                }
                number => {
                    let width = if number == 3 { Width::Byte } else { Width::Word };
                    slow.store(at, width, waits);
                    last = at;
                    buffer.store(Physical(at), width, waits, &mut now)
                }
            };
            assert_eq!((now.0, waited), (slow.now, slow.now - before), "seed {seed}, step {step}");
            assert!(buffer.is_sound(ratio), "seed {seed}, step {step}: {buffer:?}");
            for _ in 0..numbers.below(if fills { 3 } else { 12 }) {
                now.0 += 1;
                slow.tick();
            }
        }
    }
}

/// A buffer with these transfers: words, whether open, begin and end.
fn forged(transfers: &[(u32, bool, u64, u64)], end: u64) -> WriteBuffer {
    let mut buffer = WriteBuffer { end, ..WriteBuffer::new(NonZeroU8::MIN) };
    for &(words, open, begin, end) in transfers {
        let length = 4 * words.max(1);
        buffer.pending.push_back(PendingTransfer { at: 0, length, words, open, begin, end });
    }
    buffer
}

#[test]
fn impossible_states_of_snapshots_are_refused() {
    let is_sound = |transfers: &[_], end| forged(transfers, end).is_sound(NonZeroU8::MIN);
    let full = [(4, true, 0, 5), (4, true, 5, 9), (0, false, 9, 12), (4, true, 12, 20)];
    assert!(is_sound(&full, 20));
    assert!(is_sound(&[full[0], full[1], full[2], full[3], (4, true, 20, 25)], 25));
    assert!(!forged(&full, 20).is_sound(NonZeroU8::new(2).unwrap()), "another bus");
    let five: Vec<_> = (0..5).map(|number| (1, false, 3 * number, 3 * number + 3)).collect();
    assert!(!is_sound(&five, 20), "five addresses");
    assert!(!is_sound(&[(0, true, 0, 5)], 5), "a line that words may join");
    assert!(!is_sound(&[(0, false, 0, 5), (0, false, 5, 9)], 9), "two lines");
    assert!(!is_sound(&[(17, true, 0, 5)], 5), "too many words");
    assert!(!is_sound(&[(1, true, 5, 4)], 5), "an end before the begin");
    assert!(!is_sound(&[(1, true, 0, 5), (1, true, 4, 8)], 8), "two at a time");
    assert!(!is_sound(&full, 19), "a bus that is free before the last");
    assert!(!is_sound(&[], u64::MAX), "a time beyond all");
}

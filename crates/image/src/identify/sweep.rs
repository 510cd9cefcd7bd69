//! One pass over a file that searches for all filesystems.
//!
//! Layer: rank 7. Main type: [`Sweep`], the information that does not depend on a filesystem. Most of the
//! time goes into reading and into the search for magic numbers, which needs no order: two threads share
//! it. The filesystems judge the places in the order of the file, on one thread.

use crate::contents::Contents;
use crate::fs::{Detector, HEADER_MAX};
use boardlab_sim::Bytes;
use memchr::memmem::Finder;
use std::sync::mpsc::sync_channel;
use std::thread::{self, Builder};

/// The limit of bytes that are searched.
const BYTES: u64 = 1 << 30;
/// The bytes that are searched at once.
const WINDOW: usize = 256 * 1_024;
/// The bytes at the end of a file that are always searched.
const TAIL: u64 = 256 * 1_024;
/// The windows that the second thread may be ahead.
const AHEAD: usize = 4;

/// The result of the pass.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The first byte that is not erased.
    pub(crate) first_programmed: Option<Bytes>,
    /// Whether all examined programmed bytes are zero.
    pub(crate) zeros: bool,
}

impl Sweep {
    /// Searches `contents` until one of `searches` has enough information, and at its end. Two threads
    /// look at windows by turns, and what they find is judged in order.
    pub(crate) fn of(contents: &Contents, searches: &mut [&mut dyn Detector]) -> Self {
        let mut sweep = Self { first_programmed: None, zeros: true };
        let magics = Magics::of(searches);
        let length = contents.length().get();
        let mut next = 0;
        thread::scope(|scope| {
            let starts = (0..length.min(BYTES)).step_by(WINDOW);
            let (looked, seconds) = sync_channel(AHEAD);
            let (mut every_second, magics) = (starts.clone().skip(1).step_by(2), &magics);
            // Where there can be no thread, all windows are looked at here.
            let _ = Builder::new().spawn_scoped(scope, move || {
                let mut buffer = Vec::new();
                every_second.try_for_each(|at| looked.send(magics.find(contents, at, &mut buffer)))
            });
            let mut buffer = Vec::new();
            for (number, at) in starts.enumerate() {
                if searches.iter().any(|search| search.has_enough()) {
                    return;
                }
                let second = if number % 2 == 1 { seconds.recv().ok() } else { None };
                let found = second.unwrap_or_else(|| magics.find(contents, at, &mut buffer));
                sweep.note(&found);
                for (search, places) in searches.iter_mut().zip(&found.places) {
                    places.iter().for_each(|place| search.look(place.at, place.head()));
                }
                next = at + WINDOW as u64;
            }
        });
        if next < length {
            let at = length.saturating_sub(TAIL);
            let found = magics.find(contents, at, &mut Vec::new());
            for (search, places) in searches.iter_mut().zip(&found.places) {
                places.iter().for_each(|place| search.look_at_end(place.at, place.head()));
            }
        }
        sweep
    }

    fn note(&mut self, found: &Found) {
        self.first_programmed = self.first_programmed.or(found.first_programmed);
        self.zeros &= found.zeros;
    }
}

/// What is in a window.
struct Found {
    first_programmed: Option<Bytes>,
    zeros: bool,
    /// For each search, the places with its magic numbers.
    places: Vec<Vec<Place>>,
}

/// A place with a magic number.
struct Place {
    at: Bytes,
    /// Its first bytes, in place: a malicious file has such places everywhere.
    head: [u8; HEADER_MAX],
    length: u8,
}

impl Place {
    fn of(at: Bytes, bytes: &[u8]) -> Self {
        let (mut head, length) = ([0; HEADER_MAX], bytes.len().min(HEADER_MAX));
        head[..length].copy_from_slice(&bytes[..length]);
        Self { at, head, length: u8::try_from(length).expect("a header is short") }
    }

    fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.length)]
    }
}

/// The magic numbers of each search.
struct Magics(Vec<Vec<Finder<'static>>>);

impl Magics {
    fn of(searches: &[&mut dyn Detector]) -> Self {
        let finders =
            |search: &&mut dyn Detector| search.magics().iter().map(Finder::new).collect();
        Self(searches.iter().map(finders).collect())
    }

    /// Looks at the window of `contents` at `at`. One that cannot be read is empty.
    fn find(&self, contents: &Contents, at: u64, buffer: &mut Vec<u8>) -> Found {
        buffer.resize(WINDOW + HEADER_MAX, 0);
        let at = Bytes::new(at);
        let read = contents.read(at, buffer).unwrap_or(0);
        let bytes = &buffer[..read];
        let Some(first) = first_programmed(bytes) else {
            return Found { first_programmed: None, zeros: true, places: Vec::new() };
        };
        let place = |start: usize| Place::of(at + Bytes::new(start as u64), &bytes[start..]);
        let places = |finders: &Vec<Finder<'_>>| {
            let all = |finder| Finder::find_iter(finder, &bytes[first..]);
            let starts = finders.iter().flat_map(all).map(|start| first + start);
            let mut places: Vec<_> = starts.filter(|start| *start < WINDOW).map(place).collect();
            places.sort_unstable_by_key(|place| place.at);
            places
        };
        Found {
            first_programmed: Some(at + Bytes::new(first as u64)),
            zeros: bytes[first..].iter().all(|&byte| byte == 0 || byte == 0xFF),
            places: self.0.iter().map(places).collect(),
        }
    }
}

/// The first byte that is not 0xFF.
fn first_programmed(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 64;
    let chunk = bytes.chunks(STEP).position(|chunk| chunk != &[0xFF; STEP][..chunk.len()])?;
    let within = bytes[chunk * STEP..].iter().position(|&byte| byte != 0xFF)?;
    Some(chunk * STEP + within)
}

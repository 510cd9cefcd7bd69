//! A serial line with a shell at its other end: bytes and lines, with timeouts.
//!
//! Layer: rank 12. Main type: [`Port`]. The line is raw while it is open, for this process alone, and as before
//! afterwards.

use super::problem::Problem;
use crate::args::over::Line;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{
    OptionalActions, SpecialCodeIndex, Termios, ioctl_tiocexcl, ioctl_tiocnxcl, isatty, tcgetattr,
    tcsetattr,
};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long one read waits, in tenths of a second.
const READ_WAIT: u8 = 1;
/// The bytes that are read at once.
const CHUNK: usize = 4_096;
/// The longest line that is waited for; what is before the end of it is dropped.
const LINE_MAX: usize = 4_096;

/// An open serial line.
pub(super) struct Port {
    path: PathBuf,
    file: File,
    before: Termios,
    /// What came and was not taken.
    rest: Vec<u8>,
}

impl Port {
    /// Opens the line.
    pub(super) fn open(line: &Line) -> Result<Self, Problem> {
        let path = line.path.clone();
        let failed = |problem: rustix::io::Errno| Problem::Tty {
            path: path.clone(),
            problem: problem.into(),
        };
        // Without a carrier, opening a line would block; nor may it become the terminal of this process.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::empty()).map_err(failed)?;
        if !isatty(&file) {
            return Err(Problem::NotATty { path });
        }
        ioctl_tiocexcl(&file).map_err(failed)?;
        let before = tcgetattr(&file).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        raw.set_speed(line.baud).map_err(failed)?;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = READ_WAIT;
        tcsetattr(&file, OptionalActions::Now, &raw).map_err(failed)?;
        rustix::fs::fcntl_setfl(&file, OFlags::RDWR).map_err(failed)?;
        Ok(Self { path, file: file.into(), before, rest: Vec::new() })
    }

    /// Sends `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.file.write_all(bytes).map_err(|problem| self.failed(problem))
    }

    /// What comes within a tenth of a second, without carriage returns; perhaps nothing.
    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        if !self.rest.is_empty() {
            return Ok(std::mem::take(&mut self.rest));
        }
        let mut chunk = [0; CHUNK];
        let begun = Instant::now();
        let length = match self.file.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        // The other end of a pseudoterminal that is not open yet, or no longer, does not wait.
        if length == 0 && begun.elapsed() < Duration::from_millis(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(chunk[..length].iter().copied().filter(|byte| *byte != b'\r').collect())
    }

    /// What is behind `mark` in the first line that has it, within `wait`; `None` if none came. Lines before it are
    /// dropped.
    pub(super) fn line(&mut self, mark: &str, wait: Duration) -> Result<Option<String>, Problem> {
        let until = Instant::now() + wait;
        let mut line = Vec::new();
        loop {
            let bytes = self.receive().map_err(|problem| self.failed(problem))?;
            let mut bytes = bytes.into_iter();
            for byte in bytes.by_ref() {
                if byte == b'\n' {
                    let text = String::from_utf8_lossy(&line);
                    if let Some((_, rest)) = text.rsplit_once(mark) {
                        let rest = rest.to_owned();
                        self.rest = bytes.collect();
                        return Ok(Some(rest));
                    }
                    line.clear();
                } else if line.len() < LINE_MAX {
                    line.push(byte);
                }
            }
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// The problem that the line failed.
    fn failed(&self, problem: io::Error) -> Problem {
        Problem::Tty { path: self.path.clone(), problem }
    }

    /// The path of its device.
    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.file, OptionalActions::Drain, &self.before);
        let _ = ioctl_tiocnxcl(&self.file);
    }
}

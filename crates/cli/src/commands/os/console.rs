//! The terminal of a guest: standard output and standard input.
//!
//! Layer: rank 12. Main types: [`Terminal`], and [`Interruption`] for runs that save something when
//! the user ends them. A terminal is read by a thread of its own, line by line as the terminal
//! gives them; any other input is read to its end before the guest starts, so that equal input
//! makes equal runs. The output of the guest is deliberately not escaped: a program may draw on its
//! terminal. `--safe-console` shows its control characters as escapes.

use crate::terminal;
use boardlab_computer::{Console, TerminalInput};
use boardlab_result::foreign::Escaper;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of input that is read before the start.
const INPUT: u64 = 64 << 20;
/// The interval at which a guest that waits for input checks for an interruption.
const PATIENCE: Duration = Duration::from_millis(100);
/// The time without output, after all input, until the user is told how such a run ends.
const SILENCE: Duration = Duration::from_secs(3);

/// The stream for the guest's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// On standard output.
    Stdout,
    /// On standard error, because standard output has another use.
    Stderr,
}

/// The terminal of a guest.
#[derive(Debug)]
pub(super) struct Terminal {
    shows: Shows,
    input: Input,
    /// The escaper of the guest's output, if it is escaped.
    safe: Option<Escaper>,
    interruption: Interruption,
    /// When the guest last printed or had input left, if the user is to be told of silence.
    silent_since: Option<Instant>,
}

/// Whether the user has asked for the end: by Ctrl-C, or a signal that ends programs.
#[derive(Debug, Clone, Default)]
pub(super) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Handles the signals from now on. A second one ends the process at once, as usual.
    #[cfg(unix)]
    fn take(&self) -> io::Result<()> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&self.0))?;
            signal_hook::flag::register(signal, Arc::clone(&self.0))?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Unix")]
    fn take(&self) -> io::Result<()> {
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

#[derive(Debug)]
enum Input {
    /// The whole input; `None` once it was typed.
    Whole(Option<Vec<u8>>),
    /// Read by a thread.
    Live(Receiver<io::Result<Vec<u8>>>),
}

impl Terminal {
    /// A terminal with standard input; with `live` it is read during the run even if it is not a
    /// terminal.
    pub(super) fn open(shows: Shows, live: bool) -> io::Result<Self> {
        let input = if live || io::stdin().is_terminal() {
            Input::Live(reader())
        } else {
            let mut bytes = Vec::new();
            io::stdin().lock().take(INPUT).read_to_end(&mut bytes)?;
            Input::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
        };
        Ok(Self::new(shows, input))
    }

    /// Tells the user once how to end a run that goes on in silence after all its input.
    pub(super) fn hinting(mut self) -> Self {
        self.silent_since = Some(Instant::now());
        self
    }

    /// From now on an interruption ends the run with an error of the kind `Interrupted`.
    pub(super) fn interruptible(self) -> io::Result<Self> {
        self.interruption.take()?;
        Ok(self)
    }

    /// A terminal without input.
    pub(super) fn deaf(shows: Shows) -> Self {
        Self::new(shows, Input::Whole(None))
    }

    fn new(shows: Shows, input: Input) -> Self {
        let interruption = Interruption::default();
        Self { shows, input, safe: None, interruption, silent_since: None }
    }

    /// Shows control characters of the guest as escapes, if `safe`.
    pub(super) fn safe(mut self, safe: bool) -> Self {
        self.safe = safe.then(Escaper::default);
        self
    }

    fn hint(&mut self, is_silent: bool) {
        let Some(since) = &mut self.silent_since else { return };
        if !is_silent || !matches!(self.input, Input::Whole(None)) {
            *since = Instant::now();
        } else if since.elapsed() >= SILENCE {
            self.silent_since = None;
            terminal::tell(
                "note: the input is at its end, and the program goes on. Ctrl-C ends it; the next time `halt` as the last \
                 line of the input (for the kernel of os/), or --limit, such as --limit 2s",
            );
        }
    }

    fn show(&self, bytes: &[u8]) -> io::Result<()> {
        let show = |stream: &mut dyn Write| stream.write_all(bytes).and_then(|()| stream.flush());
        match self.shows {
            Shows::Stdout => show(&mut io::stdout().lock()),
            Shows::Stderr => show(&mut io::stderr().lock()),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(rest) = self.safe.as_mut().map(Escaper::finish) {
            // At most a part of a character; a broken console was reported before.
            let _ = self.show(rest.as_bytes());
        }
    }
}

/// Reads standard input until its end; the thread ends with the process.
fn reader() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4_096];
        loop {
            let read = match io::stdin().lock().read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => Ok(buffer[..length].to_vec()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let broken = read.is_err();
            if sender.send(read).is_err() || broken {
                return;
            }
        }
    });
    receiver
}

impl Console for Terminal {
    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hint(bytes.is_empty());
        match &mut self.safe {
            _ if bytes.is_empty() => {}
            Some(escaper) => {
                let text = escaper.take(bytes);
                self.show(text.as_bytes())?;
            }
            None => self.show(bytes)?,
        }
        self.interruption.check()
    }

    fn typed(&mut self, wait: bool) -> io::Result<TerminalInput> {
        match &mut self.input {
            Input::Whole(bytes) => {
                Ok(bytes.take().map_or(TerminalInput::Ended, TerminalInput::Bytes))
            }
            Input::Live(receiver) if wait => loop {
                match receiver.recv_timeout(PATIENCE) {
                    Ok(read) => return read.map(TerminalInput::Bytes),
                    Err(RecvTimeoutError::Timeout) => self.interruption.check()?,
                    Err(RecvTimeoutError::Disconnected) => return Ok(TerminalInput::Ended),
                }
            },
            Input::Live(receiver) => match receiver.try_recv() {
                Ok(read) => read.map(TerminalInput::Bytes),
                Err(TryRecvError::Empty) => Ok(TerminalInput::Nothing),
                Err(TryRecvError::Disconnected) => Ok(TerminalInput::Ended),
            },
        }
    }
}

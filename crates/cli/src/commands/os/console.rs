//! The terminal of a guest: standard output and standard input.
//!
//! Layer: rank 9. Main type: [`Terminal`]. A terminal is read by a thread of its own, line by line as the terminal gives them;
//! anything else is read to its end before the guest starts, so that equal input makes equal runs. What the guest prints goes out raw, by
//! purpose: a program may draw on its terminal as it likes. `--safe-console` shows its control characters as escapes.

use boardlab_lab::os::{Console, Typed};
use boardlab_result::foreign::Escaper;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

/// Input that is read before the start: more is no console's.
const INPUT: u64 = 64 << 20;

/// Where the guest's output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// On standard output.
    Stdout,
    /// On standard error, because standard output is for something else.
    Stderr,
}

/// The terminal of a guest.
#[derive(Debug)]
pub(super) struct Terminal {
    shows: Shows,
    input: Input,
    /// What makes the guest's output harmless, if it is to be.
    safe: Option<Escaper>,
}

#[derive(Debug)]
enum Input {
    /// All of it; nothing when it was typed.
    Whole(Option<Vec<u8>>),
    /// Read by a thread.
    Live(Receiver<io::Result<Vec<u8>>>),
}

impl Terminal {
    /// With standard input; `live` also where it is no terminal.
    pub(super) fn open(shows: Shows, live: bool) -> io::Result<Self> {
        let input = if live || io::stdin().is_terminal() {
            Input::Live(reader())
        } else {
            let mut bytes = Vec::new();
            io::stdin().lock().take(INPUT).read_to_end(&mut bytes)?;
            Input::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
        };
        Ok(Self { shows, input, safe: None })
    }

    /// Without any input.
    pub(super) const fn deaf(shows: Shows) -> Self {
        Self { shows, input: Input::Whole(None), safe: None }
    }

    /// Shows control characters of the guest as escapes, if `safe`.
    pub(super) fn safe(mut self, safe: bool) -> Self {
        self.safe = safe.then(Escaper::default);
        self
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
            // Half a character at most; a console that is broken was told before.
            let _ = self.show(rest.as_bytes());
        }
    }
}

/// Reads standard input until it ends; the thread goes with the process.
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
        match &mut self.safe {
            _ if bytes.is_empty() => Ok(()),
            Some(escaper) => {
                let text = escaper.take(bytes);
                self.show(text.as_bytes())
            }
            None => self.show(bytes),
        }
    }

    fn typed(&mut self, wait: bool) -> io::Result<Typed> {
        match &mut self.input {
            Input::Whole(bytes) => Ok(bytes.take().map_or(Typed::Ended, Typed::Bytes)),
            Input::Live(receiver) if wait => {
                receiver.recv().map_or(Ok(Typed::Ended), |read| read.map(Typed::Bytes))
            }
            Input::Live(receiver) => match receiver.try_recv() {
                Ok(read) => read.map(Typed::Bytes),
                Err(TryRecvError::Empty) => Ok(Typed::Nothing),
                Err(TryRecvError::Disconnected) => Ok(Typed::Ended),
            },
        }
    }
}

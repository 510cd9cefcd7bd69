//! `boardlab os debug`: the connection to GDB, over TCP or over standard input and output.
//!
//! Layer: rank 12. Main type: [`Wire`]. A thread reads what GDB sends, so that the machine can run
//! meanwhile; it reads at most [`AHEAD`] pieces ahead.

use super::console::{Shows, Terminal};
use super::{keep_card, no_result, order, tell};
use crate::args::{Options, OsDebug};
use crate::error::Error;
use crate::exit::Status;
use crate::output::expect_stdout;
use boardlab_computer::Session;
use boardlab_computer::debug::{Connection, SessionEnd};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

/// Bytes that are read at once.
const PIECE: usize = 4_096;
/// Pieces that are read ahead: GDB waits when there are more.
const AHEAD: usize = 4;

/// Waits for GDB, and serves it until it disconnects; after a lost connection GDB may connect again.
pub(super) fn perform(arguments: &OsDebug, options: &Options) -> Result<Status, Error> {
    no_result(options, "leave it out, or run the program: boardlab os run program.elf --json")?;
    expect_stdout()?;
    let mut session = Session::open(&order(&arguments.machine)?)?;
    let parted = serve(arguments, options, &mut session);
    let card = keep_card(&mut session, options);
    let parted = parted.map(|parted| match parted {
        SessionEnd::Left | SessionEnd::Lost => tell(options, "GDB has left"),
        SessionEnd::Killed => tell(options, "GDB has ended the program"),
        SessionEnd::Exited(code) => {
            tell(options, &format!("the program ended with exit code {code}"));
        }
    });
    Error::all([card, parted]).map(|()| Status::Done)
}

/// Serves GDB on standard input and output, or one connection after another at the port.
fn serve(
    arguments: &OsDebug,
    options: &Options,
    session: &mut Session,
) -> Result<SessionEnd, Error> {
    let shows = if arguments.stdio { Shows::Stderr } else { Shows::Stdout };
    let mut terminal = Terminal::deaf(shows).safe(arguments.machine.safe_console);
    if arguments.stdio {
        return Ok(session.debug(Wire::new(io::stdin(), io::stdout()), &mut terminal)?);
    }
    let address = &arguments.listen;
    let refused = |problem| Error::Listen { address: address.into(), problem };
    let listener = TcpListener::bind(address).map_err(refused)?;
    let place = listener.local_addr().map_err(refused)?;
    loop {
        tell(options, &format!("waiting for GDB: target remote {place}"));
        let wire = accept(&listener).map_err(refused)?;
        match session.debug(wire, &mut terminal)? {
            SessionEnd::Lost => {
                tell(options, "the connection to GDB is lost; the program is kept where it is");
                // GDB may never connect again.
                keep_card(session, options)?;
            }
            parted => return Ok(parted),
        }
    }
}

/// Accepts the next connection of GDB.
fn accept(listener: &TcpListener) -> io::Result<Wire> {
    loop {
        let wire = listener.accept().and_then(|(stream, _)| Wire::of_stream(&stream));
        match wire {
            // The client disconnected before it was accepted.
            Err(error) if is_of_one(&error) => {}
            wire => return wire,
        }
    }
}

fn is_of_one(error: &io::Error) -> bool {
    use ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted, InvalidInput, NotConnected,
    };
    matches!(
        error.kind(),
        BrokenPipe
            | ConnectionAborted
            | ConnectionReset
            | Interrupted
            | InvalidInput
            | NotConnected
    )
}

/// Bytes to and from GDB.
struct Wire {
    received: Receiver<Vec<u8>>,
    out: Box<dyn Write>,
    /// The stream, which is shut down when it is dropped, so that the thread ends.
    stream: Option<TcpStream>,
}

impl Wire {
    fn of_stream(stream: &TcpStream) -> io::Result<Self> {
        // Packets are small and wait for their answers.
        stream.set_nodelay(true)?;
        let mut wire = Self::new(stream.try_clone()?, stream.try_clone()?);
        wire.stream = Some(stream.try_clone()?);
        Ok(wire)
    }

    fn new(mut from: impl Read + Send + 'static, to: impl Write + 'static) -> Self {
        let (sender, received) = mpsc::sync_channel(AHEAD);
        thread::spawn(move || {
            let mut buffer = [0; PIECE];
            loop {
                match from.read(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(length) if length > 0 => {
                        if sender.send(buffer[..length].to_vec()).is_err() {
                            return;
                        }
                    }
                    // The end, or an error, which ends the connection too.
                    _ => return,
                }
            }
        });
        Self { received, out: Box::new(to), stream: None }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            // It may already be shut down.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Connection for Wire {
    fn receive(&mut self, wait: bool) -> io::Result<Vec<u8>> {
        let ended = || io::Error::from(ErrorKind::UnexpectedEof);
        if wait {
            return self.received.recv().map_err(|_| ended());
        }
        match self.received.try_recv() {
            Ok(piece) => Ok(piece),
            Err(TryRecvError::Empty) => Ok(Vec::new()),
            Err(TryRecvError::Disconnected) => Err(ended()),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

//! `boardlab os debug`: the line to GDB, over TCP or over standard input and output.
//!
//! Layer: rank 9. Main type: [`Wire`]. A thread reads what GDB sends, so that the machine can run meanwhile.

use super::console::{Shows, Terminal};
use super::{keep_card, no_result, order, tell};
use crate::args::{Options, OsDebug};
use crate::error::Error;
use crate::exit::Status;
use crate::output::expect_stdout;
use boardlab_lab::os::Session;
use boardlab_lab::os::debug::{Connection, Parted};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

/// Waits for GDB, and serves it until it goes.
pub(super) fn perform(arguments: &OsDebug, options: &Options) -> Result<Status, Error> {
    no_result(options)?;
    expect_stdout()?;
    let mut session = Session::open(&order(&arguments.machine))?;
    let (wire, shows) = if arguments.stdio {
        (Wire::new(io::stdin(), io::stdout()), Shows::Stderr)
    } else {
        (listen(&arguments.listen, options)?, Shows::Stdout)
    };
    let parted = session.debug(wire, &mut Terminal::deaf(shows));
    let card = keep_card(&mut session, options);
    let parted = parted.map_err(Error::Os).map(|parted| match parted {
        Parted::Left => tell(options, "GDB has left"),
        Parted::Killed => tell(options, "GDB has ended the program"),
        Parted::Exited(code) => tell(options, &format!("the program ended with exit code {code}")),
    });
    Error::all([card, parted]).map(|()| Status::Done)
}

/// Waits for one GDB.
fn listen(address: &str, options: &Options) -> Result<Wire, Error> {
    let refused = |problem| Error::Listen { address: address.into(), problem };
    let listener = TcpListener::bind(address).map_err(refused)?;
    let place = listener.local_addr().map_err(refused)?;
    tell(options, &format!("waiting for GDB: target remote {place}"));
    let (stream, _) = listener.accept().map_err(refused)?;
    // Packets are small and wait for their answers.
    stream.set_nodelay(true).map_err(refused)?;
    let reading = stream.try_clone().map_err(refused)?;
    Ok(Wire::new(reading, stream))
}

/// Bytes to and from GDB.
struct Wire {
    received: Receiver<io::Result<u8>>,
    peeked: Option<u8>,
    out: Box<dyn Write>,
}

impl Wire {
    fn new(mut from: impl Read + Send + 'static, to: impl Write + 'static) -> Self {
        let (sender, received) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            loop {
                match from.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => {
                        if buffer[..length].iter().any(|byte| sender.send(Ok(*byte)).is_err()) {
                            return;
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        // Nobody is left to tell when the machine has gone.
                        let _ = sender.send(Err(error));
                        return;
                    }
                }
            }
        });
        Self { received, peeked: None, out: Box::new(to) }
    }
}

impl Connection for Wire {
    fn read(&mut self) -> io::Result<u8> {
        match self.peeked.take() {
            Some(byte) => Ok(byte),
            None => self.received.recv().unwrap_or_else(|_| Err(ErrorKind::UnexpectedEof.into())),
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.peeked.is_none() {
            self.peeked = match self.received.try_recv() {
                Ok(byte) => Some(byte?),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return Err(ErrorKind::UnexpectedEof.into()),
            };
        }
        Ok(self.peeked)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

//! A program under GDB, by its remote protocol.
//!
//! Layer: rank 8. [`Session::debug`] speaks with GDB over a [`Connection`]; the protocol is that of the `gdbstub` crate. In reading order: [`arch`],
//! the registers; `points`, the engine that stops; `target`, the machine as GDB sees it.

pub mod arch;
mod points;
mod target;

use super::failure::Failure;
use super::run::Console;
use super::session::Session;
use gdbstub::common::Signal;
use gdbstub::conn::{Connection as Bytes, ConnectionExt};
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, SingleThreadStopReason};
use std::io;
use std::marker::PhantomData;
use target::{Debugged, Reason};

/// The way to GDB: bytes both ways.
pub trait Connection {
    /// The next byte, which it waits for.
    ///
    /// # Errors
    /// Of the line; the end of the line is one.
    fn read(&mut self) -> io::Result<u8>;

    /// The next byte if it is there; it stays.
    ///
    /// # Errors
    /// Of the line; the end of the line is one.
    fn peek(&mut self) -> io::Result<Option<u8>>;

    /// Sends bytes.
    ///
    /// # Errors
    /// Of the line.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Sends what is kept back.
    ///
    /// # Errors
    /// Of the line.
    fn flush(&mut self) -> io::Result<()>;
}

/// How a session with GDB ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parted {
    /// GDB went away.
    Left,
    /// GDB ended the program.
    Killed,
    /// The program ended itself.
    Exited(u8),
}

impl Session {
    /// Lets GDB at the other end of `connection` debug the program, from where it is now.
    ///
    /// # Errors
    /// When the line or the console breaks, or GDB says what nobody understands.
    pub fn debug<C: Connection>(
        &mut self,
        connection: C,
        console: &mut dyn Console,
    ) -> Result<Parted, Failure> {
        let mut target = Debugged::new(self, console);
        let stub = GdbStub::new(Line(connection));
        let ended = stub.run_blocking::<Loop<'_, C>>(&mut target);
        self.usual_engine();
        match ended {
            Ok(DisconnectReason::TargetExited(code)) => Ok(Parted::Exited(code)),
            Ok(DisconnectReason::Kill) => Ok(Parted::Killed),
            Ok(_) => Ok(Parted::Left),
            Err(error) if error.is_connection_error() => {
                let (error, _) = error.into_connection_error().expect("asked just now");
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    Ok(Parted::Left)
                } else {
                    Err(Failure::Console(error))
                }
            }
            Err(error) if error.is_target_error() => {
                Err(Failure::Console(error.into_target_error().expect("asked just now")))
            }
            Err(error) => Err(Failure::Argument {
                problem: format!("the other end does not speak as GDB does: {error}"),
                help: "connect with gdb-multiarch: target remote 127.0.0.1:1234".into(),
            }),
        }
    }
}

/// A connection as the protocol's crate wants it.
struct Line<C>(C);

impl<C: Connection> Bytes for Line<C> {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.0.send(&[byte])
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<C: Connection> ConnectionExt for Line<C> {
    fn read(&mut self) -> io::Result<u8> {
        self.0.read()
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        self.0.peek()
    }
}

/// Runs the machine until it stops, or GDB says something.
struct Loop<'a, C>(PhantomData<(&'a (), C)>);

impl<'a, C: Connection> BlockingEventLoop for Loop<'a, C> {
    type Target = Debugged<'a>;
    type Connection = Line<C>;
    type StopReason = Reason;

    fn wait_for_stop_reason(
        target: &mut Debugged<'a>,
        connection: &mut Line<C>,
    ) -> Result<Event<Reason>, WaitForStopReasonError<io::Error, io::Error>> {
        loop {
            let broken = WaitForStopReasonError::Connection;
            if connection.0.peek().map_err(broken)?.is_some() {
                return connection.0.read().map(Event::IncomingData).map_err(broken);
            }
            let stopped = target.turn().map_err(WaitForStopReasonError::Target)?;
            if let Some(reason) = stopped {
                return Ok(Event::TargetStopped(reason));
            }
        }
    }

    fn on_interrupt(_target: &mut Debugged<'a>) -> Result<Option<Reason>, io::Error> {
        Ok(Some(SingleThreadStopReason::Signal(Signal::SIGINT)))
    }
}

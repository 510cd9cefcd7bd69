//! The trait that every block device implements, modelled or real.
//!
//! Layer: rank 2. Main type: [`BlockDevice`]. A request is submitted at an instant and returns
//! immediately with the instants at which it was accepted, started and ended, so that many requests
//! can be in flight without an event list: a host with a queue stores the ends and submits the next
//! request at the earliest of them. The time between two submissions is idle time, which a device
//! may use for background work.
//!
//! Left out: requests that overtake each other after they were accepted. A device that sorts its queue
//! sorts only requests whose ends are not yet reported.

use crate::error::Error;
use crate::extent::Extent;
use crate::geometry::Geometry;
use crate::request::{Completion, Payload, Request, Target};
use boardlab_sim::{Clock, Instant};

/// A device of logical blocks.
///
/// A completed write may be lost in a power cut until a flush ends, where [`Geometry::cache`] says
/// so. After [`Error::PowerCut`] nothing works until the owner powers the device on again.
pub trait BlockDevice {
    /// The shape of the device.
    fn geometry(&self) -> &Geometry;

    /// Submits a request at `at`. A read has filled its buffer when this returns.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::ended`] is the instant of its detection.
    ///
    /// # Panics
    /// May panic when `at` is earlier than that of an earlier request.
    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error>;

    /// Submits a request now and waits for its end.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`]; the clock stands at the detection of the failure.
    fn wait(&mut self, clock: &mut Clock, request: Request<'_>) -> Result<Completion, Error> {
        let answer = self.submit(clock.now(), request);
        let ended = match &answer {
            Ok(completion) => Some(completion.ended),
            Err(error) => error.ended(),
        };
        clock.advance_to(ended.unwrap_or(clock.now()));
        answer
    }

    /// Reads the blocks of `extent` into `buffer`.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`].
    fn read(
        &mut self,
        clock: &mut Clock,
        extent: Extent,
        buffer: &mut [u8],
    ) -> Result<Completion, Error> {
        self.wait(clock, Request::Read { extent, into: Target::Buffer(buffer) })
    }

    /// Writes `data` to the blocks of `extent`.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`].
    fn write(
        &mut self,
        clock: &mut Clock,
        extent: Extent,
        data: &[u8],
    ) -> Result<Completion, Error> {
        self.wait(clock, Request::Write { extent, data: Payload::Bytes(data), durable: false })
    }

    /// Makes the blocks of `extent` read as zeros.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`].
    fn write_zeroes(&mut self, clock: &mut Clock, extent: Extent) -> Result<Completion, Error> {
        self.wait(clock, Request::WriteZeroes { extent })
    }

    /// Discards the blocks of `extent`.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`].
    fn discard(&mut self, clock: &mut Clock, extent: Extent) -> Result<Completion, Error> {
        self.wait(clock, Request::Discard { extent })
    }

    /// Makes all earlier writes durable.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`].
    fn flush(&mut self, clock: &mut Clock) -> Result<Completion, Error> {
        self.wait(clock, Request::Flush)
    }
}

/// A borrowed or boxed device is a device.
macro_rules! forward {
    ($($holder:ty),*) => {$(
        impl<D: BlockDevice + ?Sized> BlockDevice for $holder {
            fn geometry(&self) -> &Geometry {
                (**self).geometry()
            }
            fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
                (**self).submit(at, request)
            }
        }
    )*};
}

forward!(&mut D, Box<D>);

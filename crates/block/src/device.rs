//! The trait that every block device implements, modelled or real.
//!
//! Layer: rank 2. Main type: [`BlockDevice`]. A request is submitted at an instant and answered at
//! once with the instants at which it was accepted, began and ended, so that many requests can be under
//! way without a list of events: a host with a queue keeps the ends and submits the next request when
//! the first of them has come. What happens between two submissions is idle time, which a device may
//! use for work of its own.
//!
//! Left out: requests that overtake each other after they were accepted; a device that sorts its queue
//! does so among those whose end is not yet told.

use crate::error::Error;
use crate::extent::Extent;
use crate::geometry::Geometry;
use crate::request::{Completion, Payload, Request, Target};
use boardlab_sim::{Clock, Instant};

/// A device of logical blocks.
///
/// A write that was answered may be lost in a power cut until a flush ends, where
/// [`Geometry::cache`] says so. After [`Error::PowerCut`] nothing works until the device is powered on
/// again by its owner.
pub trait BlockDevice {
    /// The shape of the device.
    fn geometry(&self) -> &Geometry;

    /// Takes a request at `at`, and does it. A read has filled its buffer when this returns.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::ended`] tells when it showed.
    ///
    /// # Panics
    /// May panic when `at` is earlier than that of an earlier request.
    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error>;

    /// Takes a request now and waits for its end.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`]; the clock stands where the failure showed.
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

    /// Tells that nobody needs the blocks of `extent` any more.
    ///
    /// # Errors
    /// As [`BlockDevice::submit`].
    fn discard(&mut self, clock: &mut Clock, extent: Extent) -> Result<Completion, Error> {
        self.wait(clock, Request::Discard { extent })
    }

    /// Waits until everything written before is on the medium.
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

//! A layer of middleware on a device.
//!
//! Layer: rank 2. Main types: [`Layer`], the behaviour of a layer, and [`Layered`], the block device
//! that consists of a layer and the device below it. All middleware shares the pass-through code here.

use crate::device::BlockDevice;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::request::{Completion, Request};
use boardlab_sim::Instant;

/// The behaviour of a layer of middleware.
pub trait Layer<D: BlockDevice> {
    /// Passes a request to `device`, or handles it itself, and observes or changes the result.
    ///
    /// # Errors
    /// Those of the device, and the layer's own.
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error>;
}

/// A layer on a device.
#[derive(Debug, Clone)]
pub struct Layered<L, D> {
    layer: L,
    device: D,
}

impl<L, D> Layered<L, D> {
    /// Puts `layer` on `device`.
    #[must_use]
    pub const fn new(layer: L, device: D) -> Self {
        Self { layer, device }
    }

    /// The layer.
    #[must_use]
    pub const fn layer(&self) -> &L {
        &self.layer
    }

    /// The layer, to change its settings.
    pub const fn layer_mut(&mut self) -> &mut L {
        &mut self.layer
    }

    /// The device below.
    #[must_use]
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// The device below; the layer does not notice direct changes.
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Separates the layer from the device.
    #[must_use]
    pub fn into_parts(self) -> (L, D) {
        (self.layer, self.device)
    }

    /// Gives the device back.
    #[must_use]
    pub fn into_inner(self) -> D {
        self.device
    }

    /// Both at once, for a layer with methods that need the device.
    pub(crate) const fn parts_mut(&mut self) -> (&mut L, &mut D) {
        (&mut self.layer, &mut self.device)
    }
}

impl<L: Layer<D>, D: BlockDevice> BlockDevice for Layered<L, D> {
    fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    #[inline]
    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
        self.layer.around(&mut self.device, at, request)
    }
}

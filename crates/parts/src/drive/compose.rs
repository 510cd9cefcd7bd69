//! A drive on a host: composes part and board into a link, the drive behind the protocol, and
//! IDENTIFY data.
//!
//! Layer: rank 8. Main types: [`Composed`], [`Failure`]; functions: [`compose`], [`age`]. The flash
//! is erased and empty; its random properties, the endurance of each block and the factory bad
//! blocks, follow from the seed.

use super::board::SataHost;
use super::housekeeping::Housekeeping;
use super::part::DrivePart;
use crate::managed::{self, Layer};
use boardlab_ftl as ftl;
use boardlab_ftl::{Extent, Timed, Translation};
use boardlab_sata as sata;
use boardlab_sata::Speed;
use boardlab_sata::device::{Drive, Storage, WriteCache};
use boardlab_sata::link::{End, Wiring};
use boardlab_sata::wire::identify::{Feature, Identify};
use boardlab_sim::{Instant, Seed};
use std::fmt;

/// The layers of a drive below its protocol.
pub type Flash = Housekeeping<Layer>;

/// A drive on a host.
#[derive(Debug, Clone)]
pub struct Composed {
    /// The link, at the fastest speed that both ends support.
    pub wiring: Wiring,
    /// The drive.
    pub storage: Storage<Flash>,
    /// Its IDENTIFY data.
    pub identify: Identify,
}

/// Why a drive and a host do not make a system.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A FIFO can overflow: more dwords may arrive after HOLD was sent than it has room for.
    Headroom {
        /// The end whose FIFO it is.
        end: &'static str,
        /// The room above the level of HOLD, in dwords.
        left: u32,
        /// The room that is needed.
        needed: u32,
    },
    /// The properties of the drive are invalid.
    Drive(sata::Error),
    /// The translation layer is invalid.
    Layer(managed::Failure),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Headroom { end, left, needed } => write!(
                f,
                "the FIFO of the {end} leaves {left} dwords above hold_from, and {needed} can come: 20 and the \
                 latencies of both ends"
            ),
            Self::Drive(error) => error.fmt(f),
            Self::Layer(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<sata::Error> for Failure {
    fn from(error: sata::Error) -> Self {
        Self::Drive(error)
    }
}

impl From<managed::Failure> for Failure {
    fn from(error: managed::Failure) -> Self {
        Self::Layer(error)
    }
}

impl From<ftl::Error> for Failure {
    fn from(error: ftl::Error) -> Self {
        Self::Layer(error.into())
    }
}

/// A drive of `part` on `host`, new and empty. Unless data are `kept`, writes are not stored and
/// reads return zeros.
///
/// # Errors
/// [`Failure`]: what does not fit together.
pub fn compose(
    part: &DrivePart,
    host: &SataHost,
    kept: bool,
    seed: Seed,
) -> Result<Composed, Failure> {
    at_port(part, (host.speed, host.end), kept, seed)
}

/// The same at any port, given by its fastest speed and its end of the link.
///
/// # Errors
/// [`Failure`]: what does not fit together.
pub fn at_port(
    part: &DrivePart,
    port: (Speed, End),
    kept: bool,
    seed: Seed,
) -> Result<Composed, Failure> {
    let wiring = linked(part, port)?;
    let geometry = part.geometry()?;
    let medium = Timed::new(&geometry, &part.managed.timing())?;
    let layer = Layer::new(&part.managed, geometry, medium, seed)?;
    let drive = Drive { stripe: geometry.stripe(), ..part.drive };
    let storage = Storage::new(drive, Housekeeping::new(layer, part.housekeeping), kept)?;
    Ok(Composed { wiring, storage, identify: identify(part, &drive)? })
}

/// The link between the two. Neither FIFO can overflow.
///
/// # Errors
/// [`Failure::Headroom`].
pub fn wiring(part: &DrivePart, host: &SataHost) -> Result<Wiring, Failure> {
    linked(part, (host.speed, host.end))
}

fn linked(part: &DrivePart, (speed, host): (Speed, End)) -> Result<Wiring, Failure> {
    let headroom = |whose: &'static str, end: &End, other: &End| {
        let (left, needed) = (end.fifo - end.hold_from, end.headroom(other));
        let fits = left >= needed;
        if fits { Ok(()) } else { Err(Failure::Headroom { end: whose, left, needed }) }
    };
    headroom("host", &host, &part.end)?;
    headroom("drive", &part.end, &host)?;
    Ok(Wiring { speed: speed.min(part.speed), host, device: part.end })
}

fn identify(part: &DrivePart, drive: &Drive) -> Result<Identify, Failure> {
    let feature = |there: bool| if there { Feature::On } else { Feature::Absent };
    let identity = Identify {
        serial: part.identity.serial.clone(),
        firmware: part.identity.firmware.clone(),
        lba_48: drive.lba48,
        queue_depth: drive.queue.map(|depth| u8::try_from(depth).unwrap_or(u8::MAX)),
        trims: drive.trims,
        flush_ext: drive.lba48,
        write_cache: feature(drive.write_cache != WriteCache::Through),
        look_ahead: feature(drive.look_ahead),
        ..Identify::new(&part.identity.model, drive.sectors, part.speed)
    };
    identity.emit()?;
    Ok(identity)
}

/// Ages a new drive: writes all of it once, and then as much again as its over-provisioning, so
/// that from now on blocks have to be erased. Returns when the writes end.
///
/// # Errors
/// What the layer refuses.
pub fn age(flash: &mut Flash, part: &DrivePart) -> Result<Instant, Failure> {
    let geometry = part.geometry()?;
    let all = flash.pages();
    let spare = (geometry.pages() - all).min(all);
    let first = flash.write(Instant::ZERO, Extent::new(0, all))?;
    let then = flash.write(first.finished, Extent::new(0, spare))?;
    Ok(flash.flush(then.finished).finished.max(then.finished))
}

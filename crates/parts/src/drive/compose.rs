//! A drive on a host: composes part and board into a link, the drive behind the protocol, and
//! IDENTIFY data.
//!
//! Layer: rank 8. Main type: [`DriveOnHost`]; functions: [`compose`], [`age`]. The flash is erased and empty;
//! what is random about it, lives of blocks and blocks that are bad from the factory, follows from the seed.

use super::board::Port;
use super::housekeeping::Housekeeping;
use super::part::DrivePart;
use crate::Failure;
use crate::managed::Layer;
use boardlab_ftl::{Extent, TimedMedium, Translation};
use boardlab_sata::device::{Drive, Storage, WriteCache};
use boardlab_sata::link::{End, Wiring};
use boardlab_sata::wire::identify::{Feature, Identify};
use boardlab_sim::{Instant, Seed};

/// The layers of a drive below its protocol.
pub type Flash = Housekeeping<Layer>;

/// A drive on a host.
#[derive(Debug, Clone)]
pub struct DriveOnHost {
    /// The link, at the fastest speed that both ends support.
    pub wiring: Wiring,
    /// The drive.
    pub storage: Storage<Flash>,
    /// Its IDENTIFY data.
    pub identify: Identify,
}

/// A drive of `part` at `port`, new and empty. Where it does not have to be `kept`, what is written is forgotten and
/// reads give zeros.
///
/// # Errors
/// [`Failure`]: what does not fit together.
pub fn compose(
    part: &DrivePart,
    port: Port,
    kept: bool,
    seed: Seed,
) -> Result<DriveOnHost, Failure> {
    let wiring = wiring(part, port)?;
    let geometry = part.geometry()?;
    let medium = TimedMedium::new(&geometry, &part.managed.timing())?;
    let layer = Layer::new(&part.managed, geometry, medium, seed)?;
    let drive = Drive { stripe: geometry.stripe(), ..part.drive };
    let storage = Storage::new(drive, Housekeeping::new(layer, part.housekeeping), kept)?;
    Ok(DriveOnHost { wiring, storage, identify: identify(part, &drive)? })
}

/// The link between the two. Neither FIFO can overflow.
///
/// # Errors
/// [`Failure::Headroom`].
pub fn wiring(part: &DrivePart, Port { speed, end: host }: Port) -> Result<Wiring, Failure> {
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

//! For how long what was written is at risk when nobody syncs it.
//!
//! Layer: rank 10. Main type: [`Risk`]. A file is written and closed, and then the board idles: the page cache writes
//! back what is old, and the filesystem does its background work. After every program of the flash the power could
//! fail; the flash as it is then is mounted and read. What is not there yet is at risk.

use super::filesystem::Lab;
use super::stand::Cached;
use super::steps::{content, write_and_close};
use crate::nandfs::flash::{Counts, Flash};
use boardlab_experiment::Cause;
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_vfs::{Errno, Error};

/// Bytes of the file: a setting, or a line of a log.
const FILE: Bytes = Bytes::kib(4);
/// The path of the file.
const PATH: &str = "/setting";
/// How exactly the time is told.
const STEP: Duration = Duration::from_millis(100);
/// What is not on the flash after so long is not written before a sync.
const LONGEST: Duration = Duration::from_secs(600);

/// From the end of a write to the moment from which a power cut cannot take it back; `None` without a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Risk {
    /// Of a file that is new.
    pub new: Option<Duration>,
    /// Of new content in a file that was synced.
    pub rewritten: Option<Duration>,
}

impl Lab<'_> {
    /// Measures it on `flash`, which is erased.
    pub(super) fn risk(&self, flash: Flash) -> Result<Risk, Cause> {
        let fresh = self.made(flash, &mut Clock::new())?;
        Ok(Risk {
            new: self.until_durable(fresh.clone(), false)?,
            rewritten: self.until_durable(fresh, true)?,
        })
    }

    fn until_durable(&self, flash: Flash, again: bool) -> Result<Option<Duration>, Cause> {
        let mut clock = Clock::new();
        let mut mount = self.mount(flash, &mut clock, self.page_cache())?;
        let [old, new] = [0, 1].map(|version| content(version, FILE));
        if again {
            write(&mut mount, &mut clock, &old)?;
            mount.sync(&mut clock)?;
        }
        write(&mut mount, &mut clock, &new)?;
        let begun = clock.now();
        let mut programs = None;
        while clock.now().since(begun) < LONGEST {
            let flash = mount.fs().flash();
            let now = Counts::of(flash).programs;
            // Between programs the flash stays as it is.
            if programs != Some(now) {
                programs = Some(now);
                if self.holds(flash.clone(), &new).unwrap_or(false) {
                    return Ok(Some(clock.now().since(begun)));
                }
            }
            let until = clock.now() + STEP;
            mount.idle(&mut clock, until)?;
        }
        Ok(None)
    }

    /// Whether a flash whose power failed has the file with this content; what cannot be mounted or read has not.
    fn holds(&self, flash: Flash, content: &[u8]) -> Result<bool, Cause> {
        let mut clock = Clock::new();
        let mut mount = self.mount(flash, &mut clock, self.page_cache())?;
        let fd = match mount.open(&mut clock, PATH) {
            Err(error) if error.errno() == Some(Errno::NoEnt) => return Ok(false),
            fd => fd?,
        };
        let mut found = vec![0; content.len()];
        let length = mount.read(&mut clock, fd, 0, &mut found)?;
        Ok(length == content.len() && found == content)
    }
}

/// Writes the file, anew when it is there.
fn write(mount: &mut Cached, clock: &mut Clock, content: &[u8]) -> Result<(), Error> {
    let fd = match mount.open(clock, PATH) {
        Err(error) if error.errno() == Some(Errno::NoEnt) => mount.create(clock, PATH, 0o644)?,
        fd => fd?,
    };
    write_and_close(mount, clock, fd, content)
}

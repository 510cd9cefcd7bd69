//! The answers of a card to requests for its registers or its health.
//!
//! Layer: rank 4, part of [`Card`]. All answers follow from the properties of the card and the real
//! wear of the layer below. None of its counts ever decreases, so neither does the life used, which
//! stops at 100 %. Source: the registers' own modules. Left out: CSD and CID of an eMMC, which
//! hosts hardly use beside EXT_CSD; OCR, RCA and DSR.

use crate::bus::{Kind, Width};
use crate::card::Card;
use crate::part::Discard;
use crate::register::{Csd, ExtCsd, Health, LifeTime, PreEol, Scr, SdStatus};
use boardlab_ftl::{Cause, Translation, Wear};
use boardlab_sim::Bytes;

impl<T: Translation> Card<T> {
    /// The answer to CMD10: the CID. `None` for an eMMC, and for a date that CID cannot represent.
    pub fn cid(&self) -> Option<[u8; 16]> {
        self.sd()?.part().face.cid.register()
    }

    /// The answer to CMD9: capacity, and whether the card still accepts data. `None` for an eMMC,
    /// and for a capacity that CSD cannot represent.
    pub fn csd(&self) -> Option<[u8; 16]> {
        let card = self.sd()?;
        let speed = card.bus().mode().speed_code();
        let write_protected = card.translation().wear().read_only;
        Csd { capacity: card.part().face.capacity, speed, write_protected }.register()
    }

    /// The answer to ACMD51: the features of the card (SCR). `None` for an eMMC.
    pub fn scr(&self) -> Option<[u8; 8]> {
        let part = self.sd()?.part();
        let scr = Scr {
            erased_reads_as_ones: part.face.erased_ones,
            set_block_count: part.face.counts_blocks,
            extension_registers: part.face.cache.is_some(),
        };
        Some(scr.register())
    }

    /// The answer to ACMD13: speed classes and allocation unit. `None` for an eMMC, and for classes
    /// that the register cannot represent.
    pub fn sd_status(&self) -> Option<[u8; 64]> {
        let card = self.sd()?;
        let part = card.part();
        let status = SdStatus {
            four_lines: card.bus().width() == Width::Four,
            classes: part.face.classes,
            allocation_unit: part.face.allocation_unit,
            erase: part.face.erase,
            discard: part.face.discard == Discard::Discard,
        };
        status.register()
    }

    /// The answer to CMD8 of an eMMC. `None` for an SD card.
    pub fn ext_csd(&self) -> Option<[u8; 512]> {
        let part = self.part();
        if part.face.kind != Kind::Emmc {
            return None;
        }
        let (wear, cache) = (self.translation().wear(), part.face.cache.unwrap_or(Bytes::ZERO));
        let [life_a, life_b] = self.life_times(&wear);
        let group = part.face.allocation_unit.size() / Bytes::kib(512);
        let register = ExtCsd {
            sectors: u32::try_from(part.face.capacity / crate::BLOCK).unwrap_or(u32::MAX),
            cache,
            cache_on: !cache.is_zero(),
            life_a,
            life_b,
            pre_eol: pre_eol(&wear),
            erase_group: u8::try_from(group).unwrap_or(0),
        };
        Some(register.register())
    }

    /// Life used of the SLC cells (type A) and of all others (type B), as EXT_CSD reports it;
    /// `None` without such cells or without a rating.
    pub fn life_times(&self, wear: &Wear) -> [Option<LifeTime>; 2] {
        let single = usize::try_from(wear.slc_blocks).unwrap_or(usize::MAX).min(wear.worn.len());
        let (single, others) = wear.worn.split_at(single);
        [single, others].map(|worn| {
            let used = worn.iter().copied().map(u64::from).sum();
            let blocks = u64::try_from(worn.len()).unwrap_or(u64::MAX);
            LifeTime::new(used, u64::from(self.part().rated) * blocks)
        })
    }

    /// The share of spare blocks used, as EXT_CSD reports it.
    pub fn pre_eol(&self) -> PreEol {
        pre_eol(&self.translation().wear())
    }

    /// The health data of the card.
    pub fn health(&self) -> Health {
        let wear = self.translation().wear();
        let good = wear.worn.len() - usize::try_from(wear.retired).unwrap_or(0);
        let refreshes = self.translation().counters().erases[Cause::Refresh];
        Health {
            total_erases: wear.worn.iter().copied().map(u64::from).sum(),
            blocks: u32::try_from(good).unwrap_or(u32::MAX),
            least: wear.worn.iter().copied().min().unwrap_or(0),
            most: wear.worn.iter().copied().max().unwrap_or(0),
            rated: self.part().rated,
            factory_bad: wear.factory_bad,
            grown_bad: wear.retired - wear.factory_bad,
            spare: wear.spare_blocks,
            power_ups: self.power_ups,
            // Every power loss is unannounced here.
            power_losses: self.power_ups - 1,
            refreshes: u32::try_from(refreshes).unwrap_or(u32::MAX),
        }
    }

    /// The answer to a reading CMD56, in the manufacturer's layout for its argument. `None` for a
    /// card without such an answer, or with another argument.
    pub fn general_command(&self, argument: u32) -> Option<[u8; 512]> {
        let format = self.part().face.health.filter(|format| format.argument() == argument)?;
        Some(format.bytes(&self.health()))
    }

    fn sd(&self) -> Option<&Self> {
        (self.part().face.kind == Kind::Sd).then_some(self)
    }
}

fn pre_eol(wear: &Wear) -> PreEol {
    let used = wear.retired - wear.factory_bad;
    PreEol::new(used.into(), u64::from(used) + u64::from(wear.spare_blocks))
}

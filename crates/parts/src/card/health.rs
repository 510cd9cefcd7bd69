//! The registers and the health report of a card, as tables of a result.
//!
//! Layer: rank 8. Functions: [`health_table`], [`register_table`] and [`worn_out`]. The health table says where a
//! host reads each value: by CMD56, as far as the maker's format holds it, in the EXT_CSD of an eMMC, or nowhere.

use boardlab_ftl::Translation;
use boardlab_result::{Cell, Row, Table};
use boardlab_sd::{Card, HealthFormat, Kind, LifeTime, PreEol};
use std::fmt::Write as _;

/// The health of `card`: life used, erases, spare blocks, each with where a host reads it.
#[must_use]
pub fn health_table<T: Translation>(card: &Card<T>) -> Table {
    let health = card.health();
    let [life_a, life_b] = card.life_times(&card.translation().wear());
    let row = |id: &str, title: &str, cell: Cell, field: &str| {
        Row::new(id, title).cell("value", cell).cell("field", Cell::text(field))
    };
    let general = |id: &str| {
        let holds = match card.part().face.health {
            Some(HealthFormat::Apacer) => id != "rated",
            Some(HealthFormat::SanDisk) => id == "used",
            None => false,
        };
        if holds { "CMD56" } else { "nowhere" }
    };
    let count =
        |id, title, value: u64| row(id, title, Cell::int(value), general(id)).of_unit("count");
    let ext_csd = |id, title, cell, field| row(id, title, cell, &format!("EXT_CSD {field}"));
    let used = Cell::real(f64::from(health.used()) / 10_000.0);
    let rows = [
        row("used", "life used", used, general("used")).of_unit("ratio"),
        count("mean", "erases of a block, mean", health.mean()),
        count("least", "erases of the least worn block", health.least.into()),
        count("most", "erases of the most worn block", health.most.into()),
        count("rated", "P/E cycles that a block is rated for", health.rated.into()),
        count("factory_bad", "factory bad blocks", health.factory_bad.into()),
        count("grown_bad", "grown bad blocks", health.grown_bad.into()),
        count("spare", "spare blocks left", health.spare.into()),
        count("refreshes", "blocks refreshed because their data aged", health.refreshes.into()),
        count("power_losses", "unannounced power losses", health.power_losses.into()),
    ];
    let emmc = [
        ext_csd("life_a", "life of SLC cells", life(life_a), "DEVICE_LIFE_TIME_EST_TYP_A"),
        ext_csd("life_b", "life of the other cells", life(life_b), "DEVICE_LIFE_TIME_EST_TYP_B"),
        ext_csd("pre_eol", "spare blocks", spare(card.pre_eol()), "PRE_EOL_INFO"),
    ];
    let emmc = emmc.into_iter().filter(|_| card.part().face.kind == Kind::Emmc);
    Table::new("health", "The health report of the card")
        .column("value", "value")
        .column("field", "where a host reads it")
        .with_rows(rows.into_iter().chain(emmc))
}

/// What the registers of `card` say once it is worn out by its rating: all P/E cycles are used in the mean of the
/// blocks of some kind, or 90 % of the spare blocks. `None` before; empty where it has no such register.
#[must_use]
pub fn worn_out<T: Translation>(card: &Card<T>) -> Option<Vec<String>> {
    let (health, part) = (card.health(), card.part());
    let exceeded =
        card.life_times(&card.translation().wear()).map(|life| life == Some(LifeTime::EXCEEDED));
    let used_up = health.used() >= 10_000;
    let few_spare = card.pre_eol() == PreEol::Urgent && health.grown_bad > 0;
    if !(used_up || few_spare || exceeded.contains(&true)) {
        return None;
    }
    let is_emmc = part.face.kind == Kind::Emmc;
    let code = LifeTime::EXCEEDED.code();
    let registers = [
        (is_emmc && exceeded[0], format!("DEVICE_LIFE_TIME_EST_TYP_A {code:#04X}")),
        (is_emmc && exceeded[1], format!("DEVICE_LIFE_TIME_EST_TYP_B {code:#04X}")),
        (is_emmc && few_spare, format!("PRE_EOL_INFO {:#04X}", PreEol::Urgent.code())),
        (part.face.health.is_some() && used_up, "CMD56 100 % used".into()),
    ];
    Some(registers.into_iter().filter(|one| one.0).map(|one| one.1).collect())
}

fn life(life: Option<LifeTime>) -> Cell {
    Cell::text(match life.map(LifeTime::code) {
        None => "0x00: not defined".into(),
        Some(0x0B) => "0x0B: exceeded".into(),
        Some(code) => format!("{code:#04x}: {} to {} % used", (code - 1) * 10, code * 10),
    })
}

fn spare(state: PreEol) -> Cell {
    let words = match state {
        PreEol::Normal => "below 80 % used",
        PreEol::Warning => "80 % used",
        PreEol::Urgent => "90 % used",
    };
    Cell::text(format!("{:#04x}: {words}", state.code()))
}

/// The registers of `card`, in hexadecimal; of long ones the bytes that are not zero.
#[must_use]
pub fn register_table<T: Translation>(card: &Card<T>) -> Table {
    let row = |id: &str, title: &str, command: &str, bytes: Option<Vec<u8>>| {
        let bytes = bytes.map_or_else(Cell::none, |bytes| Cell::text(hexadecimal(&bytes)));
        Row::new(id, title).cell("bytes_hex", bytes).cell("command", Cell::text(command))
    };
    let health = card.part().face.health.map(HealthFormat::argument);
    let answer = health.and_then(|argument| card.general_command(argument));
    let rows = [
        row("cid", "CID", "CMD10", card.cid().map(Into::into)),
        row("csd", "CSD", "CMD9", card.csd().map(Into::into)),
        row("scr", "SCR", "ACMD51", card.scr().map(Into::into)),
        row("sd_status", "SD status", "ACMD13", card.sd_status().map(Into::into)),
        row("general", "health", "CMD56", answer.map(Into::into)),
        row("ext_csd", "EXT_CSD", "CMD8", card.ext_csd().map(Into::into)),
    ];
    let emmc = card.part().face.kind == Kind::Emmc;
    Table::new("registers", "What a host reads of the card")
        .column("bytes_hex", "bytes")
        .column("command", "command")
        .with_rows(rows.into_iter().filter(|row| emmc == (row.id == "ext_csd")))
}

/// All bytes of a short register; of a long one the runs of bytes that are not zero, each behind
/// the number of its first byte.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    let short = bytes.len() <= 16;
    let mut before = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if !short && *byte != 0 && before == 0 {
            let space = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{space}[{index}] ");
        }
        if short || *byte != 0 {
            let _ = write!(text, "{byte:02x}");
        }
        before = *byte;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn long_registers_are_shown_where_they_are_not_zero() {
        assert_eq!(hexadecimal(&[0, 1, 0xAB]), "0001ab");
        let mut long = [0; 512];
        (long[192], long[267], long[268]) = (8, 1, 2);
        assert_eq!(hexadecimal(&long), "[192] 08 [267] 0102");
        assert_eq!(hexadecimal(&[0; 64]), "");
    }
}

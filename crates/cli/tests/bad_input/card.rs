//! Wrong cards, and wrong slots for them.

use crate::case::Case;

const PART: &str = "card-part.toml";
const BOARD: &str = "card-board.toml";
const RUN: &[&str] = &["run", "card.toml"];

/// One wrong value.
pub(crate) const CASES: &[Case] = &[
    Case::line(
        "card whose capacity is no multiple of its unit",
        [PART, "capacity", "capacity = { value = \"14745 MiB\", origin = \"assumed\", source = \"a test\" }"],
        "\"14745 MiB\"",
        &["`part.capacity`: `14745 MiB` is not a multiple of the allocation unit of 4 MiB: 3686 units and 1048576 bytes", "15460204544 bytes"],
    )
    .with(RUN),
    Case::line(
        "allocation unit that no card can tell",
        [PART, "allocation_unit", "allocation_unit = { value = \"3 MiB\", origin = \"assumed\", source = \"a test\" }"],
        "\"3 MiB\"",
        &["`part.allocation_unit`: `3 MiB` is a size that SD status cannot represent", "4 MiB"],
    )
    .with(RUN),
    Case::line(
        "negative over-provisioning",
        [PART, "over_provisioning", "over_provisioning = { value = \"-7 %\", origin = \"assumed\", source = \"a test\" }"],
        "\"-7 %\"",
        &["`part.over_provisioning`: `-7 %` is negative"],
    )
    .with(RUN),
    Case::line(
        "no over-provisioning at all",
        [PART, "over_provisioning", "over_provisioning = { value = \"0 %\", origin = \"assumed\", source = \"a test\" }"],
        "\"0 %\"",
        &["`part.over_provisioning`: `0 %` or another key cannot be: ", "1229 blocks", "needed"],
    )
    .with(RUN),
    Case::line(
        "blocks that live for no erase",
        [PART, "rated", "rated = { value = 0, origin = \"assumed\", source = \"a test\" }"],
        "0",
        &["`part.endurance.rated`: `0` is not from 1 to"],
    )
    .with(RUN),
    Case::line(
        "lives that fall with the quantile",
        [PART, "pe_cycles", "pe_cycles = { value = [3000, 2000], origin = \"assumed\", source = \"a test\" }"],
        "[",
        &["`part.endurance.pe_cycles`", "is not a distribution of endurance", "none below the one before"],
    )
    .with(RUN),
    Case::line(
        "lives of zero erases",
        [PART, "pe_cycles", "pe_cycles = { value = [0, 2000], origin = \"assumed\", source = \"a test\" }"],
        "[",
        &["`part.endurance.pe_cycles`", "is not a distribution of endurance"],
    )
    .with(RUN),
    Case::line(
        "more planes than a die has",
        [PART, "planes", "planes = { value = 65, origin = \"assumed\", source = \"a test\" }"],
        "65",
        &["`part.flash.planes`: `65` is not from 1 to 64"],
    )
    .with(RUN),
    Case::line(
        "mapped page that no flash page is made of",
        [PART, "page = { value = \"16 KiB\", origin = \"assumed\", source = \"controller", "page = { value = \"5 KiB\", origin = \"assumed\", source = \"a test\" }"],
        "\"5 KiB\"",
        &["`part.mapping.page`: `5 KiB` does not divide a flash page of 16 KiB"],
    )
    .with(RUN),
    Case::line(
        "unknown key of a card",
        [PART, "slots", "slot = 0"],
        "slot",
        &["unknown key `slot` in `part.flash`", "did you mean `slots`?"],
    )
    .with(RUN),
    Case::line(
        "unknown levelling",
        [PART, "policy = { value = \"dynamic\"", "policy = { value = \"statik\", origin = \"assumed\", source = \"a test\" }"],
        "\"statik\"",
        &["`part.levelling.policy`: `statik` is not known here", "threshold"],
    )
    .with(RUN),
    Case::line(
        "unknown bus mode",
        [PART, "modes", "modes = { value = [\"ddr51\"], origin = \"assumed\", source = \"a test\" }"],
        "\"ddr51\"",
        &["`part.bus.modes`: `ddr51` is not known here", "did you mean `ddr50`?"],
    )
    .with(RUN),
    Case::line(
        "program time without a unit",
        [PART, "program", "program = { value = \"1.0\", origin = \"assumed\", source = \"a test\" }"],
        "\"1.0\"",
        &["`part.flash.times.program`: `1.0` has no unit"],
    )
    .with(RUN),
    Case::line(
        "program that takes no time",
        [PART, "program", "program = { value = \"0 us\", origin = \"assumed\", source = \"a test\" }"],
        "\"0 us\"",
        &["`part.flash.times.program`: `0 us` has a row of 0 ns"],
    )
    .with(RUN),
    Case::line(
        "brand of more than two letters",
        [PART, "brand", "brand = \"TOSHIBA\""],
        "\"TOSHIBA\"",
        &["`part.identity.brand`: `TOSHIBA` is not 2 letters or digits"],
    )
    .with(RUN),
    Case::line(
        "class that there is none of",
        [PART, "speed", "speed = { value = 5, origin = \"assumed\", source = \"a test\" }"],
        "5",
        &["`part.classes.speed`: `5` is not a class", "0, 2, 4, 6, 10"],
    )
    .with(RUN),
    Case::line(
        "card that is a NAND chip",
        [PART, "kind = \"sd\"", "kind = \"nand\""],
        "\"nand\"",
        &["`part.kind`: `nand` is not known here", "sd, emmc"],
    )
    .with(RUN),
    Case::line(
        "largest transfer below a block",
        [BOARD, "largest", "largest = { value = \"256 B\", origin = \"assumed\", source = \"a test\" }"],
        "\"256 B\"",
        &["`board.sd_slot.largest`: `256 B` is not from 512 B"],
    )
    .with(RUN),
];

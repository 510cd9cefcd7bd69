//! NOR part files: from TOML to [`boardlab_nor::Part`].

use super::limits;
use boardlab_document::{Field, Read, Section, fields, keys, section};
use boardlab_nor::part::{
    Boot, BusWidth, Cfi, CfiTimes, Features, Identity, OperationTime, Part, Region, Timing,
};
use boardlab_sim::{Bytes, Duration, QuantileTable};

const WIDTHS: [(&str, BusWidth); 2] = [("x8", BusWidth::X8), ("x16", BusWidth::X16)];
const BOOTS: [(&str, Boot); 3] =
    [("uniform", Boot::Uniform), ("bottom", Boot::Bottom), ("top", Boot::Top)];

/// Reads the section of a part.
pub fn read(section: Section<'_>) -> Read<Part> {
    // A part of another kind has none of these keys: one error says it better than thirty.
    let kind = section.one_of("kind", &[("nor", ())]).inspect_err(|_| section.leave_rest());
    let ((), name) = (kind?, section.required::<String>("title"));
    let width = section.one_of("width", &WIDTHS);
    let boot = section.one_of("boot", &BOOTS);
    let geometry = section.section("geometry", Geometry::read);
    let identity = section.section("identity", identity);
    let cfi = section.optional_section("cfi", cfi);
    let timing = section.section("timing", timing);
    let endurance = section.only("limits", "endurance", |erases| erases.within(1, u32::MAX.into()));
    let features = section.section("features", features);
    section.finish()?;
    let Geometry { write_buffer, region: regions } = geometry?;
    let part = Part {
        name: name?,
        width: width?,
        regions,
        boot: boot?,
        write_buffer,
        identity: identity?,
        cfi: cfi?,
        timing: timing?,
        features: features?,
        endurance: endurance?,
    };
    let problem = match part.check() {
        Ok(()) if part.size() <= limits::PART => return Ok(part),
        Ok(()) => format!("the sectors add up to {}, more than {}", part.size(), limits::PART),
        Err(problem) => problem.to_string(),
    };
    Err(section.refuse(
        "geometry",
        &format!("or `timing` cannot be: {problem}"),
        "a part that can exist",
        "compare geometry and timing with a built-in part: boardlab list parts",
    ))
}

section! {
    /// The section `geometry`.
    struct Geometry {
        write_buffer: Option<Bytes> => positive(),
        region: Vec<Region> => sections(region),
    }
}

fn region(section: Section<'_>) -> Read<Region> {
    fields!(section => Region {
        count: u32 => within(1, 65_536),
        size: Bytes => within(Bytes::new(256), Bytes::mib(16)),
    })
}

fn identity(section: Section<'_>) -> Read<Identity> {
    let extended = |section: &Section<'_>| {
        if !section.has("device_2") && !section.has("device_3") {
            return Ok(None);
        }
        let [second, third] = ["device_2", "device_3"].map(|key| u16::required(section.key(key)));
        second.and_then(|second| Ok(Some([second, third?])))
    };
    fields!(section => Identity {
        manufacturer: u16,
        device: u16,
        device_extended: Option<[u16; 2]> = extended(&section),
    })
}

fn cfi(section: Section<'_>) -> Read<Cfi> {
    // 2^30 us are 18 minutes; the field could represent more, but no part needs it.
    let times = keys!(section => CfiTimes {
        word_typical: u8 => up_to(30),
        buffer_typical: u8 => up_to(30),
        erase_typical: u8 => up_to(30),
        chip_typical: u8 => up_to(30),
        word_max: u8 => up_to(30),
        buffer_max: u8 => up_to(30),
        erase_max: u8 => up_to(30),
        chip_max: u8 => up_to(30),
    });
    let [low, high, vpp_low, vpp_high] =
        ["vcc_min", "vcc_max", "vpp_min", "vpp_max"].map(|key| u8::required(section.key(key)));
    fields!(section => Cfi {
        times: CfiTimes = times,
        vcc: [u8; 2] = low.and_then(|low| Ok([low, high?])),
        vpp: [u8; 2] = vpp_low.and_then(|low| Ok([low, vpp_high?])),
        interface: u16,
        primary_minor: u8 =
            u8::required(section.key("primary_minor").up_to(9)).map(|minor| b'0' + minor),
        silicon_revision: u8,
        protection_group: u8,
        protection_scheme: u8,
        page_mode: u8 => up_to(3),
    })
}

fn timed(section: &Section<'_>, key: &str, max: &str, most: Duration) -> Read<OperationTime> {
    let time = limits::times(section, key, most);
    let limit = limits::some_span(section, max, most);
    let timed = OperationTime { time: time?, max: limit? };
    if timed.time.max() > timed.max {
        let longest = timed.time.max();
        return Err(section.refuse(
            max,
            &format!("is shorter than the longest `{key}`, {longest}"),
            &format!("at least {longest}"),
            "a program or erase that takes longer than its maximum fails",
        ));
    }
    Ok(timed)
}

fn timing(section: Section<'_>) -> Read<Timing> {
    let buffer = |section: &Section<'_>, key: &str| match section.has(key) {
        true => timed(section, key, "buffer_program_max", limits::PROGRAM),
        // Meaningless on a part without a write buffer.
        false => {
            Ok(OperationTime { time: QuantileTable::constant(Duration::ZERO), max: Duration::ZERO })
        }
    };
    fields!(section => Timing {
        word_program: OperationTime => with(timed, "word_program_max", limits::PROGRAM),
        buffer_program: OperationTime => with(buffer),
        buffer_overhead: Duration => up_to(limits::PROGRAM).or(Duration::ZERO),
        sector_erase: OperationTime => with(timed, "sector_erase_max", limits::ERASE),
        erase_window: Duration => up_to(limits::SPAN),
        suspend_latency: Duration => up_to(limits::SPAN),
        protected_latency: Duration => up_to(limits::SPAN),
        reset_latency: Duration => up_to(limits::SPAN),
    })
}

fn features(section: Section<'_>) -> Read<Features> {
    fields!(section => Features {
        unlock_bypass: bool,
        erase_suspend: bool,
        program_suspend: bool,
        status_register: bool,
        ppb: bool,
        masks_ones: bool,
    })
}

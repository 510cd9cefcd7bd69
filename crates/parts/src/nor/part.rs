//! NOR part files: from TOML to [`boardlab_nor::Part`].

use super::limits;
use boardlab_document::{Read, Section};
use boardlab_nor::part::{
    Boot, BusWidth, Cfi, CfiTimes, Features, Identity, Part, Region, Timed, Timing,
};
use boardlab_sim::{Bytes, Duration, QuantileTable};

const WIDTHS: [(&str, BusWidth); 2] = [("x8", BusWidth::X8), ("x16", BusWidth::X16)];
const BOOTS: [(&str, Boot); 3] =
    [("uniform", Boot::Uniform), ("bottom", Boot::Bottom), ("top", Boot::Top)];

/// Reads the section of a part.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: Section<'_>) -> Read<Part> {
    // A part of another kind has other keys throughout: one message says it better than thirty.
    let kind = section.one_of("kind", &[("nor", ())]).inspect_err(|_| section.leave_rest());
    let ((), name) = (kind?, section.required::<String>("title"));
    let width = section.one_of("width", &WIDTHS);
    let boot = section.one_of("boot", &BOOTS);
    let geometry = section.section("geometry", geometry);
    let identity = section.section("identity", identity);
    let cfi = section.optional_section("cfi", cfi);
    let timing = section.section("timing", timing);
    let endurance = section.section("limits", |limits| {
        let endurance = limits.key::<u64>("endurance").within(1, u64::from(u32::MAX)).required();
        limits.finish()?;
        endurance
    });
    let features = section.section("features", features);
    section.finish()?;
    let (write_buffer, regions) = geometry?;
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
        endurance: u32::try_from(endurance?).expect("within u32"),
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

fn geometry(section: Section<'_>) -> Read<(Option<Bytes>, Vec<Region>)> {
    let buffer = section.key::<Bytes>("write_buffer").positive().optional();
    let regions = section.sections("region", |region| {
        let count = region.key::<u64>("count").within(1, 65_536).required();
        let size = region.key::<Bytes>("size").within(Bytes::new(256), Bytes::mib(16)).required();
        region.finish()?;
        Ok(Region { count: u32::try_from(count?).expect("within u32"), size: size? })
    });
    section.finish()?;
    Ok((buffer?, regions?))
}

fn word(section: &Section<'_>, key: &str) -> Read<u16> {
    let value = section.key::<u64>(key).within(0, u64::from(u16::MAX)).required()?;
    Ok(u16::try_from(value).expect("within u16"))
}

fn byte(section: &Section<'_>, key: &str, most: u8) -> Read<u8> {
    let value = section.key::<u64>(key).within(0, u64::from(most)).required()?;
    Ok(u8::try_from(value).expect("within u8"))
}

fn identity(section: Section<'_>) -> Read<Identity> {
    let (manufacturer, device) = (word(&section, "manufacturer"), word(&section, "device"));
    let extended = if section.has("device_2") || section.has("device_3") {
        let (second, third) = (word(&section, "device_2"), word(&section, "device_3"));
        second.and_then(|second| Ok(Some([second, third?])))
    } else {
        Ok(None)
    };
    section.finish()?;
    Ok(Identity { manufacturer: manufacturer?, device: device?, device_extended: extended? })
}

fn cfi(section: Section<'_>) -> Read<Cfi> {
    // 2^30 us are 18 minutes; the field could say more, no part does.
    let exponent = |key| byte(&section, key, 30);
    let times = [
        exponent("word_typical"),
        exponent("buffer_typical"),
        exponent("erase_typical"),
        exponent("chip_typical"),
        exponent("word_max"),
        exponent("buffer_max"),
        exponent("erase_max"),
        exponent("chip_max"),
    ];
    let any = |key| byte(&section, key, u8::MAX);
    let volts = [any("vcc_min"), any("vcc_max"), any("vpp_min"), any("vpp_max")];
    let interface = word(&section, "interface");
    let minor = byte(&section, "primary_minor", 9);
    let rest = [any("silicon_revision"), any("protection_group"), any("protection_scheme")];
    let page_mode = byte(&section, "page_mode", 3);
    section.finish()?;
    let [word_typical, buffer_typical, erase_typical, chip_typical, ..] = times;
    let [.., word_max, buffer_max, erase_max, chip_max] = times;
    let [vcc_min, vcc_max, vpp_min, vpp_max] = volts;
    let [silicon_revision, protection_group, protection_scheme] = rest;
    Ok(Cfi {
        times: CfiTimes {
            word_typical: word_typical?,
            buffer_typical: buffer_typical?,
            erase_typical: erase_typical?,
            chip_typical: chip_typical?,
            word_max: word_max?,
            buffer_max: buffer_max?,
            erase_max: erase_max?,
            chip_max: chip_max?,
        },
        vcc: [vcc_min?, vcc_max?],
        vpp: [vpp_min?, vpp_max?],
        interface: interface?,
        primary_minor: b'0' + minor?,
        silicon_revision: silicon_revision?,
        protection_group: protection_group?,
        protection_scheme: protection_scheme?,
        page_mode: page_mode?,
    })
}

fn timed(section: &Section<'_>, key: &str, max: &str, most: Duration) -> Read<Timed> {
    let time = limits::times(section, key, most);
    let limit = limits::some_span(section, max, most);
    let timed = Timed { time: time?, max: limit? };
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
    let word_program = timed(&section, "word_program", "word_program_max", limits::PROGRAM);
    let buffer_program = if section.has("buffer_program") {
        timed(&section, "buffer_program", "buffer_program_max", limits::PROGRAM)
    } else {
        // Meaningless on a part without a write buffer.
        Ok(Timed { time: QuantileTable::constant(Duration::ZERO), max: Duration::ZERO })
    };
    let buffer_overhead = section
        .key::<Duration>("buffer_overhead")
        .within(Duration::ZERO, limits::PROGRAM)
        .or(Duration::ZERO);
    let sector_erase = timed(&section, "sector_erase", "sector_erase_max", limits::ERASE);
    let span = |key| limits::span(&section, key, limits::SPAN);
    let spans = [
        span("erase_window"),
        span("suspend_latency"),
        span("protected_latency"),
        span("reset_latency"),
    ];
    section.finish()?;
    let [erase_window, suspend_latency, protected_latency, reset_latency] = spans;
    Ok(Timing {
        word_program: word_program?,
        buffer_program: buffer_program?,
        buffer_overhead: buffer_overhead?,
        sector_erase: sector_erase?,
        erase_window: erase_window?,
        suspend_latency: suspend_latency?,
        protected_latency: protected_latency?,
        reset_latency: reset_latency?,
    })
}

fn features(section: Section<'_>) -> Read<Features> {
    let has = |key| section.required::<bool>(key);
    let all = [
        has("unlock_bypass"),
        has("erase_suspend"),
        has("program_suspend"),
        has("status_register"),
        has("ppb"),
        has("masks_ones"),
    ];
    section.finish()?;
    let [unlock_bypass, erase_suspend, program_suspend, status_register, ppb, masks_ones] = all;
    Ok(Features {
        unlock_bypass: unlock_bypass?,
        erase_suspend: erase_suspend?,
        program_suspend: program_suspend?,
        status_register: status_register?,
        ppb: ppb?,
        masks_ones: masks_ones?,
    })
}

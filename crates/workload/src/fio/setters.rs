//! The effect of each simulated option on the settings of a job.
//!
//! Layer: rank 6. One function an option, called from the list in [`options`](crate::fio::options);
//! limits are those of `fio --cmdhelp=OPTION`, version 3.33.

use crate::fio::problem::Problem;
use crate::fio::reading::{Amount, MAXIMUM, Reading};
use crate::fio::settings::{
    ACCESSES, Access, Blocks, Distribution, ENGINES, Service, Settings, SyncMode,
};
use boardlab_sim::Duration;

type Set = Result<(), Problem>;
type Value<'a, 'b> = &'a Reading<'b>;

/// Options that take one value into one field.
macro_rules! plain {
    ($($name:ident: $($field:ident).+ = |$value:ident| $read:expr;)*) => {$(
        pub(super) fn $name(settings: &mut Settings, $value: Value<'_, '_>) -> Set {
            settings.$($field).+ = $read;
            Ok(())
        }
    )*};
}

plain! {
    description: description = |value| Some(value.text()?.to_owned());
    name: name = |value| Some(value.text()?.to_owned());
    wait_for: wait_for = |value| Some(value.text()?.to_owned());
    bs_unaligned: unaligned = |value| value.flag()?;
    randrepeat: randomness.repeat = |value| value.boolean()?;
    randseed: randomness.seed = |value| Some(value.size()?);
    norandommap: randomness.no_map = |value| value.flag()?;
    rw_sequencer: randomness.identical = |value| value.word(&["sequential", "identical"])? == 1;
    iodepth: submission.depth = |value| value.count(1, DEEPEST)?;
    complete_min: submission.complete_min = |value| value.count(0, MAXIMUM)?;
    complete_max: submission.complete_max = |value| value.count(0, MAXIMUM)?;
    iodepth_low: submission.low = |value| value.count(0, MAXIMUM)?;
    size: area.size = |value| given(value.amount()?);
    io_size: area.io_size = |value| given(value.amount()?);
    fill_device: area.fill_device = |value| value.boolean()?;
    offset: area.offset = |value| Some(value.amount()?);
    offset_increment: area.increment = |value| Some(value.amount()?);
    offset_align: area.offset_align = |value| value.size()?;
    number_ios: area.number_ios = |value| value.size()?;
    filename_format: area.format = |value| value.text()?.to_owned();
    openfiles: area.open_files = |value| value.count(0, MAXIMUM)?;
    nrfiles: area.files = |value| value.count(1, MAXIMUM)?;
    fsync: submission.fsync = |value| value.count(0, MAXIMUM)?;
    fdatasync: submission.fdatasync = |value| value.count(0, MAXIMUM)?;
    end_fsync: submission.end_fsync = |value| value.boolean()?;
    fsync_on_close: submission.fsync_on_close = |value| value.boolean()?;
    loops: loops = |value| value.count(1, MAXIMUM)?;
    numjobs: copies = |value| value.count(1, 65_536)?;
    runtime: timing.runtime = |value| Some(value.time(SECOND)?).filter(|time| !time.is_zero());
    time_based: timing.time_based = |value| value.flag()?;
    ramp_time: timing.ramp = |value| value.time(SECOND)?;
    zonesize: area.zone_size = |value| value.size()?;
    zonerange: area.zone_range = |value| value.size()?;
    zoneskip: area.zone_skip = |value| value.size()?;
    rwmixread: randomness.mix_read = |value| value.count(0, 100)?;
    rwmixwrite: randomness.mix_read = |value| 100 - value.count(0, 100)?;
    thinktime: timing.think = |value| value.time(Duration::from_micros(1))?;
    thinktime_blocks: timing.think_blocks = |value| value.count(1, MAXIMUM)?;
    thinktime_blocks_type: timing.think_on_issue = |value| value.word(&["complete", "issue"])? == 1;
    rate_process: timing.poisson = |value| value.word(&["linear", "poisson"])? == 1;
    rate_ignore_thinktime: timing.rate_ignores_think = |value| value.boolean()?;
    stonewall: stonewall = |value| value.flag()?;
    new_group: new_group = |value| value.flag()?;
    bwavgtime: reporting.bandwidth_window = |value| window(value)?;
    iopsavgtime: reporting.iops_window = |value| window(value)?;
    log_avg_msec: reporting.log_average = |value| value.time(Duration::from_millis(1))?;
    log_max_value: reporting.log_maximum = |value| value.boolean()?;
    log_offset: reporting.log_offset = |value| value.boolean()?;
    group_reporting: reporting.group = |value| value.flag()?;
    zero_buffers: contents.zero = |value| value.flag()?;
    refill_buffers: contents.refill = |value| value.flag()?;
    scramble_buffers: contents.scramble = |value| value.boolean()?;
    buffer_compress_percentage: contents.compress = |value| Some(value.count(0, 100)?);
    dedupe_percentage: contents.dedupe = |value| value.count(0, 100)?;
    clat_percentiles: reporting.clat_percentiles = |value| value.boolean()?;
    lat_percentiles: reporting.lat_percentiles = |value| value.boolean()?;
}

/// For fio a size of zero means no size: that of the file or device.
fn given(amount: Amount) -> Option<Amount> {
    (amount != Amount::Bytes(0)).then_some(amount)
}

/// fio has no such limit; here each request in flight takes memory.
const DEEPEST: u64 = 1 << 20;

const SECOND: Duration = Duration::from_secs(1);

fn window(value: Value<'_, '_>) -> Result<Duration, Problem> {
    let time = value.time(Duration::from_millis(1))?;
    if time.is_zero() {
        let found = value.text()?.to_owned();
        return Err(Problem::Below { option: value.option, found, minimum: 1 });
    }
    Ok(time)
}

pub(super) fn filename(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let names = names(value.text()?);
    if names.iter().any(String::is_empty) {
        return Err(value.unreadable(value.text()?, "names with single colons between"));
    }
    settings.area.filenames = names;
    Ok(())
}

/// Names with colons between; `\:` is a colon in a name.
fn names(text: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    for character in text.chars() {
        match character {
            ':' if name.ends_with('\\') => name.replace_range(name.len() - 1.., ":"),
            ':' => names.push(std::mem::take(&mut name)),
            other => name.push(other),
        }
    }
    names.push(name);
    names
}

const WORDS: [&str; 11] = {
    let mut words = [""; 11];
    let mut index = 0;
    while index < words.len() {
        words[index] = ACCESSES[index].0;
        index += 1;
    }
    words
};

pub(super) fn rw(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let text = value.text()?;
    let (word, modifier) = text.split_once(':').map_or((text, None), |(w, m)| (w, Some(m)));
    let reading = |text| Reading { text: Some(text), ..*value };
    let index = reading(word).word(&WORDS)?;
    let (name, directions, random, trim_first) = ACCESSES[index];
    let modifier = match modifier {
        None => 0,
        Some(text) if random => i64::try_from(reading(text).count(1, MAXIMUM)?).unwrap_or(1),
        Some(text) => reading(text).signed_size()?,
    };
    settings.access = Access { directions, random, trim_first, modifier, name };
    Ok(())
}

fn sizes(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let read = |part: Reading<'_>| part.count(1, MAXIMUM).map(Blocks::Fixed);
    settings.blocks = value.triple(&settings.blocks, read)?;
    Ok(())
}

pub(super) fn bs(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    sizes(settings, value)
}

pub(super) fn ba(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.align = value.triple(&settings.align, |part| part.count(1, MAXIMUM))?;
    Ok(())
}

pub(super) fn bsrange(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let read = |part: Reading<'_>| {
        let (low, high) = part.range()?;
        Ok(if low == high { Blocks::Fixed(low) } else { Blocks::Range(low, high) })
    };
    settings.blocks = value.triple(&settings.blocks, read)?;
    Ok(())
}

pub(super) fn bssplit(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let read = |part: Reading<'_>| part.split().map(Blocks::Split);
    settings.blocks = value.triple(&settings.blocks, read)?;
    Ok(())
}

const ENGINE_NAMES: [&str; 11] = {
    let mut names = [""; 11];
    let mut index = 0;
    while index < names.len() {
        names[index] = ENGINES[index].name;
        index += 1;
    }
    names
};

/// Engines of fio that cannot drive a simulated block device.
const OTHER_ENGINES: [&str; 26] = [
    "rbd",
    "splice",
    "netsplice",
    "sg",
    "net",
    "cpuio",
    "rdma",
    "e4defrag",
    "falloc",
    "gfapi",
    "gfapi_async",
    "pmemblk",
    "dev-dax",
    "filecreate",
    "filestat",
    "filedelete",
    "external",
    "libpmem",
    "nbd",
    "ftruncate",
    "http",
    "libiscsi",
    "exec",
    "io_uring_cmd",
    "rados",
    "nfs",
];

pub(super) fn ioengine(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let text = value.text()?;
    if OTHER_ENGINES.contains(&text) {
        let reason = "the engine does not send plain requests to a block device";
        return Err(Problem::Refused { option: format!("ioengine={text}"), reason });
    }
    settings.submission.engine = ENGINES[value.word(&ENGINE_NAMES)?];
    Ok(())
}

pub(super) fn filesize(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let text = value.text()?;
    let range = if text.contains(['-', ':']) {
        value.range()?
    } else {
        let size = value.size()?;
        (size, size)
    };
    settings.area.filesize = Some(range);
    Ok(())
}

pub(super) fn random_distribution(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let read = |part: Reading<'_>| distribution(&part);
    settings.randomness.distribution = value.triple(&settings.randomness.distribution, read)?;
    Ok(())
}

fn distribution(value: Value<'_, '_>) -> Result<Distribution, Problem> {
    const KINDS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];
    let text = value.text()?;
    let (word, rest) = text.split_once(':').map_or((text, None), |(w, r)| (w, Some(r)));
    let kind = Reading { text: Some(word), ..*value }.word(&KINDS)?;
    let number = |default: f64| match rest {
        None => Ok(default),
        Some(rest) => Reading { text: Some(rest), ..*value }.floats(1).map(|list| list[0]),
    };
    let within = |value_of: f64, ok: bool, expected| match ok {
        true => Ok(value_of),
        false => Err(value.unreadable(text, expected)),
    };
    Ok(match kind {
        0 => Distribution::Uniform,
        1 => {
            let theta = number(1.1)?;
            let good = theta > 0.0 && (theta - 1.0).abs() > 1e-6 && theta < 10.0;
            Distribution::Zipf(within(theta, good, "a theta above 0 that is not 1")?)
        }
        2 => {
            let power = number(0.2)?;
            let good = power > 0.0 && power < 1.0;
            Distribution::Pareto(within(power, good, "a power between 0 and 1")?)
        }
        3 => {
            let deviation = number(1.0)?;
            let good = (0.0..100.0).contains(&deviation);
            Distribution::Normal(within(deviation, good, "a deviation from 0 to below 100")?)
        }
        _ => zones(value, rest.unwrap_or_default(), kind == 5)?,
    })
}

fn zones(value: Value<'_, '_>, text: &str, absolute: bool) -> Result<Distribution, Problem> {
    const EXPECTED: &str = "zones such as 50/5:30/15:20/80, percent of requests / of the area";
    let mut entries = Vec::new();
    for part in text.split(':') {
        let (share, size) = part.split_once('/').ok_or_else(|| value.unreadable(part, EXPECTED))?;
        let reading = |text| Reading { text: Some(text), ..*value };
        let share = reading(share).count(0, 100)?;
        let size = match (size, absolute) {
            ("", _) => None,
            (size, true) => Some(reading(size).size()?),
            (size, false) => Some(reading(size).count(0, 100)?),
        };
        entries.push((share, size));
    }
    if entries.iter().map(|(share, _)| share).sum::<u64>() != 100 {
        return Err(value.unreadable(text, "access percentages that add up to 100"));
    }
    let zones = if absolute {
        entries.iter().map(|&(share, size)| (share, size.unwrap_or(0))).collect()
    } else {
        Reading { text: Some(text), ..*value }.shares(&entries)?
    };
    Ok(Distribution::Zoned { zones, absolute })
}

pub(super) fn percentage_random(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.randomness.share =
        value.triple(&settings.randomness.share, |part| part.count(0, 100))?;
    Ok(())
}

pub(super) fn file_service_type(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let text = value.text()?;
    let word = text.split_once(':').map_or(text, |(word, _)| word);
    if ["zipf", "pareto", "normal", "gauss"].contains(&word) {
        let reason = "files are chosen in order or evenly";
        return Err(Problem::Refused { option: format!("file_service_type={word}"), reason });
    }
    let word = Reading { text: Some(word), ..*value };
    let index = word.word(&["random", "roundrobin", "sequential"])?;
    settings.area.service = [Service::Random, Service::RoundRobin, Service::Sequential][index];
    Ok(())
}

pub(super) fn lockfile(_: &mut Settings, value: Value<'_, '_>) -> Set {
    if value.word(&["none", "exclusive", "readwrite"])? == 0 {
        return Ok(());
    }
    let reason = "jobs do not wait for the files of others; give none";
    Err(Problem::Refused { option: format!("lockfile={}", value.text()?), reason })
}

pub(super) fn direct(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.submission.direct = value.boolean()?;
    Ok(())
}

pub(super) fn buffered(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.submission.direct = !value.boolean()?;
    Ok(())
}

pub(super) fn startdelay(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let text = value.text()?;
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let time = |text| Reading { text: Some(text), ..*value }.time(SECOND);
    let (low, high) = (time(low)?, time(high)?);
    settings.timing.start_delay = (low.min(high), low.max(high));
    Ok(())
}

pub(super) fn zonemode(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    match value.word(&["none", "strided", "zbd"])? {
        2 => {
            let reason = "zoned block devices are not modelled";
            Err(Problem::Refused { option: "zonemode=zbd".to_owned(), reason })
        }
        mode => {
            settings.area.strided = mode == 1;
            Ok(())
        }
    }
}

pub(super) fn rate(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.timing.rate = value.triple(&settings.timing.rate, |part| part.size())?;
    Ok(())
}

pub(super) fn rate_iops(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.timing.rate_iops =
        value.triple(&settings.timing.rate_iops, |part| part.count(0, MAXIMUM))?;
    Ok(())
}

pub(super) fn sync(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let words = &["none", "0", "sync", "1", "dsync"];
    settings.submission.sync = match value.word(words)? {
        0 | 1 => SyncMode::None,
        2 | 3 => SyncMode::Sync,
        _ => SyncMode::DataSync,
    };
    Ok(())
}

fn log(settings: &mut Settings, value: Value<'_, '_>, index: usize) -> Set {
    // Without a name fio uses that of the job, which is inserted when the log is written.
    settings.reporting.logs[index] = Some(value.text.unwrap_or_default().to_owned());
    Ok(())
}

pub(super) fn write_bw_log(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    log(settings, value, 0)
}

pub(super) fn write_lat_log(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    log(settings, value, 1)
}

pub(super) fn write_iops_log(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    log(settings, value, 2)
}

pub(super) fn percentile_list(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    let mut list = value.floats(20)?;
    if list.iter().any(|percentile| !(0.0..=100.0).contains(percentile)) {
        return Err(value.unreadable(value.text()?, "percentiles from 0 to 100"));
    }
    list.sort_by(f64::total_cmp);
    settings.reporting.percentiles = list;
    Ok(())
}

pub(super) fn kb_base(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    settings.units.kb_base = [1_024, 1_000][value.word(&["1024", "1000"])?];
    Ok(())
}

pub(super) fn buffer_pattern(settings: &mut Settings, value: Value<'_, '_>) -> Set {
    const EXPECTED: &str = "a number such as 0xff, a text in double quotes, or both in a row";
    let text = value.text()?;
    settings.contents.pattern = pattern(text)
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| value.unreadable(text, EXPECTED))?;
    Ok(())
}

/// The bytes of a pattern: `0x` with the first digits first, decimal numbers with the lowest byte
/// first, texts in double quotes.
fn pattern(text: &str) -> Option<Vec<u8>> {
    const LONGEST: usize = 512;
    let (mut bytes, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (inside, after) = quoted.split_once('"')?;
            bytes.extend_from_slice(inside.as_bytes());
            rest = after;
        } else if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let (digits, after) = hex.split_at(end);
            let padded = if end % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
            let pair = |at: usize| u8::from_str_radix(&padded[at..at + 2], 16).ok();
            let part: Option<Vec<u8>> = (0..padded.len()).step_by(2).map(pair).collect();
            bytes.extend(part.filter(|part| !part.is_empty())?);
            rest = after;
        } else {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            let number: u32 = digits.parse().ok()?;
            let all = number.to_le_bytes();
            let used = 4 - number.leading_zeros() / 8;
            let used = usize::try_from(used).expect("at most four").max(1);
            bytes.extend_from_slice(&all[..used]);
            rest = after;
        }
    }
    (bytes.len() <= LONGEST).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_after_a_backslash_is_one_in_a_name() {
        assert_eq!(names("/dev/a:/dev/b"), ["/dev/a", "/dev/b"]);
        assert_eq!(names("/dev/usb-0\\:1:/dev/b"), ["/dev/usb-0:1", "/dev/b"]);
        assert_eq!(names("a::b:"), ["a", "", "b", ""]);
    }

    #[test]
    fn patterns_are_read_as_bytes() {
        assert_eq!(pattern("0xff").unwrap(), [0xFF]);
        assert_eq!(pattern("0xdeadface").unwrap(), [0xDE, 0xAD, 0xFA, 0xCE]);
        assert_eq!(pattern("\"abc\"0x00").unwrap(), [b'a', b'b', b'c', 0]);
        assert_eq!(pattern("255").unwrap(), [0xFF]);
        assert_eq!(pattern("0").unwrap(), [0]);
        for bad in ["foo", "0x", "0xgg", "\"abc", "-1", "é"] {
            assert_eq!(pattern(bad), None, "{bad}");
        }
    }
}

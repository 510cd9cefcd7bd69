//! Jobs: parses and checks a job file or a command line.
//!
//! Layer: rank 6. Main types: [`JobFile`], [`Job`], [`parse`], [`parse_arguments`]. Sections become
//! jobs: each begins with the options of the `[global]` sections above it. All errors are reported,
//! not only the first. One error refuses the file, where fio drops the job and continues.

use crate::fio::grammar::{Assignment, Environment, Section, sections};
use crate::fio::options::{self, apply};
use crate::fio::problem::{Diagnostic, Diagnostics, Note, Place, Problem};
use crate::fio::reading::Reading;
use crate::fio::settings::Settings;
use std::fmt;

/// One job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// The beginning of its section.
    pub place: Place,
    /// Its settings.
    pub settings: Settings,
    /// Its own options as written, by primary name: the "job options" of fio's JSON.
    pub options: Vec<(&'static str, Option<String>)>,
}

/// All jobs of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFile {
    /// In order.
    pub jobs: Vec<Job>,
    /// Options of all `[global]` sections as written, by primary name.
    pub globals: Vec<(&'static str, Option<String>)>,
    /// Notes for the user.
    pub notes: Vec<Note>,
    sections: Vec<Section>,
}

/// The largest number of copies of all jobs together.
const MOST_COPIES: u64 = 1_024;
/// The largest number of files of a job, counted for each copy.
const MOST_FILES: u64 = 65_536;

/// Reads a job file.
///
/// # Errors
/// All errors in it.
pub fn parse(file: &str, text: &[u8], around: &dyn Environment) -> Result<JobFile, Diagnostics> {
    let (sections, wrong) = sections(file, text, around);
    let place = Place { file: file.to_owned(), line: 1, column: 1 };
    build(sections, Builder { wrong, notes: Vec::new(), sorts: true }, place)
}

/// Reads the arguments of a command line: `--name=job --rw=write --bs 4k`. Options before the first
/// `--name` apply to all jobs. Options of fio itself, such as `--output`, are not options of jobs
/// and must be removed before.
///
/// # Errors
/// All errors in them; the line of a place is the number of the argument.
pub fn parse_arguments(arguments: &[String]) -> Result<JobFile, Diagnostics> {
    let place = |line| Place { file: "command line".to_owned(), line, column: 1 };
    let global = Section { place: place(1), name: "global".to_owned(), options: Vec::new() };
    let (mut sections, mut wrong) = (vec![global], Vec::new());
    let mut left = arguments.iter().enumerate().peekable();
    while let Some((index, argument)) = left.next() {
        let place = place(index + 1);
        let Some(option) = argument.strip_prefix("--").filter(|option| !option.is_empty()) else {
            let what = "expected an option such as --rw=write";
            wrong.push(Diagnostic { place, problem: Problem::Text { what } });
            continue;
        };
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (option.to_owned(), None),
        };
        if value.is_none()
            && let Some((_, next)) = left.next_if(|(_, next)| !next.starts_with("--"))
        {
            value = Some(next.clone());
        }
        if name == "name" {
            let name = value.unwrap_or_default();
            if name.is_empty() {
                let problem = Problem::NeedsArgument { option: "name" };
                wrong.push(Diagnostic { place: place.clone(), problem });
            }
            sections.push(Section { place, name, options: Vec::new() });
        } else {
            let section = sections.last_mut().expect("the global section is there");
            section.options.push(Assignment { place, name, value });
        }
    }
    build(sections, Builder { wrong, notes: Vec::new(), sorts: false }, place(1))
}

/// The state while sections become jobs.
struct Builder {
    wrong: Vec<Diagnostic>,
    notes: Vec<Note>,
    /// Whether options that decide the meaning of suffixes are applied first: in files, but not on
    /// command lines.
    sorts: bool,
}

fn build(
    sections: Vec<Section>,
    mut builder: Builder,
    place: Place,
) -> Result<JobFile, Diagnostics> {
    let (mut defaults, mut globals, mut jobs) = (Settings::default(), Vec::new(), Vec::new());
    for section in &sections {
        let mut settings = defaults.clone();
        let options = builder.apply(section, &mut settings);
        if section.is_global() {
            defaults = settings;
            globals.extend(options);
            continue;
        }
        let name = settings.name.clone().unwrap_or_else(|| section.name.clone());
        let job = Job { name, place: section.place.clone(), settings, options };
        builder.check(&job, &jobs);
        jobs.push(job);
    }
    if jobs.is_empty() && builder.wrong.is_empty() {
        builder.wrong.push(Diagnostic { place, problem: Problem::NoJobs });
    }
    if builder.wrong.is_empty() {
        return Ok(JobFile { jobs, globals, notes: builder.notes, sections });
    }
    Err(Diagnostics(builder.wrong))
}

impl Builder {
    /// Applies the options of a section; those that decide the meaning of suffixes come first, as
    /// in fio.
    fn apply(
        &mut self,
        section: &Section,
        settings: &mut Settings,
    ) -> Vec<(&'static str, Option<String>)> {
        let sorts = self.sorts;
        let is_first = |option: &&Assignment| sorts && option.name == "kb_base";
        let (first, rest): (Vec<_>, Vec<_>) = section.options.iter().partition(is_first);
        for option in first.into_iter().chain(rest) {
            if let Err(problem) = self.apply_one(option, settings) {
                self.wrong.push(Diagnostic { place: option.place.clone(), problem });
            }
        }
        let known = section.options.iter().filter_map(|option| {
            options::find(&option.name).map(|spec| (spec.name, option.value.clone()))
        });
        known.collect()
    }

    fn apply_one(&mut self, option: &Assignment, settings: &mut Settings) -> Result<(), Problem> {
        let Some(spec) = options::find(&option.name) else {
            let value = option.value.as_ref().map_or(String::new(), |value| format!("={value}"));
            let text = format!("{}{value}", option.name);
            return Err(Problem::BadOption { text, nearest: options::nearest(option.name.trim()) });
        };
        let text = option.value.as_deref();
        let reading = Reading { option: spec.name, text, units: settings.units };
        if !apply(spec, settings, &reading)? {
            self.notes.push(Note::NoEffect { place: option.place.clone(), option: spec.name });
        }
        Ok(())
    }

    /// Checks what involves several options.
    fn check(&mut self, job: &Job, before: &[Job]) {
        let copies: u64 = before.iter().map(|job| job.settings.copies).sum();
        let settings = &job.settings;
        let (area, timing) = (&settings.area, &settings.timing);
        let names = u64::try_from(area.filenames.len()).expect("u64 holds usize");
        let files = names.max(area.files).saturating_mul(settings.copies);
        let limited = |rates: &[u64; 3]| rates.iter().any(|rate| *rate > 0);
        let pairs = [
            (
                timing.time_based && timing.runtime.is_none(),
                "time_based requires a runtime/timeout setting",
            ),
            (
                area.strided && area.zone_size == 0,
                "zonesize must be specified when using zonemode=strided",
            ),
            (
                limited(&timing.rate) && limited(&timing.rate_iops),
                "rate and rate_iops exclude each other",
            ),
            (
                settings.wait_for.is_some() && settings.stonewall,
                "wait_for and stonewall exclude each other",
            ),
            (
                settings.access.trim_first
                    && settings.submission.depth > 1
                    && settings.submission.engine.queues,
                "trims before writes need iodepth=1",
            ),
            (
                (1..area.files).contains(&area.open_files),
                "files are open all at once: openfiles below nrfiles is not simulated",
            ),
            (files > MOST_FILES, "more than 65536 files, counted for each copy"),
            (copies + settings.copies > MOST_COPIES, "more than 1024 copies of jobs in all"),
        ];
        for (_, what) in pairs.into_iter().filter(|(wrong, _)| *wrong) {
            let problem = Problem::Contradiction { job: job.name.clone(), what };
            self.wrong.push(Diagnostic { place: job.place.clone(), problem });
        }
        if let Some(name) = &settings.wait_for
            && !before.iter().any(|job| job.name == *name)
        {
            let problem = Problem::UnknownWaitee { job: job.name.clone(), name: name.clone() };
            self.wrong.push(Diagnostic { place: job.place.clone(), problem });
        }
    }
}

impl JobFile {
    /// The sections as they stand, `[global]` ones included.
    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The place where the job `index` gets one of `options` (primary names): the last of them in
    /// its section or else in the global ones above; its section if none is written.
    ///
    /// # Panics
    /// When there is no such job.
    #[must_use]
    pub fn place_of(&self, index: usize, options: &[&str]) -> &Place {
        let mut jobs = self.sections.iter().enumerate().filter(|(_, section)| !section.is_global());
        let (at, job) = jobs.nth(index).expect("the job is one of the file");
        let globals = self.sections[..at].iter().rev().filter(|section| section.is_global());
        let is_wanted = |option: &&Assignment| {
            options::find(&option.name).is_some_and(|spec| options.contains(&spec.name))
        };
        let mut sections = [job].into_iter().chain(globals);
        let written = sections.find_map(|section| section.options.iter().rfind(is_wanted));
        written.map_or(&job.place, |option| &option.place)
    }
}

/// The equivalent command line, as `fio --showcmd` prints it but in the file's order.
impl fmt::Display for JobFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fio")?;
        for section in &self.sections {
            if !section.is_global() {
                write!(f, " --name={}", section.name)?;
            }
            for option in &section.options {
                let name = options::find(&option.name).map_or(&*option.name, |spec| spec.name);
                write!(f, " --{name}")?;
                match &option.value {
                    Some(value) if value.contains(' ') => write!(f, "=\"{value}\"")?,
                    Some(value) => write!(f, "={value}")?,
                    None => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::grammar::EmptyEnvironment;
    use crate::fio::reading::Amount;
    use crate::fio::settings::Blocks;

    fn job_file(text: &str) -> JobFile {
        parse("j", text.as_bytes(), &EmptyEnvironment).unwrap()
    }

    #[test]
    fn a_section_whose_name_begins_with_global_is_global_as_in_fio() {
        let file = job_file("[global-mine]\nbs=8k\n[a]\nsize=1m\n");
        assert_eq!(file.jobs.len(), 1);
        assert_eq!(file.globals, [("bs", Some("8k".to_owned()))]);
    }

    #[test]
    fn a_later_global_section_is_for_the_jobs_below_it() {
        let file = job_file("[global]\nbs=4k\n[a]\nrw=write\n[global]\nbs=8k\n[b]\nsize=1m\n");
        assert_eq!(file.jobs[0].settings.blocks[0], Blocks::Fixed(4_096));
        assert_eq!(file.jobs[1].settings.blocks[0], Blocks::Fixed(8_192));
        assert_eq!(file.jobs[1].settings.access.name, "read");
        assert_eq!(file.to_string(), "fio --bs=4k --name=a --rw=write --bs=8k --name=b --size=1m");
    }

    #[test]
    fn kb_base_counts_wherever_it_stands() {
        let file = job_file("[a]\nsize=1k\nkb_base=1000\n");
        assert_eq!(file.jobs[0].settings.area.size, Some(Amount::Bytes(1_000)));
    }

    #[test]
    fn options_without_effect_are_noted() {
        let file = job_file("[a]\nioscheduler=none\ninvalidate=1\n");
        let notes: Vec<_> = file.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes[0], "j:2:1: ioscheduler has no effect in simulation");
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn the_published_command_lines_are_jobs() {
        let line = "--name=a --readwrite=write --ioengine=libaio --iodepth=4 --bs=1M --size=16G \
                    --filename=/dev/mmcblk0 --runtime=60 --time_based --invalidate=1 --direct=1 \
                    --ioscheduler=none";
        let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let job = &parse_arguments(&arguments).unwrap().jobs[0];
        assert_eq!(job.settings.submission.depth, 4);
        assert!(job.settings.timing.time_based && job.settings.submission.direct);
        let words = arguments.iter().flat_map(|word| word.split('='));
        let apart: Vec<_> = words.map(str::to_owned).collect();
        let other = &parse_arguments(&apart).unwrap().jobs[0];
        assert_eq!(other.settings, job.settings);
    }
}

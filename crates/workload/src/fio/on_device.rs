//! Jobs for fio itself, on one device in place of those that they name.
//!
//! Layer: rank 6. Function: [`on_device`]. The text has the options of the job file with variables and included files in
//! place, so that fio asks nobody else. It leaves out what would reach another file than the device, and refuses
//! what it cannot leave out.

use crate::fio::grammar::Assignment;
use crate::fio::job::JobFile;
use crate::fio::options;
use crate::fio::problem::{Diagnostic, Problem};
use std::fmt::Write as _;

/// Options that say which files there are, or what is done with them beside requests: the device stands in their place.
/// The I/O scheduler is for the caller, who can set it back.
const LEFT_OUT: [&str; 19] = [
    "filename",
    "directory",
    "filename_format",
    "unique_filename",
    "lockfile",
    "nrfiles",
    "openfiles",
    "filesize",
    "fallocate",
    "overwrite",
    "create_serialize",
    "create_fsync",
    "create_on_open",
    "allow_file_create",
    "allow_mounted_write",
    "unlink",
    "unlink_each_loop",
    "error_dump",
    "ioscheduler",
];

/// Options that name logs; without a value they name them after the job.
const LOGS: [&str; 3] = ["write_bw_log", "write_lat_log", "write_iops_log"];
/// What a file of fio's own may be called.
const LOCAL: &str = "expected a name without `/`: fio writes no file elsewhere";

/// The text of `file` for fio, with all requests to `device`.
///
/// # Errors
/// A job is about several files, or an option names a file elsewhere.
pub fn on_device(file: &JobFile, device: &str) -> Result<String, Diagnostic> {
    for (number, job) in file.jobs.iter().enumerate() {
        let area = &job.settings.area;
        if area.files > 1 || area.filenames.len() > 1 {
            let place = file.place_of(number, &["nrfiles", "filename"]).clone();
            let what = "it is about several files, and a device is one";
            let problem = Problem::Contradiction { job: job.name.clone(), what };
            return Err(Diagnostic { place, problem });
        }
        let names_logs = job.settings.reporting.logs.iter().flatten().any(String::is_empty);
        if names_logs && job.name.contains('/') {
            let place = file.place_of(number, &LOGS).clone();
            return Err(Diagnostic { place, problem: Problem::Text { what: LOCAL } });
        }
    }
    let mut text = format!("[global]\nfilename={device}\nallow_file_create=0\n");
    for section in file.sections() {
        let _ = writeln!(text, "[{}]", section.name);
        for option in &section.options {
            let name = options::find(&option.name).map_or(&*option.name, |spec| spec.name);
            if LEFT_OUT.contains(&name) {
                continue;
            }
            check(name, option)?;
            let _ = match &option.value {
                Some(value) => writeln!(text, "{name}={value}"),
                None => writeln!(text, "{name}"),
            };
        }
    }
    Ok(text)
}

fn check(name: &str, option: &Assignment) -> Result<(), Diagnostic> {
    let value = option.value.as_deref().unwrap_or_default();
    let names_a_file = LOGS.contains(&name) || name == "mem";
    let what = if names_a_file && value.contains('/') {
        LOCAL
    } else if value.contains(['$', '\n', '\r']) {
        "expected a text without `$`, which fio would read as a variable"
    } else {
        return Ok(());
    };
    Err(Diagnostic { place: option.place.clone(), problem: Problem::Text { what } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::{Environment, parse};

    struct Around;

    impl Environment for Around {
        fn variable(&self, name: &str) -> Option<String> {
            (name == "SIZE").then(|| "8m".to_owned())
        }

        fn include(&self, file: &str) -> Option<String> {
            (file == "more.inc").then(|| "bs=8k\n".to_owned())
        }
    }

    fn text(jobs: &str) -> Result<String, String> {
        let file = parse("j", jobs.as_bytes(), &Around).unwrap();
        on_device(&file, "/dev/x").map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn the_device_stands_in_place_of_all_files() {
        let jobs = "[global]\ndirect=1\nfilename=/dev/mmcblk0\ndirectory=/srv\n[a]\nrw=write\nsize=${SIZE}\nunlink=1\nioscheduler=none\n\
                    time_based\nruntime=5\n[global]\nfilename=/etc/passwd\n[b]\nname=c\nreadwrite=read\ninclude more.inc\nsize=1m\n";
        assert_eq!(
            text(jobs).unwrap(),
            "[global]\nfilename=/dev/x\nallow_file_create=0\n[global]\ndirect=1\n[a]\nrw=write\nsize=8m\ntime_based\n\
             runtime=5\n[global]\n[b]\nname=c\nrw=read\nbs=8k\nsize=1m\n"
        );
    }

    #[test]
    fn what_would_reach_another_file_is_refused() {
        for (job, told) in [
            ("filename=/dev/a:/dev/b", "j:3:1: a: it is about several files"),
            ("nrfiles=2", "j:3:1: a: it is about several files"),
            ("write_bw_log=../x", "j:3:1: "),
            ("write_lat_log=/etc/x", "j:3:1: "),
            ("mem=mmaphuge:/etc/x", "j:3:1: "),
            ("description=$HOME", "j:3:1: "),
        ] {
            let jobs = format!("[a]\ndirect=1\n{job}\nrw=read\nsize=1m\n");
            let refused = text(&jobs).unwrap_err();
            assert!(refused.starts_with(told), "{job}: {refused}");
        }
        assert!(text("[a]\ndirect=1\nrw=read\nsize=1m\nwrite_bw_log=pace\nmem=mmap\n").is_ok());
    }

    #[test]
    fn the_name_of_a_job_that_would_be_that_of_a_log_elsewhere_is_refused() {
        let job = |name: &str, log: &str| {
            format!("[global]\n{log}\n[x]\nname={name}\ndirect=1\nrw=read\nsize=1m\n")
        };
        for log in ["write_bw_log", "write_lat_log=", "write_iops_log"] {
            let refused = text(&job("../x", log)).unwrap_err();
            assert!(refused.starts_with("j:2:1: ") && refused.contains('/'), "{refused}");
        }
        for (name, log) in [("../x", "write_bw_log=pace"), ("x", "write_bw_log"), ("4k/x", "")] {
            assert!(text(&job(name, log)).is_ok(), "{name} {log}");
        }
    }
}

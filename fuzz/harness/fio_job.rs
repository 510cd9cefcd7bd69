//! A job file of fio, and the same text as arguments of a command line.

use boardlab_workload::fio::{self, EmptyEnvironment};

/// Everything that is done with a job file before it is run.
pub(crate) fn run(input: &[u8]) {
    let lines = input.split(|&byte| byte == b'\n').count();
    match fio::parse("input.fio", input, &EmptyEnvironment) {
        Ok(file) => {
            for job in &file.jobs {
                let settings = &job.settings;
                assert!(settings.smallest_block() <= settings.largest_block(), "{}", job.name);
            }
        }
        Err(wrong) => {
            assert!(!wrong.0.is_empty(), "a refusal says what is wrong");
            for one in &wrong.0 {
                let place = &one.place;
                assert!((1..=lines).contains(&place.line) && place.column > 0, "{place:?}");
                assert!(!one.to_string().is_empty());
            }
        }
    }
    let text = String::from_utf8_lossy(input);
    let arguments: Vec<String> = text.lines().map(str::to_owned).collect();
    let _ = fio::parse_arguments(&arguments);
}

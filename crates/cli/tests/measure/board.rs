//! Fake boards and agents: programs of the shell that say what they are told to say.

use crate::bench::Scratch;
use boardlab_codec::crc::crc32;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// A plan that writes to nothing.
pub(crate) const PLAN: &str = "\
boardlab-plan 1
scenario nor-write
step copy cpu.copy size=4096 count=3 predict.mean_ns=500
step timer cpu.timer count=5
";

/// A line of an agent, from its JSON without the closing brace.
pub(crate) fn line(json: &str) -> String {
    format!("{json},\"crc\":\"{:08x}\"}}\n", !crc32(u32::MAX, json.as_bytes()))
}

/// The lines of a measurement of [`PLAN`], each.
pub(crate) fn lines() -> [String; 6] {
    [
        r#"{"boardlab_measurement":1,"agent":"0.1.0","plan":{"scenario":"nor-write","steps":2,"crc32":"0"},"board":{"model":"Fake"},"clock":{},"wear":[]"#,
        r#"{"begin":"copy","line":"step copy cpu.copy size=4096 count=3 predict.mean_ns=500""#,
        r#"{"step":"copy","state":"done","operations":3,"bytes":12288,"elapsed_ns":1600,"sum_ns":1500,"min_ns":500,"max_ns":500,"histogram":[[500,3]]"#,
        r#"{"begin":"timer","line":"step timer cpu.timer count=5""#,
        r#"{"step":"timer","state":"done","operations":5,"bytes":0,"elapsed_ns":100,"sum_ns":100,"min_ns":20,"max_ns":20,"histogram":[[20,5]]"#,
        r#"{"end":"complete","steps":2,"done":2,"restored":[]"#,
    ]
    .map(line)
}

/// A whole measurement.
pub(crate) fn whole() -> String {
    lines().concat()
}

/// The end of a measurement that was interrupted in its second step.
pub(crate) fn interrupted() -> String {
    let stopped = r#"{"step":"timer","state":"stopped","operations":0,"bytes":0,"elapsed_ns":9"#;
    let end = r#"{"end":"interrupted","steps":2,"done":1,"restored":[]"#;
    line(stopped) + &line(end)
}

/// Writes a program of the shell.
pub(crate) fn program(scratch: &Scratch, name: &str, script: &str) {
    scratch.write(name, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(scratch.path().join(name), Permissions::from_mode(0o755)).unwrap();
}

/// A folder with [`PLAN`] and an agent that prints `text`, notes its arguments and its plan, and ends with `status`.
pub(crate) fn scratch_with_agent(text: &str, status: i32) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("plan", PLAN);
    scratch.write("text", text);
    let here = scratch.path().display();
    let script = format!(
        "printf '<%s>\\n' \"$@\" > {here}/arguments\nfor plan; do :; done\ncp \"$plan\" {here}/got\n\
         echo 'a word of the agent' >&2\ncat {here}/text\nexit {status}"
    );
    program(&scratch, "agent", &script);
    scratch
}

/// A folder with an agent that does not end its second step until a signal comes, and then as `status` says.
pub(crate) fn scratch_with_endless_agent() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("plan", PLAN);
    scratch.write("text", lines()[..4].concat());
    scratch.write("rest", interrupted());
    let here = scratch.path().display();
    let script = format!(
        "trap 'cat {here}/rest; exit 1' TERM INT\ncat {here}/text\nwhile :; do sleep 0.05; done"
    );
    program(&scratch, "agent", &script);
    scratch
}

/// Waits until `path` has `text`.
pub(crate) fn wait_for(path: &Path, text: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while !fs::read_to_string(path).is_ok_and(|content| content.contains(text)) {
        assert!(Instant::now() < until, "{} lacks {text}", path.display());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sends `signal` to a program that this test started.
pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Whether there is such a program.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\" >/dev/null", program]).status();
    found.unwrap().success()
}

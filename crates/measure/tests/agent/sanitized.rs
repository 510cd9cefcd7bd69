//! The agent with the sanitizers of addresses and of undefined behaviour: they find nothing, whatever a plan says.

use super::build::{SANITIZED, done, has, lacks, sources};
use super::emulated::{folder, worked};
use super::full;
use super::plans::{examples, mutated, random_plan};
use boardlab_measure::reading::read;
use boardlab_sim::Seed;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Seconds that libFuzzer searches.
const SEARCH_S: u32 = 120;

/// What the linker does for `agent/tests/fuzz.c`.
const WRAP: &str = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc";

fn harness() -> PathBuf {
    sources().join("tests")
}

#[test]
fn work_has_no_finding_of_sanitizers() {
    let Some(agent) = SANITIZED.agent() else { return lacks("gcc") };
    assert!(worked(agent, &folder("sanitized-work")).is_whole());
}

/// Undefined behaviour ends the sanitized program, so that what finds nothing could have found something.
#[test]
fn a_finding_of_sanitizers_would_be_seen() {
    if SANITIZED.lacking().is_some() {
        return lacks("gcc");
    }
    let folder = folder("sanitized-finding");
    for (name, body) in [
        ("address", "char *text = malloc(3); strcpy(text, words[0]); return text[0] == 0;"),
        ("undefined", "int shift = 30 + count * 2; return 1 << shift;"),
    ] {
        let source = format!(
            "#include <stdlib.h>\n#include <string.h>\n#undef main\nint main(int count, char **words) \
             {{ (void)words; (void)count; {body} }}\n"
        );
        fs::write(folder.join(format!("{name}.c")), source).unwrap();
        let agent = SANITIZED.with_main(&folder, &format!("{name}.c"), &["-w"]).unwrap();
        let status = agent.command().output().unwrap().status;
        assert_eq!(status.code(), Some(99), "{name}");
    }
}

/// Mutated plans, read one after the other by the reader of the agent alone.
#[test]
fn mutated_plans_are_read_without_a_finding_of_sanitizers() {
    let flags = [WRAP, "-DREPLAY"];
    let Some(agent) = SANITIZED.with_main(&harness(), "fuzz.c", &flags) else {
        return lacks("gcc");
    };
    let file = folder("sanitized-plans").join("plans");
    let mut stream = Seed::new(3).stream("plans");
    let (mut plans, mut bytes) = (0, Vec::new());
    for (round, seed) in examples().iter().filter(|seed| !seed.is_empty()).enumerate() {
        let count = if round == 0 { 4_000 } else { 50 } * if full() { 50 } else { 1 };
        for text in mutated(seed, &mut stream, count).chain([seed.clone()]) {
            bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
            bytes.extend(text.bytes());
            plans += 1;
        }
    }
    fs::write(&file, bytes).unwrap();
    let output = done(agent.command().arg(&file));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), plans.to_string());
    assert!(plans > 7_000, "{plans}");
}

/// Random steps are done as far as they can be. They may write to one folder, and are about devices that are none.
#[test]
fn random_steps_run_without_a_finding_of_sanitizers() {
    let Some(agent) = SANITIZED.agent() else { return lacks("gcc") };
    let folder = folder("sanitized-steps");
    let (plan, files) = (folder.join("plan"), folder.join("files"));
    fs::create_dir_all(&files).unwrap();
    let path = files.to_str().unwrap();
    let mut stream = Seed::new(5).stream("steps");
    let (mut states, rounds) = ([0; 4], if full() { 3_000 } else { 100 });
    for round in 0..rounds {
        // A quarter of the plans is also about devices.
        let is_all = round % 4 == 0;
        let targets = [path, path, path, "/dev/null", "/dev/none", "/proc/version", "/"];
        let targets = if is_all { &targets[..] } else { &targets[..1] };
        let text = random_plan(&mut stream, targets, is_all).to_string();
        fs::write(&plan, &text).unwrap();
        let mut command = Command::new("timeout");
        command.args(["-k", "2", "30"]).arg(&agent.program);
        for (name, value) in agent.command().get_envs() {
            command.env(name, value.unwrap());
        }
        command.args(["--max-cycles", "1000000", "--destroy", path]).arg(&plan);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code().and_then(|code| usize::try_from(code).ok());
        let state = status.and_then(|status| states.get_mut(status));
        let state = state.unwrap_or_else(|| panic!("{}: {told}\n{text}", output.status));
        *state += 1;
        assert_eq!(fs::read_dir(&files).unwrap().count(), 0, "a folder is left by {text}");
        let readings = read(&output.stdout[..]).unwrap();
        assert!(readings.iter().all(|one| one.damage.is_empty()), "{text}");
    }
    let [complete, failed, flawed, refused] = states;
    println!("{complete} complete, {failed} failed, {flawed} with a flaw, {refused} refused");
    assert!(complete > rounds / 10 && failed + refused > rounds / 10, "{states:?}");
}

/// libFuzzer looks for plans that the reader of the agent fails at.
#[test]
fn a_fuzzer_finds_no_plan_that_breaks_the_reader() {
    if !full() {
        return;
    }
    if !has("clang") {
        return lacks("clang");
    }
    let folder = folder("fuzzed-plans");
    for (index, seed) in examples().iter().enumerate() {
        fs::write(folder.join(index.to_string()), seed).unwrap();
    }
    let program = folder.with_extension("program");
    let mut clang = Command::new("clang");
    clang.args(["-std=c99", "-O1", "-g", "-fsanitize=fuzzer,address,undefined", WRAP]);
    clang.args([
        "-fno-sanitize-recover=all",
        "-D_GNU_SOURCE",
        "-D_FILE_OFFSET_BITS=64",
        "-pthread",
    ]);
    clang.args(["-Dmain=agent_main", "-I"]).arg(sources()).arg("-o").arg(&program);
    let mut files: Vec<_> =
        fs::read_dir(sources()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "c"));
    done(clang.args(files).arg(harness().join("fuzz.c")));
    let mut search = Command::new(&program);
    search.args(["-close_fd_mask=2", "-detect_leaks=0", "-max_len=8192", "-seed=1"]);
    search
        .arg(format!("-max_total_time={SEARCH_S}"))
        .arg(&folder)
        .current_dir(folder.parent().unwrap());
    done(&mut search);
}

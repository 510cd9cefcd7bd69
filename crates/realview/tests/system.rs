//! The operating system's guarantees to programs, tested by its own test programs: `tests`,
//! `badcalls` and `hostile`.
//!
//! They run on the simulated board with the coherence checker, with and without FCSE, and on QEMU
//! where it is installed.
use crate::kernel;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::kernel::{PROMPT, Shell};
use boardlab_arm926::{Config, Cycles, Limit};
use boardlab_realview::{Outcome, Settings};
use boardlab_sim::Hertz;

/// Cycles between two polls of the console.
const LOOK: u64 = 10_000_000;
/// Cycles that a command may take: 100 s of the board's time.
const PATIENCE: u64 = 20_000_000_000;

const FULL: &str = "BOARDLAB_FULL";

fn is_full() -> bool {
    std::env::var_os(FULL).is_some()
}

/// The output of a command, without the kernel's messages about killed processes.
fn said(shell: &mut Shell, command: &str, patience: u64) -> String {
    let machine = &mut shell.machine;
    machine.push_input(0, format!("{command}\n").as_bytes());
    let end = machine.now().plus(patience);
    let (mut lines, mut rest) = (String::new(), String::new());
    while rest != PROMPT {
        assert!(machine.now() < end, "{command} still runs: {lines}");
        let outcome = machine.run(Limit::cycles(machine.now().plus(LOOK)));
        rest += &String::from_utf8_lossy(&machine.take_console());
        assert_eq!(outcome, Outcome::Limit, "{lines}{rest}");
        while let Some((line, behind)) = rest.split_once('\n') {
            if !line.trim_end().ends_with("; killed") {
                lines.extend([line, "\n"]);
            }
            rest = behind.to_owned();
        }
        assert!(!lines.contains("panic"), "{lines}");
    }
    lines
}

/// Boots the kernel with these options and runs the commands, each of which must print the expected
/// text. The checker must find nothing.
fn check(options: &str, commands: &[(&str, &str)]) {
    run(options, commands, true);
}

/// The same, without the coherence checker if `coherence` is false: it takes more than half of the
/// time.
fn run(options: &str, commands: &[(&str, &str)], coherence: bool) {
    let Some(folder) = kernel::build() else { return };
    let core = Config { check_coherence: coherence, ..Config::default() };
    let settings = Settings { core, ..Settings::default() };
    let (mut shell, _) = Shell::start_on(&settings, folder, options, None);
    for (command, expected) in commands {
        let lines = said(&mut shell, command, PATIENCE);
        assert!(lines.contains(expected) && !lines.contains("FAIL"), "{options}: {lines}");
        let found = shell.machine.processor().memory.violations();
        assert!(found.is_empty(), "{options}: {command}: {found:?}");
    }
}

const TESTS: (&str, &str) = ("tests", "ALL TESTS PASSED");
/// The tests that depend on the kind of address space, without those that fill all memory.
const SPACES: (&str, &str) = (
    "tests processes_end a_long_exec_can_be_killed exec_of_several_in_turn registers_are_kept \
     calls_keep_registers a_tree_of_processes pipes protection fork_copies many_keep_their_memory \
     grows_by_bytes",
    "ALL TESTS PASSED",
);
const BAD_CALLS: (&str, &str) = ("badcalls", "ALL REFUSED");

/// The others run on QEMU, and here in the long form.
#[test]
fn tests_pass_with_fcse() {
    check("", &[if is_full() { TESTS } else { SPACES }, BAD_CALLS]);
}

#[test]
fn tests_pass_with_own_tables() {
    check("fcse=0", &[if is_full() { TESTS } else { SPACES }, BAD_CALLS]);
}

#[test]
fn tests_pass_where_caches_are_flushed_at_a_stretch() {
    let all = ["slots=2 ahead=0", "fcse=0 ahead=0"];
    for options in if is_full() { &all[..] } else { &all[..1] } {
        check(options, if is_full() { &[TESTS, BAD_CALLS] } else { &[SPACES] });
    }
}

/// When a process is switched to, the next tick is already pending.
#[test]
fn interrupts_do_not_nest_where_a_tick_is_shorter_than_a_switch() {
    let Some(folder) = kernel::build() else { return };
    let settings = Settings { core_clock: Hertz::from_hz(30_000_000), ..Settings::default() };
    let (mut shell, _) = Shell::start_on(&settings, folder, "fcse=0 ahead=0 tick=100", None);
    let (command, expected) = if is_full() {
        ("tests many_wait_for_this_and_that several_writers ring", TESTS.1)
    } else {
        ("bench ring pipe 4 0 1", "ring_switches 4 switches")
    };
    let lines = said(&mut shell, command, PATIENCE);
    assert!(lines.contains(expected) && !lines.contains("FAIL"), "{lines}");
}

#[test]
fn tests_pass_with_two_slots_and_own_tables_beside() {
    check("slots=2", if is_full() { &[TESTS, BAD_CALLS] } else { &[SPACES] });
}

/// Each MB of the 4 GB in the long form, otherwise in steps of 64 MB. Pages of slots and kernel always.
#[test]
fn a_hostile_program_reaches_nothing_beside_17_or_64_processes() {
    if !is_full() {
        let coarse = [("hostile 64 65536", "ISOLATED"), ("hostile 17 65536", "ISOLATED")];
        run("", &coarse, false);
        return;
    }
    for options in ["", "fcse=0", "slots=9"] {
        for live in [4, 15, 16, 17, 64] {
            check(options, &[(&format!("hostile {live}"), "ISOLATED")]);
        }
    }
}

/// All 4 GB, page by page: half an hour, so only in the long form.
#[test]
fn a_hostile_program_reaches_nothing_at_any_page() {
    if !is_full() {
        return;
    }
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    let lines = said(&mut shell, "hostile 17 4", 100 * PATIENCE);
    assert!(lines.contains("ISOLATED") && !lines.contains("FAIL"), "{lines}");
}

/// The other processes get and lose domains all the time, and ticks interrupt them while they do.
#[test]
fn a_spy_sees_nothing_while_others_get_and_lose_domains() {
    let Some(folder) = kernel::build() else { return };
    for seed in 1..=if is_full() { 60 } else { 4 } {
        let (mut shell, _) = Shell::start(folder, "tick=300", None);
        let lines = said(&mut shell, &format!("spy 24 240 {seed}"), PATIENCE);
        assert!(lines.contains("UNSEEN") && !lines.contains("FAIL"), "{lines}");
    }
}

/// Processes that switch, execute, sleep and exit, on the kernel that checks its contracts and all
/// domains at each switch.
#[test]
fn contracts_of_the_kernel_hold_and_each_domain_has_one_owner() {
    let Some(folder) = kernel::build_checked() else { return };
    let short = [
        ("spy 24 120", "UNSEEN"),
        ("bench ring chg 20 4 2", "ring_switches 40 switches"),
        ("tests many_read_one_pipe many_wait_for_a_child fork_copies", TESTS.1),
    ];
    let long = [TESTS, BAD_CALLS, ("forktest", "fork test OK"), ("hostile 17 65536", "ISOLATED")];
    for options in ["tick=300", "tick=1000 slots=9", "slots=2", "fcse=0", "ahead=0"] {
        let (mut shell, _) = Shell::start(folder, options, None);
        for (command, expected) in short.iter().chain(if is_full() { &long[..] } else { &[] }) {
            let lines = said(&mut shell, command, PATIENCE);
            assert!(lines.contains(expected) && !lines.contains("FAIL"), "{options}: {lines}");
        }
    }
}

/// The output of a kernel built with checks from sources in which `old` of this file is replaced by
/// `new`.
fn changed(name: &str, file: &str, old: &str, new: &str) -> Option<String> {
    let built = kernel::build_checked()?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (os, out) = (folder.join("os"), folder.join("build"));
    let _absent = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (from, to) in [(&*kernel::sources(), &os), (built, &out)] {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    }
    let path = os.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{file}: {old}");
    std::fs::write(&path, text.replace(old, new)).unwrap();
    kernel::make_from(&os, &out, &["all", "CHECKS=1"]);
    let mut machine = kernel::machine(&Settings::default(), &out, "tick=300");
    machine.push_input(0, b"spy\n");
    let outcome = machine.run(Limit::cycles(Cycles::default().plus(200_000_000)));
    let text = String::from_utf8_lossy(&machine.take_console()).into_owned();
    assert!(matches!(outcome, Outcome::Exit { code: 1, .. }), "{outcome:?} {text}");
    std::fs::remove_dir_all(&folder).unwrap();
    Some(text)
}

#[test]
fn the_checked_kernel_ends_where_a_domain_is_taken_with_interrupts_on() {
    let with = "    push_off();\n    uint domain = domain_claim(space);";
    let without = with.trim_start_matches("    push_off();\n");
    let end = "    space->used = state.count;\n    pop_off();";
    let both = format!("{with}\n{end}");
    let none = format!("{without}\n    space->used = state.count;");
    let Some(text) = changed("interrupts-on", "arch/arm926/space.c", &both, &none) else { return };
    assert!(text.contains("domain_claim: !interrupts_are_on() does not hold"), "{text}");
}

#[test]
fn the_checked_kernel_ends_where_two_have_a_domain() {
    let old = "        before->domain = 0;\n        table_relink(before);\n";
    let Some(text) = changed("two-owners", "arch/arm926/slot.c", old, "") else { return };
    let found = "check_in_slot: domain_owner(space->domain) == space does not hold";
    assert!(text.contains(found), "{text}");
}

/// Commands for the shell, and their expected output.
const LINES: [(&str, &str); 19] = [
    ("echo hello there > f", ""),
    ("cat f; wc < f; cat f | grep the | wc", "hello there\n1 2 12 \n1 2 12 \n"),
    ("(echo 1; (echo 2; echo 3) | cat; echo 4) > g; cat g | wc; cat g", "4 4 8 \n1\n2\n3\n4\n"),
    (
        "grep ^h.*re$ f; grep ^hello$ f; grep o.t f; grep x*t f",
        "hello there\nhello there\nhello there\n",
    ),
    ("ln f h; rm f; cat h; cat f", "hello there\ncat: cannot open f\n"),
    ("mkdir d; mkdir d", "mkdir: cannot make d\n"),
    ("cd d", ""),
    ("echo in d > f; /cat f; cat /d/f", "in d\nin d\n"),
    ("rm ../d; cd", "rm: cannot remove ../d\nsh: cannot run cd\n"),
    ("cd nowhere", "cannot cd nowhere\n"),
    ("cd ..", ""),
    ("rm d/f d g h; ls d", "ls: cannot open d\n"),
    ("nothing", "sh: cannot run nothing\n"),
    ("/d/echo x", "sh: cannot run /d/echo\n"),
    ("echo a >", "sh: a name is missing before the end\n"),
    ("(echo a", "sh: ) is missing\n"),
    ("echo a) b", "sh: not understood: ) b\n"),
    ("cat < f", "sh: cannot open f\n"),
    ("", ""),
];

#[test]
fn the_shell_understands_its_language() {
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    for (line, expected) in LINES {
        let lines = said(&mut shell, line, PATIENCE).replace('\r', "");
        let (echoed, rest) = lines.split_once('\n').unwrap();
        assert_eq!((echoed, rest), (line, expected));
    }
}

#[test]
fn options_that_are_not_known_or_cannot_be_end_the_kernel_with_a_message() {
    let Some(folder) = kernel::build() else { return };
    let ticks = "expected is a whole number from 100 to 10000000";
    for (options, found, expected) in [
        ("tick=0", "option tick: '0'", ticks),
        ("kernel.elf tick=99999999999", "option tick: '99999999999'", ticks),
        ("kernel.elf tick=x", "option tick: 'x'", ticks),
        ("fcse=2", "option fcse: '2'", "from 0 to 1"),
        ("ahead=5", "option ahead: '5'", "from 0 to 1"),
        ("slots=200", "option slots: '200'", "from 0 to 95"),
        ("disk=floppy", "option disk: 'floppy'", "'card'"),
        ("kernel.elf foo=1", "option 'foo=1'", "these are: fcse ahead slots tick disk"),
    ] {
        let mut machine = kernel::machine(&Settings::default(), folder, options);
        let outcome = machine.run(Limit::cycles(Cycles::default().plus(40_000_000)));
        let text = String::from_utf8_lossy(&machine.take_console()).into_owned();
        assert!(matches!(outcome, Outcome::Exit { code: 1, .. }), "{options}: {outcome:?} {text}");
        assert!(text.contains(found) && text.contains(expected), "{options}: {text}");
    }
}

#[test]
fn other_words_and_limits_of_options_are_taken() {
    let Some(folder) = kernel::build() else { return };
    for options in ["a=b/kernel.elf quiet", "kernel.elf tick=100 slots=0", "slots=95 ahead=0"] {
        let (mut shell, _) = Shell::start(folder, options, None);
        assert_eq!(shell.command("echo ours").trim(), "ours", "{options}");
    }
}

/// `bench` commands for the shell, and their expected output.
const MEASURED: [(&str, &str); 19] = [
    ("bench ring", "usage: bench ring chg|pipe N KB LAPS"),
    ("bench foo", "usage: bench large MB"),
    ("bench ring pipe 100 0 2", "N is '100', expected is a whole number from 2 to 49"),
    ("bench ring chg 63 0 2", "N is '63', expected is a whole number from 2 to 62"),
    ("bench ring foo 2 0 10", "HOW is 'foo', expected is chg or pipe"),
    ("bench null x", "N is 'x', expected is a whole number from 1"),
    ("bench null -4", "N is '-4'"),
    ("bench latency -1", "N is '-1'"),
    ("bench large x", "MB is 'x', expected is a whole number from 1 to 256"),
    ("bench exec 1 500", "KB is '500', expected is a whole number from 1 to 70"),
    ("bench chg 3 once", "N is odd"),
    ("bench set tick 99999999999", "tick is '99999999999', expected is a whole number from 100"),
    ("bench set foo 1", "NAME is none of fcse, tick"),
    ("(bench ring pipe 49 0 1 | cat) | cat", "bench: no pipe\n"),
    ("(bench ring chg 62 0 1 | cat) | cat", "bench: no process\n"),
    ("bench ring pipe 49 0 1", "ring_switches 49 switches"),
    ("bench ring chg 62 0 1", "ring_switches 62 switches"),
    ("bench chg 10 once 5", "chg_switches 10 switches"),
    ("cat bench.program bench.other", "cat: cannot open bench.program"),
];

#[test]
fn the_tick_of_the_start_is_the_one_that_tune_knows() {
    for options in ["", "tick=20000", "tick=500"] {
        check(options, &[("tests ticks_last_as_tune_says", "ALL TESTS PASSED")]);
    }
}

#[test]
fn what_cannot_be_measured_is_refused_and_leaves_nothing() {
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    let pages = |shell: &mut Shell| {
        let said = said(shell, "bench count", PATIENCE).replace('\r', "");
        said.lines().find(|line| line.starts_with("pages_free")).unwrap().to_owned()
    };
    let before = pages(&mut shell);
    for (line, expected) in MEASURED {
        let lines = said(&mut shell, line, PATIENCE).replace('\r', "");
        assert!(lines.contains(expected), "{lines}");
        assert_eq!(lines.contains("_switches"), expected.contains("_switches"), "{lines}");
    }
    assert_eq!(pages(&mut shell), before);
}

/// A source that is older than the earlier build: the arguments decide what is built, not the age.
#[test]
fn programs_from_elsewhere_take_the_place_of_ours_and_give_it_back() {
    if kernel::build().is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("elsewhere");
    let source = folder.join("echo.c");
    std::fs::create_dir_all(&folder).unwrap();
    let theirs = "#include \"user.h\"\nint main(void) { printf(1, \"theirs\\n\"); exit(); }\n";
    std::fs::write(&source, theirs).unwrap();
    let says = |target: &str| {
        kernel::make(&folder, target);
        let (mut shell, _) = Shell::start(&folder, "", None);
        shell.command("echo ours").trim().to_owned()
    };
    assert_eq!(says("all"), "ours");
    assert_eq!(says(&format!("PROGRAMS={}", source.display())), "theirs");
    assert_eq!(says("all"), "ours");
}

#[test]
fn all_tests_pass_on_qemu() {
    let Some(folder) = kernel::build() else { return };
    let emulator = "qemu-system-arm";
    if Command::new(emulator).arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: needs {emulator}");
        return;
    }
    let os = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../os");
    let output = Command::new("python3")
        .arg(os.join("tests/run.py"))
        .args(["--machine", "qemu", "--limit", "300", "--reject", "FAIL"])
        .args(["--expect", TESTS.1, "--expect", BAD_CALLS.1, "--kernel"])
        .arg(folder.join("kernel.elf"))
        .args([TESTS.0, BAD_CALLS.0])
        .output()
        .unwrap();
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{console}{errors}");
}

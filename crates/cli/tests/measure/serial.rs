//! `boardlab measure run --over serial`: the line is a pseudoterminal, the board a shell on another one.

use super::board::{
    PLAN, has, scratch_with_agent, scratch_with_endless_agent, signal, wait_for, whole,
};
use crate::bench::{Outcome, Scratch, run_in, spawn};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A serial line, with or without a board at its other end.
struct Line {
    /// The device for boardlab.
    path: String,
    /// Keeps the line open.
    device: File,
    /// The shell of the board.
    board: Option<Child>,
    /// How many bytes of base64 went to the board, and which of them is changed on the way.
    sent: Arc<AtomicUsize>,
}

impl Line {
    /// A line to a shell; the `damaged` byte of what is sent to it becomes another one.
    fn to_a_shell(damaged: Option<usize>) -> Self {
        let mut line = Self::to_nothing();
        let mut board = Command::new("script")
            .args(["-qfc", "exec sh -i", "/dev/null"])
            .env("PS1", "board # ")
            .env("ENV", "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut to, mut from) = (board.stdin.take().unwrap(), board.stdout.take().unwrap());
        let mut up = line.master();
        let mut down = up.try_clone().unwrap();
        let sent = Arc::clone(&line.sent);
        thread::spawn(move || {
            let mut bytes = [0; 256];
            while let Ok(length) = up.read(&mut bytes) {
                let before = sent.fetch_add(length, Ordering::Relaxed);
                if let Some(at) =
                    damaged.and_then(|at| at.checked_sub(before)).filter(|at| *at < length)
                {
                    bytes[at] ^= 1;
                }
                if to.write_all(&bytes[..length]).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
        });
        thread::spawn(move || {
            let mut bytes = [0; 256];
            while let Ok(length) = from.read(&mut bytes) {
                if length == 0 || down.write_all(&bytes[..length]).is_err() {
                    return;
                }
            }
        });
        line.board = Some(board);
        line
    }

    /// A line at whose other end nobody is.
    fn to_nothing() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let device = File::options().read(true).write(true).open(&path).unwrap();
        let mut modes = tcgetattr(&device).unwrap();
        // A line of its own has no echo.
        modes.make_raw();
        tcsetattr(&device, OptionalActions::Now, &modes).unwrap();
        MASTERS.lock().unwrap().push((path.clone(), File::from(master)));
        Self { path, device, board: None, sent: Arc::default() }
    }

    fn master(&self) -> File {
        let masters = MASTERS.lock().unwrap();
        masters.iter().find(|(path, _)| *path == self.path).unwrap().1.try_clone().unwrap()
    }

    fn measure(&self, scratch: &Scratch, arguments: &[&str]) -> Outcome {
        run_in(scratch.path(), &self.arguments(arguments))
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let over: &'static str = Box::leak(format!("serial:{}", self.path).into_boxed_str());
        [&["measure", "run", "plan", "--save", "out", "--quiet", "--over", over], arguments]
            .concat()
    }
}

/// The other ends of the lines.
static MASTERS: std::sync::Mutex<Vec<(String, File)>> = std::sync::Mutex::new(Vec::new());

impl Drop for Line {
    fn drop(&mut self) {
        MASTERS.lock().unwrap().retain(|(path, _)| *path != self.path);
        if let Some(board) = &mut self.board {
            let _ = board.kill();
            let _ = board.wait();
        }
    }
}

fn is_possible() -> bool {
    let possible = has("script") && has("base64") && has("cksum");
    if !possible {
        eprintln!("skipped: needs script, base64 and cksum");
    }
    possible
}

#[test]
fn a_plan_runs_on_a_board_at_a_serial_line_one_after_the_other() {
    if !is_possible() {
        return;
    }
    let scratch = scratch_with_agent(&whole(), 0);
    // Several pieces, the last one short.
    let remarks = "# 0123456789 a remark that fills the plan\n".repeat(200);
    scratch.write("plan", PLAN.replacen('\n', &format!("\n{remarks}"), 1));
    let line = Line::to_a_shell(None);
    for _ in 0..2 {
        let _ = std::fs::remove_file(scratch.path().join("out"));
        let outcome = line.measure(&scratch, &["--agent", "agent"]);
        assert_eq!(outcome.status, 0, "{outcome:?}\n{}", scratch.read("out"));
        // The words of an agent are on the same line; they are no part of the measurement.
        assert!(
            scratch.read("out").contains(&whole()) && outcome.stdout.contains("Measured on Fake")
        );
        assert_eq!(scratch.read("got"), scratch.read("plan"));
        assert_eq!(scratch.read("arguments"), "<--max-cycles>\n<10>\n<plan>\n");
    }
    let modes = tcgetattr(&line.device).unwrap().local_modes;
    assert!(!modes.contains(LocalModes::ECHO), "the line is as it was before");
}

#[test]
fn the_agent_is_built_on_a_board_at_a_serial_line() {
    if !is_possible() || !has("cc") {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("plan", PLAN);
    let outcome = Line::to_a_shell(None).measure(&scratch, &[]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("All of 2 steps ended"), "{outcome:?}");
}

#[test]
fn the_status_of_an_agent_at_a_serial_line_is_passed_on() {
    if !is_possible() {
        return;
    }
    let scratch = scratch_with_agent(&whole(), 3);
    let outcome = Line::to_a_shell(None).measure(&scratch, &["--agent", "agent"]);
    assert_eq!(outcome.status, 3, "{outcome:?}");
}

#[test]
fn a_piece_that_is_damaged_on_the_way_is_sent_again() {
    if !is_possible() {
        return;
    }
    let sent = |damaged| {
        let scratch = scratch_with_agent(&whole(), 0);
        let line = Line::to_a_shell(damaged);
        let outcome = line.measure(&scratch, &["--agent", "agent"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        assert_eq!(scratch.read("got"), PLAN);
        line.sent.load(Ordering::Relaxed)
    };
    // After the greetings, in the base64 of the plan.
    let (whole, again) = (sent(None), sent(Some(360)));
    assert!(again > whole + 100, "{again} bytes were sent, {whole} without damage");
}

#[test]
fn an_interrupt_ends_an_agent_at_a_serial_line_in_order() {
    if !is_possible() {
        return;
    }
    let scratch = scratch_with_endless_agent();
    let line = Line::to_a_shell(None);
    let mut child = spawn(scratch.path(), &line.arguments(&["--agent", "agent"]));
    wait_for(&scratch.path().join("out"), "\"begin\":\"timer\"");
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let saved = scratch.read("out");
    assert!(saved.contains("\"end\":\"interrupted\""), "{saved}");
}

#[test]
fn silence_and_files_that_are_no_lines_are_told() {
    let scratch = scratch_with_agent(&whole(), 0);
    let line = Line::to_nothing();
    let outcome = line.measure(&scratch, &["--agent", "agent"]);
    assert!(outcome.status == 1 && outcome.stderr.contains("no shell answers at"), "{outcome:?}");
    for (path, status, says) in [
        ("/dev/null", 2, "`/dev/null` is no serial line"),
        ("/dev/no-such-line", 1, "the serial line `/dev/no-such-line` fails"),
    ] {
        let over = format!("serial:{path}");
        let arguments = ["measure", "run", "plan", "--save", "out", "--over", &over];
        let outcome = run_in(scratch.path(), &arguments);
        assert!(outcome.status == status && outcome.stderr.contains(says), "{outcome:?}");
        assert!(!scratch.names(".").contains(&"out".into()));
    }
}

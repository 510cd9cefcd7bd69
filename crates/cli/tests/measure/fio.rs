//! fio jobs on a real device: what is refused before anything is touched. The rest is tried in the guest of `checks`.

use crate::bench::{Outcome, Scratch, run_in};

const JOBS: &str = "[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=write\nbs=64k\nsize=1m\n";

#[test]
fn what_is_no_permitted_block_device_is_refused_with_its_reason() {
    let scratch = Scratch::new();
    scratch.write("jobs.fio", JOBS);
    scratch.write("reads.fio", JOBS.replace("rw=write", "rw=read"));
    scratch.write("two.fio", JOBS.replace("/dev/mmcblk0", "/dev/a:/dev/b"));
    scratch.write("log.fio", format!("{JOBS}write_bw_log=/etc/x\n"));
    scratch.write("file", "mine");
    for (arguments, status, told) in [
        (&["jobs.fio", "--on", "/dev/x"][..], 3, "refused: the jobs write to `/dev/x`"),
        (&["jobs.fio", "--on", "/dev/x", "--destroy", "/dev/y"], 2, "no job writes to `/dev/y`"),
        (&["reads.fio", "--on", "/dev/x", "--destroy", "/dev/x"], 2, "no job writes to `/dev/x`"),
        (&["jobs.fio", "--on", "/dev/x", "--destroy", "/dev/x"], 2, "cannot open `/dev/x`"),
        (&["jobs.fio", "--on", "file", "--destroy-data", "file"], 2, "`file` is no block device"),
        (&["reads.fio", "--on", "/dev/null"], 2, "`/dev/null` is no block device"),
        (&["nor-write", "--on", "/dev/x"], 2, "`nor-write` has no fio jobs"),
        (&["reads.fio", "--on", "/dev/x", "--format", "fio"], 2, "there is only its JSON"),
        (&["two.fio", "--on", "/dev/x"], 2, "it is about several files"),
        (&["log.fio", "--on", "/dev/x"], 2, "a name without `/`"),
        (&["jobs.fio", "--destroy", "/dev/x"], 2, "--on"),
        (&["jobs.fio", "--max-cycles", "3"], 2, "--on"),
        (
            &["jobs.fio", "--on", "/dev/x", "--destroy", "/dev/x", "--agent", "no"],
            2,
            "cannot read the agent `no`",
        ),
    ] {
        let arguments: Vec<&str> = ["run"].iter().chain(arguments).copied().collect();
        let outcome = run_in(scratch.path(), &arguments);
        assert_eq!(outcome.status, status, "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(told), "{arguments:?}: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
    assert_eq!(scratch.read("file"), "mine");
}

fn measure_read(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    run_in(scratch.path(), &[&["measure", "read"], arguments].concat())
}

#[test]
fn files_of_other_programs_are_read_by_their_content() {
    let scratch = Scratch::new();
    let fio = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"a","error":0,"write":{"io_bytes":4096,"io_kbytes":4,
        "bw_bytes":4096,"iops":1.0,"runtime":1000,"total_ios":1,"clat_ns":{"mean":5.0,"max":5}}}]}"#;
    let speed = "eraseblock write speed is 2028 KiB/s\nfinished\n";
    for (name, text, status, told) in [
        ("fio", fio, 0, "Measured by fio-3.33: fio"),
        ("failed", &fio.replace("\"error\":0", "\"error\":28"), 1, "error 28)"),
        ("speed", speed, 0, "eraseblock-write"),
        (
            "cut",
            &fio[..fio.len() - 20],
            2,
            "found the end of the file, expected a whole report of fio",
        ),
        ("tps", "Device tps kB_read/s\nsda 1 2\n", 2, "expected those of iostat -x"),
        ("nothing", "boot\n", 2, "`nothing` has no measurement"),
    ] {
        scratch.write(name, text);
        let outcome = measure_read(&scratch, &[name]);
        assert_eq!(outcome.status, status, "{name}: {outcome:?}");
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(said.contains(told), "{name}: {outcome:?}");
    }
    let both = measure_read(&scratch, &["fio", "speed", "--out", "both"]);
    assert_eq!(both.status, 0, "{both:?}");
    assert!(scratch.read("both/index.html").contains("eraseblock-write"));
}

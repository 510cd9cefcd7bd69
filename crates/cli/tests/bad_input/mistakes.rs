//! Slips of somebody who is new: each gets one message that says what to type instead.

use crate::bench::{Scratch, run_in};

/// What was typed behind `boardlab`, and what the answer says; the last text is what to type instead.
const MISTAKES: [(&[&str], &[&str]); 104] = [
    // Commands.
    (&["rnu", "nor-write"], &["'rnu'", "did you mean `boardlab run`?"]),
    (&["explan", "x"], &["'explan'", "'explain'"]),
    (&["reprodcue"], &["'reprodcue'", "'reproduce'"]),
    (&["lits"], &["'lits'", "'list'"]),
    (&["nor"], &["'nor'", "boardlab run nor"]),
    (&["nor-write"], &["'nor-write'", "boardlab run nor-write"]),
    (&["kioxia-16gb"], &["is a part", "boardlab run card-fio --set part=kioxia-16gb"]),
    (&["raspberry-pi-4"], &["is a board", "boardlab run card-fio --set board=raspberry-pi-4"]),
    (&["jobs.fio"], &["boardlab run jobs.fio"]),
    (&["my/scenario.toml"], &["boardlab run my/scenario.toml"]),
    (&["dump.bin"], &["boardlab image info dump.bin"]),
    (&["program.elf"], &["boardlab os run program.elf"]),
    (&["result.json"], &["boardlab report result.json"]),
    (&["help", "rnu"], &["'rnu'", "boardlab run"]),
    (&["list", "part"], &["'part'", "'parts'"]),
    (&["list", "key", "nor-write"], &["'key'", "'keys'"]),
    (&["image", "list", "dump.bin"], &["'list'", "Usage: boardlab image"]),
    (&["man", "run"], &["'run'", "boardlab run --help"]),
    // Names.
    (&["run"], &["<SCENARIO>", "boardlab list scenarios"]),
    (&["run", "norwrite"], &["unknown scenario", "did you mean `nor-write`?"]),
    (&["run", "NOR-WRITE"], &["did you mean `nor-write`?"]),
    (&["run", "nor_write"], &["did you mean `nor-write`?"]),
    (&["run", "nor-wrte"], &["did you mean `nor-write`?"]),
    (&["run", "kioxia-16gb"], &["is a part", "boardlab run card-fio --set part=kioxia-16gb"]),
    (&["life", "kioxia-16gb"], &["is a part", "boardlab life sd-life --set part=kioxia-16gb"]),
    (&["list", "keys", "kioxia-16gb"], &["boardlab list keys card-fio --set part=kioxia-16gb"]),
    (
        &["sweep", "s29gl01gs", "--grid", "linux.wait=none,tuned"],
        &["is a part", "boardlab sweep nor-write --set part=s29gl01gs --grid"],
    ),
    (&["run", "powerpc-800"], &["is a board", "boardlab run nor-write --set board=powerpc-800"]),
    (&["run", "nor-write", "sata-ssd"], &["'sata-ssd'", "name one scenario"]),
    (&["run", "missing.fio"], &["cannot read `missing.fio`", "check the path"]),
    (&["run", "my/absent.toml"], &["cannot read `my/absent.toml`", "check the path"]),
    (&["reproduce", "nro"], &["unknown evaluation", "did you mean `nor`?"]),
    (&["reproduce", "nor-wrte"], &["did you mean `nor-write`?"]),
    (&["life", "nor-write"], &["`life` has no meaning for `nor-write`", "boardlab tune nor-write"]),
    (&["tune", "sata"], &["boardlab run sata-ssd", "boardlab list scenarios"]),
    (&["powercut", "card-fio"], &["boardlab run card-fio"]),
    (
        &["run", "nand-filesystems", "--set", "grades.wear.excellent=40 %"],
        &["is less than `good`", "50 % to 100 %"],
    ),
    (
        &[
            "run",
            "nand-filesystems",
            "--set",
            "grades.wear.endurance=0",
            "--set",
            "grades.wear.file=8 KiB",
        ],
        &["has no effect with endurance = 0", "set grades.wear.endurance"],
    ),
    (
        &["run", "nand-wear", "--set", "wear.file=4 MiB"],
        &["is too small or too large a file", "1 KiB to 2 MiB, a sixteenth of wear.chip"],
    ),
    (
        &["run", "nand-wear", "--set", "wear.chip=1 MiB"],
        &["is not whole blocks", "8 MiB to 512 MiB, in blocks of 128 KiB"],
    ),
    (
        &["run", "nand-wear", "--set", "wear.check_levels=[\"60 %\"]"],
        &["has a level that `levels` has not", "add it there"],
    ),
    (
        &["run", "nand-wear", "--set", "part.limits.endurance=5"],
        &["part.limits.endurance", "wear.endurance and wear.check_cycles say"],
    ),
    (
        &["run", "nand-filesystems", "--set", "ubifs.wl_threshold=64"],
        &["erase counters never get so far apart", "boardlab run nand-wear"],
    ),
    (
        &["advise", "nor-write"],
        &["`advise` has no meaning for `nor-write`", "boardlab list scenarios"],
    ),
    (&["advise", "--part", "intel-x25-e-32gb"], &["is of kind sata", "a part of kind nand or nor"]),
    (
        &["advise", "--part", "kioxia-16gb", "--boot", "1 s"],
        &["`product.boot`", "none is compared on a card", "limits on life, room"],
    ),
    (&["advise", "--part", "sst-8mib-top"], &["sectors of several sizes", "a part of its own"]),
    (&["advise", "nor-advise", "--board", "mips-327"], &["no NOR flash", "powerpc-800-linux"]),
    (&["advise", "--life", "5 yeras"], &["`product.life`", "`yeras`", "years"]),
    (&["advise", "--writes", "200 MB"], &["`product.writes`", "expected a rate"]),
    (
        &["advise", "--writes", "1 B / 90000 s", "--set", "product.write=1 MiB"],
        &["`product.writes`", "or not once a year", "200 MB/day"],
    ),
    (
        &["advise", "--level", "99 %"],
        &["is fuller than a filesystem lets a flash be", "at most 93 %"],
    ),
    (&["advise", "--tree", "nowhere"], &["`product.data`", "cannot be read", "nowhere"]),
    (
        &["run", "nand-advise", "--set", "product.file=tree"],
        &[
            "asks for the files of a tree, and the data are `percent:50`",
            "product.data=sample:PATH",
        ],
    ),
    (
        &["advise", "--set", "ubifs.compressor=zlib"],
        &["each kind is a candidate", "product.compressions=false"],
    ),
    (
        &["advise", "--power-cuts", "no", "--set", "product.cut_operations=9"],
        &["has no effect with power_cuts = false", "product.power_cuts=true"],
    ),
    (&["list", "parts", "norr"], &["'norr'", "'nor'"]),
    (&["list", "keys"], &["<SCENARIO>", "boardlab list scenarios"]),
    (&["list", "keys", "nope"], &["unknown scenario", "known: block-steps, card-advise, card-fio"]),
    (&["explain"], &["<WORD>", "such as linux.wait"]),
    (&["explain", "over-provisoning"], &["did you mean `over-provisioning` or"]),
    (&["completions", "bsh"], &["'bsh'", "'bash'"]),
    (&["sata", "console", "kioxia-16gb"], &["is of kind sd", "boardlab list parts sata"]),
    (&["keys", "nor-write"], &["'keys'", "boardlab list keys"]),
    (&["version"], &["'version'", "did you mean the option --version?"]),
    (&["os", "built-in"], &["'built-in'", "boardlab os run built-in"]),
    (&["os", "garb.bin"], &["'garb.bin'", "boardlab os run garb.bin"]),
    (&["os", "run", "built-n"], &["cannot read `built-n`", "did you mean `built-in`?"]),
    (&["list", "scenarios", "nor"], &["'nor'", "boardlab explain nor"]),
    (&["list", "parts", "ssd"], &["'ssd'", "boardlab list parts sata"]),
    (&["list", "parts", "kioxia-16gb"], &["'kioxia-16gb'", "boardlab explain kioxia-16gb"]),
    (&["reproduce", "all"], &["unknown evaluation `all`", "all of them: boardlab reproduce"]),
    (&["reproduce", "sd"], &["unknown evaluation `sd`", "did you mean `sdwear`?"]),
    (
        &["run", "image.bin"],
        &["`image.bin` is a file, not a scenario", "boardlab image info image.bin"],
    ),
    (&["explain", "--seed"], &["a value is required", "boardlab help"]),
    (
        &["reproduce", "--nope"],
        &["'--nope'", "Usage: boardlab reproduce [OPTIONS]", "boardlab help reproduce"],
    ),
    (&["run", "nor-write", "--verbose"], &["'--verbose'", "all options: boardlab help run"]),
    (&["run", "nor-write", "--set"], &["--set KEY=VALUE", "boardlab list keys nor-write"]),
    (
        &["run", "drive-fio", "--set", "part.link.speed=12 Gb/s"],
        &["known: 1.5 Gb/s, 3 Gb/s, 6 Gb/s", "help: known"],
    ),
    // Options.
    (&["run", "nor-write", "seed=2"], &["'seed=2'", "--seed 2"]),
    (&["run", "nor-write", "--set", "seed=2"], &["unknown key `seed`", "--seed N"]),
    (&["run", "nor-write", "--seed", "two"], &["'two'", "a whole number"]),
    (&["run", "nor-write", "--sed", "2"], &["'--sed'", "--se"]),
    (&["-seed", "2", "run", "nor-write"], &["'-s'", "two dashes"]),
    (&["run", "nor-write", "--full"], &["'--full'", "boardlab reproduce", "leave it out here"]),
    (
        &["reproduce", "nor", "--set", "linux.wait=tuned"],
        &["boardlab run nor-write --set linux.wait=tuned"],
    ),
    (&["run", "nor-write", "--format", "yaml"], &["'yaml'", "table, json, csv"]),
    (&["run", "nor-write", "--json", "--format", "csv"], &["--json", "cannot be used with"]),
    (&["run", "nor-write", "--format", "fio"], &["has no output of fio", "boardlab run card-fio"]),
    (&["sweep", "nor-write"], &["--grid", "such as --grid linux.wait=170us,194us"]),
    // Keys and values.
    (&["run", "nor-write", "linux.wait=tuned"], &["--set linux.wait=tuned"]),
    (&["run", "nor-write", "--linux.wait", "tuned"], &["--set linux.wait=VALUE"]),
    (&["run", "nor-write", "--set", "linux.wait"], &["has no `=`", "--set SECTION.KEY=VALUE"]),
    (&["run", "nor-write", "--set", "linux.wiat=tuned"], &["did you mean `wait`?"]),
    (&["run", "nor-write", "--set", "wait=tuned"], &["did you mean `uboot.wait`?"]),
    (
        &["run", "nor-write", "--set", "linux.wait=256"],
        &["has no unit", "write it like \"170 us\""],
    ),
    (&["run", "nor-write", "--set", "workload.bytes=1 GiB"], &["up to 128 MiB", "write less"]),
    (&["run", "nor-write", "--set", "board.bus.chips=17"], &["use a value from 1 to 16"]),
    (
        &["run", "nor-write", "--set", "part=kioxia-16gb"],
        &["`kioxia-16gb` is of kind sd", "use one of am29lv-no-cfi, m29ew"],
    ),
    (
        &["run", "nor-write", "--set", "part=sst-8mib-top"],
        &["do not fit", "--set workload.bytes=\"8 MiB\""],
    ),
    (
        &["run", "drive-fio", "--set", "part=kioxia-16gb"],
        &["describes no slot for a card", "--set board=raspberry-pi-4"],
    ),
    (
        &["run", "card-fio", "--set", "part.mapping.kind=log-blocks"],
        &["missing key `open_units`", "add --set part.mapping.open_units=16"],
    ),
    (&["run", "nor-write", "--set", "linux=tuned"], &["is a string", "--set linux.KEY=VALUE"]),
    (&["run", "nor-write", "--set", "part=s29gl01"], &["unknown part", "did you mean `s29gl01g"]),
];

#[test]
fn each_slip_of_a_new_user_is_answered_in_one_message() {
    let scratch = Scratch::new();
    scratch.write("image.bin", "no TOML");
    let mut wrong = Vec::new();
    for (arguments, says) in MISTAKES {
        let outcome = run_in(scratch.path(), arguments);
        let answer = &outcome.stderr;
        let missing: Vec<_> = says.iter().filter(|text| !answer.contains(**text)).collect();
        let one = answer.matches("error:").count() == 1 && outcome.stdout.is_empty();
        if !missing.is_empty() || !one || outcome.status != 2 || answer.lines().count() > 12 {
            wrong.push(format!("boardlab {}: lacks {missing:?}\n{answer}", arguments.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

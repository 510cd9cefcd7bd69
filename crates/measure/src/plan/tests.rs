//! Plans: their text, their flaws, their limits.

use super::*;

fn example() -> Plan {
    Plan::new("nor-write")
        .remark("the published file, 4 MiB – in portions of 64 KiB")
        .endurance("/dev/mtd0", 100_000)
        .step(Step::new("erase", "mtd.erase").device("/dev/mtd0").key("length", 4_194_304))
        .step(
            Step::new("write", "mtd.program")
                .remark("as mtd_debug does")
                .device("/dev/mtd0")
                .key("size", 65_536)
                .key("data", "zero")
                .key("each", true)
                .predict("mean_ns", 254_264),
        )
        .step(Step::new("list", "fs.list").path("/mnt/my card"))
}

#[test]
fn the_text_of_a_plan_is_that_of_its_format() {
    let text = "\
boardlab-plan 1
# the published file, 4 MiB - in portions of 64 KiB
scenario nor-write
endurance /dev/mtd0 100000
step erase mtd.erase device=/dev/mtd0 length=4194304
# as mtd_debug does
step write mtd.program device=/dev/mtd0 size=65536 data=zero each=1 predict.mean_ns=254264
step list fs.list path=/mnt/my%20card
";
    assert_eq!(example().to_string(), text);
    assert_eq!(Plan::parse(text), Ok(example()));
    assert_eq!(Step::parse(text.lines().nth(4).unwrap()).unwrap(), example().steps[0]);
}

#[test]
fn the_example_of_the_page_is_a_plan() {
    let page = include_str!("../../../../docs/formats/measurement-plan.md");
    let example = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let plan = Plan::parse(example).unwrap();
    assert_eq!((plan.scenario(), plan.steps().len()), ("nor-write", 2));
    assert_eq!(plan.steps()[1].predictions(), [("mean_ns".into(), 254_264)]);
    assert_eq!(plan.written(), ["/dev/mtd0"]);
}

#[test]
fn keys_that_are_left_out_have_their_fallback() {
    let plan = example();
    let [_, write, list] = plan.steps() else { panic!("three steps") };
    assert_eq!((write.number("seed"), write.number("size")), (Some(1), Some(65_536)));
    assert_eq!((write.text("order"), write.text("size")), (Some("sequential"), None));
    assert_eq!((list.number("offset"), list.target()), (None, Some("/mnt/my card")));
}

#[test]
fn a_mount_writes_unless_it_is_read_only() {
    let mount = |options: &str| {
        let step = Step::new("m", "fs.mount").device("/dev/sda1").path("/mnt").key("type", "ext4");
        if options.is_empty() { step } else { step.key("options", options) }
    };
    let writes = ["", "ro", "noatime,ro", "ro,noatime", "rw", "errors=ro", "roo"];
    let writes = writes.map(|options| mount(options).writes());
    assert_eq!(writes, [false, false, false, false, true, true, true]);
}

#[test]
fn remarks_are_wrapped_and_plain() {
    let text = Plan::new("x").remark(&"ein µ 書 ".repeat(40)).to_string();
    let remarks: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert!(remarks.len() > 2 && remarks.iter().all(|line| line.len() <= REMARK_WIDTH), "{text}");
    assert!(remarks[0].starts_with("ein u ? ein u ?"), "{text}");
}

/// A text with one flaw, and where it is and what is due.
const FLAWS: [(&str, usize, usize, &str, &str); 24] = [
    ("", 1, 1, "the end of the file", "a newline: the plan may be cut off"),
    ("\n", 1, 1, "the end of the line", "boardlab-plan 1"),
    ("# remark\n", 1, 1, "`#`", "boardlab-plan 1"),
    ("boardlab-plan 2\n", 1, 15, "`2`", "version 1"),
    ("boardlab-plan 1 x\n", 1, 17, "`x`", "the end of the line"),
    ("boardlab-plan 1\n", 1, 1, "no step", "at least one"),
    ("P\nstep a cpu.copy", 2, 16, "the end of the file", "a newline: the plan may be cut off"),
    ("P\n\tstep\n", 2, 1, "a byte that is not printable", "ASCII characters"),
    ("P\n# é\n", 2, 3, "a byte that is not printable", "ASCII characters"),
    ("P\nsteps\n", 2, 1, "`steps`", "step, scenario or endurance"),
    ("P\nscenario a\nscenario b\n", 3, 1, "a second scenario", "one"),
    ("P\nendurance dev 3\n", 2, 11, "`dev`", "an absolute path"),
    ("P\nendurance /d 0\n", 2, 14, "`0`", "a number of cycles"),
    ("P\nendurance /d 1\nendurance /d 1\n", 3, 11, "`/d`", "every target once"),
    ("P\nstep a! cpu.copy\n", 2, 6, "`a!`", "a name of 1 to 64 letters, digits, . _ -"),
    ("P\nstep a cpu.copy\nstep a cpu.copy\n", 3, 6, "`a`", "a name of its own"),
    ("P\nstep a cpu.cpy\n", 2, 8, "`cpu.cpy`", "an operation"),
    ("P\nstep a cpu.copy 7\n", 2, 17, "`7`", "KEY=VALUE"),
    ("P\nstep a cpu.copy  x=7\n", 2, 18, "`x`", "a key of the operation: size count limit_ms each"),
    ("P\nstep a fs.drop_caches x=7\n", 2, 23, "`x`", "the end of the line"),
    ("P\nstep a cpu.copy size=%2\n", 2, 22, "`%2`", "% with two digits 0-9A-F"),
    ("P\nstep a cpu.copy size=0\n", 2, 22, "`0`", "a number from 1 to 1073741824"),
    ("P\nstep a mtd.read  \n", 2, 18, "the end of the step", "device=..."),
    ("P\nstep a cpu.copy size=1 size=1\n", 2, 24, "`size`", "every key once"),
];

#[test]
fn every_flaw_says_where_it_is_and_what_is_due() {
    for (text, line, column, found, expected) in FLAWS {
        let text = text.replacen("P\n", "boardlab-plan 1\n", 1);
        let flaw = Plan::parse(&text).unwrap_err();
        let wanted = Flaw { line, column, found: found.into(), expected: expected.into() };
        assert_eq!(flaw, wanted, "{text:?}");
    }
}

#[test]
fn limits_hold() {
    let plan = |steps: usize| {
        let steps = (0..steps).map(|n| Step::new(format!("s{n}"), "cpu.timer"));
        steps.fold(Plan::new(""), Plan::step)
    };
    assert_eq!(plan(STEPS_MAX).check(), Ok(()));
    assert_eq!(plan(STEPS_MAX + 1).check().unwrap_err().line, STEPS_MAX + 2);
    let long =
        |length: usize| format!("boardlab-plan 1\n#{}\nstep a cpu.copy\n", "x".repeat(length - 1));
    assert!(Plan::parse(&long(LINE_MAX)).is_ok());
    assert_eq!(Plan::parse(&long(LINE_MAX + 1)).unwrap_err().column, LINE_MAX + 1);
    let name = "n".repeat(NAME_MAX);
    assert_eq!(Plan::new("").step(Step::new(name.clone(), "cpu.copy")).check(), Ok(()));
    assert!(Plan::new("").step(Step::new(name + "n", "cpu.copy")).check().is_err());
    assert!(Plan::parse("boardlab-plan 1\nstep a cpu.copy count=9223372036854775808\n").is_err());
    assert!(Plan::parse("boardlab-plan 1\nstep a cpu.copy count=9223372036854775807\n").is_ok());
}

#[test]
#[should_panic(expected = "mtd.read has no `sice`")]
fn a_key_that_does_not_exist_is_a_defect() {
    let _ = Step::new("a", "mtd.read").key("sice", 1);
}

#[test]
fn every_operation_has_each_key_once_and_fallbacks_that_are_values() {
    for operation in operations::OPERATIONS {
        let mut names: Vec<_> = operation.keys().map(|key| key.name).collect();
        let text = |name: &str, value: &str| format!(" {name}={value}");
        let mut line = format!("step a {}", operation.name);
        for key in operation.keys() {
            line += &match (key.fallback, key.kind) {
                (Some(fallback), _) => text(key.name, fallback),
                (None, operations::Kind::Word(words)) => text(key.name, words[0]),
                (None, _) => text(key.name, "/x"),
            };
        }
        assert!(Step::parse(&line).is_ok(), "{line}: {:?}", Step::parse(&line));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{}", operation.name);
    }
}

#[test]
fn the_page_names_every_operation_and_no_other() {
    let page = include_str!("../../../../docs/formats/measurement-plan.md");
    let table = page.split("## Operations").nth(1).unwrap().split("Steps on files").next().unwrap();
    let first = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let cells: Vec<_> = first.collect();
    for operation in operations::OPERATIONS {
        let name = format!("`{}`", operation.name);
        let rows: Vec<_> = cells
            .iter()
            .map(|cell| format!("`{cell}"))
            .filter(|cell| cell.contains(&name))
            .collect();
        assert_eq!(rows.len(), 1, "{name}");
        let marked = rows[0].split(&name).nth(1).unwrap().split(',').next().unwrap().contains('W');
        let exempt = rows[0].split("W but").nth(1);
        let writes = marked || exempt.is_some_and(|exempt| !exempt.contains(&name));
        assert!(writes == operation.writes || operation.name == operations::MOUNT, "{name}");
    }
    let named = cells.iter().flat_map(|cell| cell.split('`')).filter(|word| word.contains('.'));
    for name in named {
        assert!(operations::named(name).is_some(), "{name}");
    }
}

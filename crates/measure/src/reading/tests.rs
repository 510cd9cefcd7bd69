//! Measurements: whole ones, and what damage, loss and breaking off leave of them.

use super::*;
use boardlab_codec::crc::crc32;

/// A line as the agent writes it, from its JSON without the closing brace.
pub(crate) fn line(json: &str) -> String {
    format!("{json},\"crc\":\"{:08x}\"}}\n", !crc32(u32::MAX, json.as_bytes()))
}

const HEAD: &str = r#"{"boardlab_measurement":1,"agent":"0.1.0","plan":{"scenario":"nor-write","steps":2,"crc32":"00112233"},"board":{"kernel":"6.1","model":"\u00e6\u009b\u00b8","cpus":2},"clock":{"source":"tsc","read_ns":20},"wear":[{"target":"/dev/mtd0","cycles":1,"endurance":100000}]"#;
const BEGIN: &str =
    r#"{"begin":"erase","line":"step erase mtd.erase device=/dev/mtd0 predict.mean_ns=500""#;
const STEP: &str = r#"{"step":"erase","state":"done","operations":3,"bytes":393216,"elapsed_ns":2000,"sum_ns":1501,"min_ns":400,"max_ns":601,"histogram":[[400,1],[500,1],[600,1]],"each_ns":[400,500,601],"values":{"bad_blocks":0},"cpu_khz":1000000"#;
const BEGIN2: &str = r#"{"begin":"write","line":"step write mtd.program device=/dev/mtd0""#;
const STEP2: &str = r#"{"step":"write","state":"stopped","operations":0,"bytes":0,"elapsed_ns":7"#;
const END: &str =
    r#"{"end":"complete","steps":2,"done":2,"restored":[{"what":"the cache of /dev/sda"}]"#;
pub(crate) const WHOLE: [&str; 6] = [HEAD, BEGIN, STEP, BEGIN2, STEP2, END];

pub(crate) fn text(lines: &[&str]) -> String {
    lines.iter().map(|json| line(json)).collect()
}

pub(crate) fn one(text: &str) -> Reading {
    let mut readings = read(text.as_bytes()).unwrap();
    assert_eq!(readings.len(), 1, "{readings:?}");
    readings.remove(0)
}

#[test]
fn a_whole_measurement_has_all_its_figures() {
    let reading = one(&text(&WHOLE));
    assert!(reading.is_whole());
    let head = reading.head.unwrap();
    assert_eq!((head.scenario.as_str(), head.steps), ("nor-write", 2));
    // Bytes of UTF-8 that the agent escaped one by one.
    assert_eq!(head.board["model"], Told::Text("書".into()));
    assert_eq!(
        (&head.board["cpus"], &head.clock["read_ns"]),
        (&Told::Number(2), &Told::Number(20))
    );
    assert_eq!(head.wear[0].endurance, Some(100_000));
    let [erase, write] = &reading.steps[..] else { panic!("two steps") };
    assert_eq!((erase.mean_ns(), erase.bytes_per_s()), (Some(500), Some(196_608_000_000)));
    assert_eq!(erase.operations_per_s(), Some(1.5e6));
    assert_eq!(erase.latencies.as_ref().unwrap().quantile_ns(500), 501);
    assert_eq!(erase.each.as_ref().unwrap().extremes, [(400, 400), (500, 500), (601, 601)]);
    assert_eq!(erase.planned.as_ref().unwrap().predictions(), [("mean_ns".into(), 500)]);
    assert_eq!(
        (erase.values["bad_blocks"].clone(), erase.cpu_khz),
        (Told::Number(0), Some(1_000_000))
    );
    assert_eq!(
        (write.state.clone(), write.mean_ns(), write.bytes_per_s()),
        (State::Stopped, None, None)
    );
}

#[test]
fn a_measurement_that_broke_off_says_where() {
    let lines = WHOLE.len();
    for kept in 1..lines {
        let reading = one(&text(&WHOLE[..kept]));
        assert!(!reading.is_whole() && reading.end.is_none(), "{kept}");
        let step = [None, Some("erase"), None, Some("write"), None][kept - 1];
        assert_eq!(reading.unfinished.as_deref(), step, "{kept}");
        assert_eq!(reading.steps.len(), (kept - 1) / 2, "{kept}");
    }
}

#[test]
fn no_byte_that_is_changed_or_missing_goes_unnoticed() {
    let whole = text(&WHOLE);
    for at in 0..whole.len() {
        for byte in [b'0', b'"', b'\n', b' ', 0, 0xff] {
            let mut damaged = whole.clone().into_bytes();
            if std::mem::replace(&mut damaged[at], byte) == byte || at == whole.len() - 1 {
                continue;
            }
            let readings = read(&damaged[..]).unwrap();
            // A space at the end of a line changes nothing that it says.
            let same = readings.len() == 1 && readings[0] == one(&whole);
            assert!(
                readings.iter().any(|one| !one.is_whole()) || same && byte == b' ',
                "{at}: {byte}"
            );
        }
        let readings = read(&whole.as_bytes()[..at]).unwrap();
        assert!(at >= whole.len() - 1 || readings.iter().all(|one| !one.is_whole()), "cut at {at}");
    }
}

#[test]
fn damage_is_told_with_its_line_and_its_kind() {
    let whole = text(&WHOLE);
    let flaw = |text: &str| one(text).damage.remove(0);
    let cut = whole.replacen("\"}\n", "\n", 1);
    assert_eq!(flaw(&cut), Damage { line: 1, flaw: Flaw::CutOff });
    let changed = flaw(&whole.replace("\"operations\":3", "\"operations\":4"));
    assert!(matches!(changed, Damage { line: 3, flaw: Flaw::Checksum { .. } }), "{changed:?}");
    let newer = flaw(&whole.replace(&line(HEAD), &line(&HEAD.replace(":1,\"agent", ":2,\"agent"))));
    assert_eq!(newer.flaw, Flaw::Version(2));
    for (from, to) in [
        ("[500,1]", "[500,2]"),
        ("[500,1]", "[501,1]"),
        ("\"sum_ns\":1501,", ""),
        ("\"operations\":3", "\"operations\":-3"),
        ("\"state\":\"done\"", "\"state\":\"gone\""),
        ("\"state\":\"done\"", "\"state\":\"failed\""),
        ("\"step\":\"erase\"", "\"step\":\"a b\""),
        ("bad_blocks", "bad\\u001bblocks"),
        ("[400,500,601]", "[]"),
    ] {
        let wrong = text(&[HEAD, BEGIN, &STEP.replacen(from, to, 1)]);
        assert!(matches!(flaw(&wrong).flaw, Flaw::Content(_)), "{to}");
    }
}

#[test]
fn foreign_lines_are_counted_and_prompts_and_carriage_returns_are_nothing() {
    let noise = "[   12.5] usb 1-1: new device\n";
    let whole = text(&WHOLE).replace('\n', "\r\n");
    let reading = one(&format!("{noise}# {whole}{noise}\n\n# "));
    assert!(reading.is_whole(), "{reading:?}");
    assert_eq!((reading.foreign, reading.damage.len()), (3, 0));
}

#[test]
fn the_log_of_several_measurements_is_several_measurements() {
    let two = format!("{}{}", text(&WHOLE[..4]), text(&WHOLE));
    let readings = read(two.as_bytes()).unwrap();
    assert_eq!(readings.len(), 2);
    assert_eq!(readings[0].unfinished.as_deref(), Some("write"));
    assert!(!readings[0].is_whole() && readings[1].is_whole());
    assert_eq!(read(&b"hello\n\n"[..]).unwrap(), []);
}

#[test]
fn lost_lines_leave_the_others() {
    let without = |at: usize| {
        let lines = WHOLE.iter().enumerate().filter(|(index, _)| *index != at);
        text(&lines.map(|(_, line)| *line).collect::<Vec<_>>())
    };
    let headless = one(&without(0));
    assert!(headless.head.is_none() && headless.steps.len() == 2 && !headless.is_whole());
    let begun = one(&without(1));
    assert!(begun.steps[0].planned.is_none() && begun.steps.len() == 2);
    assert!(begun.strays == 1 && !begun.is_whole());
    let ended = one(&without(2));
    assert_eq!((ended.lost.as_slice(), ended.is_whole()), (&["erase".to_owned()][..], false));
}

#[test]
fn a_doubled_step_is_damage() {
    let reading = one(&text(&[HEAD, BEGIN, STEP, STEP, BEGIN2, STEP2, END]));
    assert_eq!((reading.steps.len(), reading.damage[0].line), (2, 4));
    assert!(!reading.is_whole());
}

#[test]
fn a_refusal_is_read_with_its_step() {
    let refused = r#"{"refused":"/dev/sda is mounted","step":"write""#;
    let reading = one(&text(&[HEAD, refused]));
    let refusal = Refusal { why: "/dev/sda is mounted".into(), step: Some("write".into()) };
    assert_eq!((reading.refusal, reading.end), (Some(refusal), None));
}

#[test]
fn events_tell_what_a_line_is() {
    let lines = WHOLE.map(|json| Event::of(line(json).trim_end().as_bytes()));
    let [erase, write] = ["erase", "write"].map(String::from);
    let expected = [
        Event::Head(2),
        Event::Begin(erase.clone()),
        Event::Step(erase),
        Event::Begin(write.clone()),
        Event::Step(write),
        Event::End,
    ];
    assert_eq!(lines, expected);
    assert_eq!(Event::of(b"# {\"end\":\"com"), Event::Damaged);
    assert_eq!(Event::of(b"{\"ended\":1}"), Event::Foreign);
    assert_eq!(Event::of(line("{\"refused\":\"no\"").as_bytes()), Event::Refused);
}

#[test]
fn anything_at_all_is_read_without_a_panic() {
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap()
    };
    let pieces = [
        "{\"step\":\"a\"",
        ",\"operations\":",
        "18446744073709551615",
        "0",
        "[[",
        "]]",
        "]",
        ",\"histogram\":",
        ",\"state\":\"done\"",
        ",\"bytes\":1",
        ",\"elapsed_ns\":0",
        ",\"sum_ns\":9",
        ",\"min_ns\":5",
        ",\"max_ns\":1",
        "{\"end\":\"complete\"",
        "{\"begin\":\"a\"",
        "{\"boardlab_measurement\":1",
        "[1,2]",
        ",\"values\":{",
        "}",
        "\"x\":",
    ];
    for _ in 0..20_000 {
        let count = next() % 12;
        let json: String = (0..count).map(|_| pieces[next() % pieces.len()]).collect();
        for reading in read(line(&json).as_bytes()).unwrap() {
            for step in &reading.steps {
                let _ = (step.mean_ns(), step.bytes_per_s(), step.operations_per_s());
                let _ = step.latencies.as_ref().map(|latencies| latencies.quantile_ns(999));
            }
        }
    }
    let deep = "[".repeat(100_000);
    assert!(!one(&line(&format!("{{\"step\":\"a\",\"values\":{{\"x\":{deep}"))).damage.is_empty());
}

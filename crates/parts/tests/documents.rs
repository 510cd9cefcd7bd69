//! Scenarios put together from files and `--set`, and files that cannot be read.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use boardlab_document::error::Error;
use boardlab_document::source::{Kind, SIZE_LIMIT, Source};
use boardlab_document::{Document, Override, Read, Section, SourcedValue};
use boardlab_parts::catalog::{self, compose, compose_source, find};
use boardlab_result::Origin;
use boardlab_sim::{Bytes, Duration};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// What the scenario in `tests/data` says.
#[derive(Debug)]
struct Whole {
    typical: SourcedValue<Duration>,
    write_cycle: SourcedValue<Duration>,
    bytes: Bytes,
    file: Option<String>,
}

/// Reads the section `outer`, which has a title and one section `inner` with one sourced value.
fn single(outer: Section<'_>, inner: &str, key: &str) -> Read<SourcedValue<Duration>> {
    let title = outer.required::<String>("title");
    let value = outer.section(inner, |section| {
        let value = section.key(key).positive().sourced();
        section.finish()?;
        value
    });
    outer.finish()?;
    title?;
    value
}

fn whole(top: Section<'_>) -> Read<Whole> {
    let title = top.required::<String>("title");
    let typical = top.section("part", |part| single(part, "program", "typical"));
    let write_cycle = top.section("board", |board| single(board, "bus", "write_cycle"));
    let workload = top.section("workload", |workload| {
        let bytes = workload.key("bytes").positive().required();
        let file = workload.optional("file");
        workload.finish()?;
        Ok((bytes?, file?))
    });
    top.finish()?;
    title?;
    let (bytes, file) = workload?;
    Ok(Whole { typical: typical?, write_cycle: write_cycle?, bytes, file })
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    path.display().to_string()
}

fn read(set: &[&str]) -> Result<(Whole, bool), Error> {
    let document = compose(&data("scenario.toml"), set)?;
    let overridden = document.is_overridden();
    Ok((document.read(whole)?.value, overridden))
}

#[test]
fn a_scenario_stands_with_its_part_and_board() {
    let (whole, overridden) = read(&[]).unwrap();
    assert!(!overridden);
    assert_eq!(whole.typical.parameter.key, "part.program.typical");
    assert_eq!(whole.typical.parameter.origin, Origin::Datasheet);
    assert_eq!(whole.typical.parameter.source, "DS, table 7");
    assert_eq!(whole.write_cycle.parameter.origin, Origin::Published);
    assert_eq!((whole.bytes, whole.file), (Bytes::mib(1), None));
}

#[test]
fn what_the_user_sets_is_assumed() {
    let (whole, overridden) = read(&["board.bus.write_cycle=100 ns"]).unwrap();
    assert!(overridden);
    assert_eq!(whole.write_cycle.value, Duration::from_nanos(100));
    assert_eq!(whole.write_cycle.parameter.value, "100 ns");
    assert_eq!(whole.write_cycle.parameter.origin, Origin::Assumed);
    assert_eq!(whole.write_cycle.parameter.source, "--set");
    let (whole, _) = read(&["board.bus.write_cycle.value=100 ns"]).unwrap();
    assert_eq!(whole.write_cycle.parameter.origin, Origin::Assumed);
}

#[test]
fn the_user_may_give_an_origin() {
    let set = r#"part.program.typical={ value = "1 us", origin = "measured", source = "bench" }"#;
    let (whole, _) = read(&[set]).unwrap();
    assert_eq!(whole.typical.parameter.origin, Origin::Measured);
    assert_eq!(whole.typical.parameter.source, "bench");
}

#[test]
fn values_are_toml_or_bare_text() {
    let bytes = |set: &str| read(&[set]).unwrap().0.bytes;
    assert_eq!(bytes("workload.bytes=1MiB"), Bytes::mib(1));
    assert_eq!(bytes("workload.bytes = 2 MiB "), Bytes::mib(2));
    assert_eq!(bytes("workload.bytes=\"3 MiB\""), Bytes::mib(3));
    assert_eq!(bytes("workload.bytes='4 MiB'"), Bytes::mib(4));
    let file = |set: &str| read(&[set]).unwrap().0.file.unwrap();
    assert_eq!(file("workload.file=a=b.bin"), "a=b.bin");
    assert_eq!(file("workload.file=2013"), "2013");
    assert_eq!(file("workload.file=2013-04-01"), "2013-04-01");
    assert_eq!(file("workload.file=/dev/mtd0"), "/dev/mtd0");
}

#[test]
fn the_last_of_two_overrides_wins() {
    let (whole, _) = read(&["workload.bytes=1KiB", "workload.bytes=2KiB"]).unwrap();
    assert_eq!(whole.bytes, Bytes::kib(2));
}

#[test]
fn a_value_that_was_set_is_a_parameter() {
    let document = compose(&data("scenario.toml"), &["workload.bytes=2KiB"]).unwrap();
    let parameters = document.read(whole).unwrap().parameters;
    let bytes = parameters.iter().find(|parameter| parameter.key == "workload.bytes").unwrap();
    assert_eq!((bytes.value.as_str(), bytes.source.as_str()), ("2KiB", "--set"));
}

#[test]
fn part_and_board_can_be_set_to_another_file() {
    let other = format!("part={}", data("parts/part.toml"));
    let (_, overridden) = read(&[&other]).unwrap();
    assert!(overridden);
    let error = read(&["part=no-such-part"]).unwrap_err().to_string();
    assert!(error.contains("unknown part `no-such-part`"), "{error}");
    assert!(error.contains("--> --set:1:6"), "{error}");
    let error = read(&["board=no/such.toml"]).unwrap_err().to_string();
    assert!(error.contains("cannot read `no/such.toml`: there is no such file"), "{error}");
    assert!(error.contains("--> --set:1:7"), "{error}");
}

#[test]
fn an_error_in_a_part_points_into_the_part() {
    let error = read(&["part.program.typical=0 us"]).unwrap_err().to_string();
    assert!(error.contains("`part.program.typical`: `0 us` is zero"), "{error}");
    let document = compose(&data("scenario.toml"), &[] as &[&str]).unwrap();
    let error = document.read(|top| {
        let part = top.section("part", |part| part.finish());
        top.leave_rest();
        part
    });
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("unknown key `title` in `part`"), "{error}");
    assert!(error.contains("parts/part.toml:1:1"), "{error}");
}

#[test]
fn a_scenario_that_names_no_file_says_so() {
    let composed = |text: &str| {
        let source = Source::new(Kind::Scenario, "x.toml", text);
        compose_source(&source, &[] as &[&str]).and_then(|document| document.read(whole))
    };
    let right = "title = \"x\"\nboard = { title = \"b\", bus = { write_cycle = \"1 us\" } }\n\
                 workload = { bytes = \"1 B\" }\n";
    let error = composed(right).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("missing key `part`"), "{error}");
    assert!(error.contains("add a line like part = \"NAME\""), "{error}");
    let error = composed(&format!("part = 5\n{right}")).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("name a file: part = \"NAME\""), "{error}");
    let error = composed(&format!("part = \"nro\"\n{right}")).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("unknown part `nro`"), "{error}");
    assert!(error.contains("--> x.toml:1:8"), "{error}");
}

/// A folder of this test alone, emptied before and after.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let folder = Folder::new("unreadable");
    let limit = usize::try_from(SIZE_LIMIT).unwrap();
    let cases = [
        (folder.0.join("none.toml").display().to_string(), "there is no such file"),
        (folder.file("file", b"") + "/x.toml", "there is no such file"),
        (folder.0.display().to_string() + "/", "it is a directory"),
        (folder.file("latin.toml", b"title = \"\xb5s\"\n"), "byte 9 is not UTF-8 text"),
        (folder.file("large.toml", &vec![b'#'; limit + 1]), "it is larger than 1048576 bytes"),
    ];
    for (path, problem) in &cases {
        let error = find(Kind::Scenario, path, None).unwrap_err().to_string();
        assert!(error.contains(&format!("`: {problem}")), "{error}");
        assert!(error.contains(&format!("--> {path}")), "{error}");
        assert!(error.lines().last().unwrap().contains("= help: "), "{error}");
    }
    let fits = folder.file("fits.toml", &vec![b'#'; limit]);
    assert!(find(Kind::Scenario, &fits, None).is_ok());
}

#[cfg(unix)]
#[test]
fn a_device_or_an_unreadable_file_is_refused() {
    let error = find(Kind::Scenario, "/dev/zero", None).unwrap_err().to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
    // A regular file that nobody can read from its beginning, root included.
    let error = find(Kind::Scenario, "/proc/self/mem", None).unwrap_err().to_string();
    assert!(error.contains("input/output error"), "{error}");
    assert!(error.lines().last().unwrap().contains("= help: "), "{error}");
}

/// The keys of a document and their values; of an override in a list `set`, the key that it sets.
fn values(document: &Document) -> Vec<(String, String)> {
    let each = document.values().into_iter().map(|(key, value)| {
        let set = Override::parse(&value).map(|one| one.path()).unwrap_or_default();
        (key.clone(), if key.contains(".set.") { set } else { value })
    });
    each.collect()
}

#[test]
fn a_built_in_file_with_the_old_names_reads_as_it_is() {
    const OLD: [(&str, &str); 12] = [
        ("\nover_provisioning = {", "\nspare = {"),
        ("\nover_provisioning = [", "\nspares = ["),
        ("\nover_provisioning = \"", "\nspare = \""),
        (
            "\nendurance = { value = 3000, origin = \"published\"",
            "\nlimit = { value = 3000, origin = \"published\"",
        ),
        ("\nslc_cache_blocks =", "\ncache_blocks ="),
        ("slc_cache", "single_bit_cache"),
        ("slc_wear", "single_bit_wear"),
        ("[flash.slc]", "[flash.single_bit]"),
        ("mapping.cells=slc", "mapping.cells=single-bit"),
        ("\npe_cycles = { value = [1", "\ncycles = { value = [1"),
        ("\npe_cycles = { value = [2", "\ncycles = { value = [2"),
        ("\npe_cycles =", "\nerases ="),
    ];
    let mut warnings = 0;
    for kind in [Kind::Part, Kind::Scenario] {
        for file in catalog::all(kind) {
            let old =
                OLD.iter().fold(file.text.to_owned(), |text, (new, old)| text.replace(new, old));
            let parsed = |text: &str| Document::parse(&Source::new(kind, file.name, text)).unwrap();
            let (new, old) = (parsed(file.text), parsed(&old));
            assert_eq!(values(&old), values(&new), "{}", file.name);
            assert!(new.renamed().is_empty(), "{} has an old name", file.name);
            warnings += old.renamed().len();
        }
    }
    assert!(warnings > 40, "{warnings}");
}

#[test]
fn a_problem_in_a_section_that_is_read_twice_is_shown_once() {
    let text = "[a]\nx = 5\n";
    let document = Document::parse(&Source::new(Kind::Scenario, "x.toml", text)).unwrap();
    let error = document.read(|top| {
        let read = |section: Section<'_>| section.required::<Duration>("x");
        let both = (top.section("a", read), top.section("a", read));
        top.finish()?;
        Ok((both.0?, both.1?))
    });
    assert_eq!(error.map(|_| ()).unwrap_err().all().len(), 1);
}

/// A reader that asks for something of every kind.
fn anything(top: Section<'_>) -> Read<()> {
    let _ = top.required::<Duration>("a");
    let _ = top.sourced::<boardlab_sim::QuantileTable>("b");
    let _ = top.optional::<Vec<u64>>("c");
    let _ = top.one_of("d", &[("x", 1), ("y", 2)]);
    let _ = top.section("e", |section| section.finish());
    let _ = top.sections("f", |section| section.finish());
    top.finish()
}

/// Reads `mode` and, for `mode = 2` alone, what is below `other`.
fn by_mode(top: boardlab_document::Section<'_>) -> boardlab_document::Read<u64> {
    let mode = top.required::<u64>("mode")?;
    let other = top.optional_section("other", |section| {
        let all = [section.optional::<u64>("a"), section.optional::<u64>("b")];
        section.finish()?;
        all.into_iter().collect::<Result<Vec<_>, _>>()
    });
    top.finish()?;
    other?;
    if mode != 2 {
        top.idle("other", "with mode = 1", "set mode=2 as well")?;
    }
    Ok(mode)
}

#[test]
fn a_key_without_effect_is_refused_in_set_and_waits_in_a_file_or_a_grid() {
    let text = "mode = 1\n[other]\na = 1\n";
    let source = Source::new(Kind::Scenario, "x.toml", text);
    let read = |set: &[&str]| {
        let mut document = Document::parse(&source).unwrap();
        let set: Vec<_> = set.iter().map(|one| Override::parse(one).unwrap()).collect();
        document.set(&set).unwrap();
        document.read(by_mode)
    };
    assert!(read(&[]).is_ok(), "what stands in the file waits");
    assert!(read(&["mode=2", "other.b=3"]).is_ok());
    let error = read(&["other.a=2", "other={ b = 4 }"]).unwrap_err().to_string();
    assert!(error.contains("`other.b`: `4` has no effect with mode = 1"), "{error}");
    assert!(error.contains("set mode=2 as well") && error.contains("--set:1:"), "{error}");
    let wrong = read(&["other.a=x"]).unwrap_err().to_string();
    assert!(wrong.contains("is a string"), "{wrong}");
}

proptest! {
    #[test]
    fn no_text_panics_reader_or_renderer(text in "(?s).{0,300}") {
        if let Err(error) = Document::parse(&Source::new(Kind::Part, "x.toml", text.as_str())) {
            prop_assert!(error.to_string().starts_with("error: "));
        }
    }

    #[test]
    fn no_document_panics_reader_or_renderer(
        lines in prop::collection::vec(
            "(\\[\\[?[a-f](\\.[a-f])?\\]\\]?|[a-f] = (\"[^\"\\\\]{0,12}\"|-?[0-9]{1,40}|true|\
             \\[[0-9, ]{0,5}\\]|\\{ (value|origin|x) = \"[0-9a-z ]{0,9}\" \\}))",
            0..8,
        ),
        set in prop::collection::vec("[a-f](\\.[a-f0-9]){0,3}=.{0,12}", 0..4),
    ) {
        let source = Source::new(Kind::Part, "x.toml", lines.join("\n"));
        let set: Result<Vec<_>, _> = set.iter().map(|one| Override::parse(one)).collect();
        if let (Ok(mut document), Ok(set)) = (Document::parse(&source), set) {
            let result = document.set(&set).and_then(|()| document.read(anything));
            if let Err(error) = result {
                prop_assert!(error.to_string().starts_with("error: "));
            }
        }
    }

    #[test]
    fn no_argument_panics_the_parser(argument in "(?s).{0,80}") {
        if let Err(error) = Override::parse(&argument) {
            prop_assert!(error.to_string().contains("--set"));
        }
    }

    #[test]
    fn an_argument_round_trips(key in "[a-z]{1,5}(\\.[a-z]{1,5}){0,3}", nanos in 1_u64..1_000_000) {
        let one = Override::parse(&format!("{key}={nanos} ns")).unwrap();
        prop_assert_eq!(one.path(), key.clone());
        let mut document = Document::parse(&Source::new(Kind::Scenario, "x", "")).unwrap();
        document.set(&[one]).unwrap();
        let written = format!("{nanos} ns");
        prop_assert_eq!(document.get(&key).and_then(|node| node.as_text()), Some(written.as_str()));
    }
}

/// A scenario takes what it does not say from the one that it extends, a part in place from a part.
#[test]
fn a_file_has_the_keys_of_the_file_that_it_extends() {
    let (folder, elsewhere) = (Folder::new("extends"), Folder::new("extended"));
    let base =
        format!("extends = \"{}\"\nworkload = {{ bytes = \"2 B\" }}\n", data("scenario.toml"));
    let base = elsewhere.file("base.toml", base.as_bytes());
    let part = format!(
        "[part]\nextends = \"{}\"\nprogram = {{ typical = \"7 us\" }}\n",
        data("parts/part.toml")
    );
    let own = folder.file("own.toml", format!("extends = \"{base}\"\n{part}").as_bytes());
    let document = compose(&own, &[] as &[&str]).unwrap();
    assert!(!document.is_overridden() && document.source().name() == own);
    let text = |path: &str| document.get(path).unwrap().written();
    assert_eq!(
        (text("workload.bytes"), text("part.program.typical")),
        ("2 B".into(), "7 us".into())
    );
    let plain = compose(&data("scenario.toml"), &[] as &[&str]).unwrap();
    let [keys, plain_keys] =
        [&document, &plain].map(|one| one.values().into_keys().collect::<Vec<_>>());
    assert_eq!(
        keys, plain_keys,
        "nothing lacks, nothing was added, and the order is that of the base"
    );
    assert_eq!(document.get("part.program.typical").unwrap().place().source().name(), own);
    let set = compose(&own, &["part.program.typical=9us"]).unwrap();
    assert_eq!(set.get("part.program.typical").unwrap().written(), "9us");
    // A path counts from the file that has it.
    for (set, expected) in [(None, Some(elsewhere.0.clone())), (Some("workload.bytes=3B"), None)] {
        let document = compose(&own, set.as_slice()).unwrap();
        let folder = document.read(|top| {
            let folder = top.section("workload", |workload| {
                workload.leave_rest();
                Ok(workload.folder_of("bytes").map(Path::to_path_buf))
            });
            top.leave_rest();
            folder
        });
        assert_eq!(folder.unwrap().value, expected);
    }
}

#[test]
fn a_file_that_extends_nothing_known_says_so() {
    let composed = |text: &str| {
        let source = Source::new(Kind::Scenario, "x.toml", text);
        compose_source(&source, &[] as &[&str]).map(|_| ()).unwrap_err().to_string()
    };
    let error = composed("extends = \"nor-wrte\"\n");
    assert!(
        error.contains("unknown scenario `nor-wrte`") && error.contains("--> x.toml:1:11"),
        "{error}"
    );
    assert!(error.contains("did you mean `nor-write`"), "{error}");
    let error = composed("part = { extends = 5 }\n");
    assert!(
        error.contains("`extends` is an integer") && error.contains("--> x.toml:1:20"),
        "{error}"
    );
    let folder = Folder::new("circle");
    let circle = folder.file("circle.toml", b"extends = \"./circle.toml\"\n");
    let error = compose(&circle, &[] as &[&str]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("more than 8 files extend each other"), "{error}");
}

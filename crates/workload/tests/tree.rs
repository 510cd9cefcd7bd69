//! File trees: on the reference filesystem, and against the operating system of the machine with the
//! independent program of the oracle.
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Errno, MemoryFs, Mount};
use boardlab_workload::tree::{Event, Operation, Shape, manifest, parse, run, scan};
use boardlab_workload::{Data, Error};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tree made on the reference filesystem, and what the run said.
fn made(text: &str) -> (Mount<MemoryFs>, Vec<String>) {
    let mut mount = Mount::new(MemoryFs::new());
    let mut said = Vec::new();
    let lines = parse(text).unwrap();
    run(&mut mount, &mut Clock::new(), &lines, &mut |event| said.push(event.to_string())).unwrap();
    (mount, said)
}

fn text_of(shape: Shape, seed: u64) -> String {
    shape.operations(Seed::new(seed)).iter().map(|operation| format!("{operation}\n")).collect()
}

#[test]
fn the_example_of_the_format_gives_the_manifest_of_the_format() {
    let format = std::fs::read_to_string(root().join("docs/formats/file-tree.md")).unwrap();
    let example = format.split("\n. d 0755").nth(1).unwrap().split("```").next().unwrap();
    let (mut mount, _) = made(
        "mkdir etc 755\nmknod dev c 600 4 64\nfile etc/a\\x20name 644\nwrite etc/a\\x20name 0 5 zero 0 5\n\
         chown etc/a\\x20name 0 100\nlink etc/a\\x20name b\nsetxattr b user.note 6869\n\
         symlink a\\x20name etc/link\nunlink b\nlink etc/a\\x20name b\nrename b dev2\nunlink dev2\n\
         mtime dev 1000000000\nmtime etc/link 1000000000\nmtime etc/a\\x20name 1000000000\n\
         mtime etc 1000000000\nmtime . 0\n",
    );
    let made = manifest(&mut mount, &mut Clock::new()).unwrap();
    let fields = |text: &str| -> Vec<Vec<String>> {
        let fields = |line: &str| line.split(' ').map(str::to_owned).collect();
        text.lines().map(fields).collect()
    };
    let (made, printed) = (fields(&made), fields(&format!(". d 0755{example}")));
    assert_eq!(made.len(), printed.len());
    for (made, printed) in made.iter().zip(&printed) {
        // The content and so the checksum, and the links of the file, are the example's own.
        for index in [0, 1, 2, 3, 4, 6, 7, 8, 9, 10] {
            assert_eq!(made[index], printed[index], "{made:?}");
        }
    }
}

#[test]
fn a_failure_that_may_be_is_told_and_one_that_may_not_ends_the_run() {
    let (_, said) = made("?mkdir a/b 755\nmkdir a 755\nsay half\\x20way\n?rmdir b\n?link a c\n");
    assert_eq!(said, ["failed 1 ENOENT", "half\\x20way", "failed 4 ENOENT", "failed 5 EPERM"]);
    let mut heard = Vec::new();
    let (mut mount, mut clock) = (Mount::new(MemoryFs::new()), Clock::new());
    let lines = parse("say 1\n\nunlink x\nsay 2\n").unwrap();
    let error = run(&mut mount, &mut clock, &lines, &mut |event| heard.push(event)).unwrap_err();
    assert_eq!(error.to_string(), "line 3, unlink x: no such file or directory (ENOENT)");
    assert_eq!(heard, [Event::Said(b"1".to_vec())]);
    let Error::Operation { cause, .. } = error else { panic!("{error}") };
    assert_eq!(cause.errno(), Some(Errno::NoEnt));
}

#[test]
fn every_shape_is_made_and_depends_on_the_seed_alone() {
    for shape in Shape::ALL {
        let text = text_of(shape, 1);
        assert_eq!(text, text_of(shape, 1), "{}", shape.name());
        assert_ne!(text, text_of(shape, 2), "{}", shape.name());
        let (mut mount, said) = made(&text);
        assert!(said.is_empty(), "{}: {said:?}", shape.name());
        let mut clock = Clock::new();
        let manifest = manifest(&mut mount, &mut clock).unwrap();
        let scan = scan(&mut mount, &mut clock).unwrap();
        assert_eq!(scan.entries, manifest.lines().count() as u64, "{}", shape.name());
        let sizes = manifest.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let sizes = sizes
            .filter(|fields| fields[1] == "f")
            .map(|fields| (fields[6].parse::<u64>().unwrap(), fields[0].to_owned()));
        assert_eq!(scan.bytes, Bytes::new(sizes.map(|(size, _)| size).sum()), "{}", shape.name());
        assert!(manifest.lines().skip(1).all(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            fields.len() == 12 && fields[7] != "0"
        }));
    }
}

#[test]
fn a_root_filesystem_has_three_thousand_files_and_27_mib() {
    let (mut mount, _) = made(&text_of(Shape::Rootfs, 1));
    let scan = scan(&mut mount, &mut Clock::new()).unwrap();
    assert!((3_000..3_200).contains(&scan.entries), "{scan:?}");
    assert!((24 << 20..30 << 20).contains(&scan.bytes.get()), "{scan:?}");
}

#[test]
fn the_content_of_text_shrinks_as_it_says() {
    let mut sizes = BTreeMap::new();
    for data in [Data::Zero, Data::Random, Data::Text, Data::Runs, Data::Percent(50)] {
        let (mut zlib, mut total) = (boardlab_codec::zlib::Jffs2Deflate::new(), 0);
        for seed in 0..64 {
            let page = data.bytes(seed, 4_096);
            let mut output = vec![0; 4_096];
            total += zlib.compress(&page, &mut output).map_or(4_096, |done| done.produced);
        }
        sizes.insert(data.to_string(), total / 64);
    }
    assert!((1_350..1_550).contains(&sizes["text"]), "{sizes:?}");
    assert!((2_000..2_300).contains(&sizes["percent:50"]), "{sizes:?}");
    assert!(sizes["zero"] < 60 && sizes["random"] == 4_096, "{sizes:?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The oracle's program, built for this machine; `None` where that is not possible.
fn guest_files(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("guest-files");
    let source = root().join("oracles/guest-files.c");
    let built =
        Command::new("cc").arg("-o").arg(&program).arg(source).stderr(Stdio::null()).status();
    built.is_ok_and(|status| status.success()).then_some(program)
}

fn called(program: &Path, verb: &str, folder: &Path, input: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(verb).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().ok()?;
    // The program may end before it has read everything.
    let _ = child.stdin.take()?.write_all(input.as_bytes());
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// A folder in memory, since the machine's own filesystem may not know every attribute.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Option<Self> {
        let path = Path::new("/dev/shm").join(format!("boardlab-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        Some(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Attributes of `user.` are unknown to a filesystem in memory before Linux 6.6, devices and `trusted.`
/// need root: where the first shape that needs one fails, it is left out.
#[test]
fn the_operating_system_makes_the_same_trees() {
    let Some(folder) = Folder::new("tree") else {
        eprintln!("skipped: needs /dev/shm");
        return;
    };
    let Some(program) = guest_files(&folder.0) else {
        eprintln!("skipped: needs cc");
        return;
    };
    let mut compared = 0;
    for shape in Shape::ALL {
        let text = text_of(shape, 7);
        let place = folder.0.join(shape.name());
        std::fs::create_dir(&place).unwrap();
        let Some(_) = called(&program, "run", &place, &text) else {
            eprintln!("skipped: needs root, or a newer kernel, for {}", shape.name());
            continue;
        };
        let theirs = called(&program, "manifest", &place, "").unwrap();
        let (mut mount, _) = made(&text);
        let ours = manifest(&mut mount, &mut Clock::new()).unwrap();
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            assert!(ours == theirs, "{}:\n{ours}\n{theirs}", shape.name());
        }
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{}", shape.name());
        compared += 1;
        std::fs::remove_dir_all(&place).unwrap();
    }
    assert!(compared >= 6, "only {compared} shapes could be made");
}

#[test]
fn operations_print_as_they_are_parsed() {
    for shape in Shape::ALL {
        let text = text_of(shape, 3);
        let parsed: Vec<Operation> =
            parse(&text).unwrap().into_iter().map(|(_, line)| line.operation).collect();
        assert!(parsed == shape.operations(Seed::new(3)), "{}", shape.name());
    }
}

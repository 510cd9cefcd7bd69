//! fio jobs on a card, from the text of a scenario to fio's own outputs.
use boardlab_experiment::{Action, Failure};
use boardlab_lab::registry;
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use std::fs;
use std::path::{Path, PathBuf};

fn run(name: &str, set: &[&str]) -> Result<RunResult, Failure> {
    registry::perform(Action::Run, name, set, Seed::new(1), &|_| ())
}

fn refusal(name: &str, set: &[&str]) -> String {
    match run(name, set) {
        Err(Failure::Input(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A job file of its own folder.
fn job_file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fio-bench-{name}"));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("job.fio");
    fs::write(&path, text).unwrap();
    path
}

const SMALL: &str = "[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=write\nbs=64k\nsize=1m\n";

#[test]
fn the_built_in_scenario_gives_tables_and_what_fio_prints() {
    let run = run("card-fio", &[]).unwrap();
    let ids: Vec<_> = run.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["fio", "causes", "card", "flash", "health", "registers"]);
    let names: Vec<_> = run.attachments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["fio.txt", "fio.json", "fio.terse"]);
    assert_eq!(run.attachments[2].text.lines().count(), 3);
    assert!(run.attachments[2].text.starts_with("3;boardlab-"));
    let charts: Vec<_> = run.charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(charts, ["throughput", "latency"]);
    assert!(run.charts[1].x.nines);
}

#[test]
fn a_job_file_is_run_on_the_card_by_its_path() {
    let logs = "write_bw_log=pace\nwrite_lat_log\nwrite_iops_log=a:b/c\n";
    let path = job_file("path", &format!("{SMALL}{logs}"));
    let run = run(path.to_str().unwrap(), &["device.fill=1 %"]).unwrap();
    assert!(run.tables[0].rows.iter().any(|row| row.id == "a.0.write"));
    let names: Vec<_> = run.attachments[3..].iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["pace_bw.1.log", "a_clat.1.log", "a_b_c_iops.1.log"]);
}

#[test]
fn what_is_wrong_with_a_job_is_shown_with_its_line() {
    let path = job_file("wrong", "[a]\nrww=write\ndirect=1\niodepth=-1\n");
    let text = refusal("card-fio", &[&format!("fio.file={}", path.display())]);
    assert!(text.contains("Bad option <rww=write>") && text.contains("job.fio:2:1"), "{text}");
    assert!(text.contains("Did you mean rw?") && text.contains("job.fio:4:1"), "{text}");
}

#[test]
fn a_job_beyond_the_card_is_refused_and_one_too_large_is_cut_down() {
    let beyond = job_file("beyond", &format!("{SMALL}offset=40g\n"));
    let text = refusal("card-fio", &[&format!("fio.file={}", beyond.display())]);
    assert!(text.contains("job `a`") && text.contains("job.fio"), "{text}");
    let large = job_file("large", &SMALL.replace("size=1m", "size=900g\nio_size=1m"));
    let run = run("card-fio", &[&format!("fio.file={}", large.display())]).unwrap();
    assert!(run.warnings.iter().any(|one| one.contains("was cut down to")), "{:?}", run.warnings);
}

#[test]
fn a_buffered_job_is_refused_at_its_line_before_the_card_is_filled() {
    for (name, text, place) in [
        ("direct0", SMALL.replace("direct=1", "direct=0"), "job.fio:3:1"),
        ("buffered", format!("{SMALL}buffered=1\n"), "job.fio:7:1"),
        (
            "global",
            format!("[global]\nioengine=sync\n{}", SMALL.replace("direct=1\n", "")),
            "job.fio:3:1",
        ),
    ] {
        let path = job_file(name, &text);
        let set = [&*format!("fio.file={}", path.display()), "device.fill=100 %"];
        let text = refusal("card-fio", &set);
        assert!(text.contains("job `a`: buffered requests") && text.contains(place), "{text}");
        assert!(text.contains("give direct=1"), "{text}");
    }
}

#[test]
fn a_job_of_the_engine_null_may_be_larger_than_the_card() {
    let path =
        job_file("null", "[n]\nioengine=null\nrw=write\nbs=1m\nsize=100g\ndescription=nowhere\n");
    let run = run(path.to_str().unwrap(), &[]).unwrap();
    let fields: Vec<_> = run.attachments[2].text.trim_end().split(';').collect();
    assert_eq!((fields[46], fields[130]), ("104857600", "nowhere"));
    assert!(run.attachments[1].text.contains("\"desc\": \"nowhere\""));
}

#[test]
fn included_files_lie_beside_the_job_and_variables_in_the_scenario() {
    let path = job_file("include", &format!("{SMALL}include more.inc\niodepth=${{DEPTH}}\n"));
    fs::write(path.with_file_name("more.inc"), "ioengine=libaio\n").unwrap();
    let file = format!("fio.file={}", path.display());
    run("card-fio", &[&file, "fio.variables.DEPTH=\"2\""]).unwrap();
    let text = refusal("card-fio", &[&file]);
    assert!(text.contains("the variable DEPTH is not set"), "{text}");
}

#[test]
fn a_scenario_without_jobs_and_a_file_that_is_none_are_refused() {
    let text = refusal("card-fio", &["fio.file=/nothing/job.fio"]);
    assert!(text.contains("`fio.file`") && text.contains("no such file"), "{text}");
    let text = refusal("card-fio", &["device.fill=101 %"]);
    assert!(text.contains("device.fill"), "{text}");
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let once = run("card-fio", &[]).unwrap();
    assert_eq!(once, run("card-fio", &[]).unwrap());
}

#[test]
fn jobs_run_on_a_drive_whose_queue_makes_random_reads_faster() {
    let run = run("drive-fio", &[]).unwrap();
    let ids: Vec<_> = run.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["fio", "causes", "drive", "flash", "identify"]);
    // The times of queued requests overlap: their bytes in the sum of the times are no rate.
    let columns = run.table("causes").unwrap().columns.iter().map(|one| one.id.as_str());
    let columns: Vec<_> = columns.collect();
    assert_eq!(columns, ["requests_count", "moved_bytes", "mean_ns", "max_ns"]);
    let rate = |row: &str| {
        let rows = &run.tables[0].rows;
        let found = rows.iter().find(|one| one.id.starts_with(row) && one.id.ends_with("read"));
        let row = found.unwrap_or_else(|| panic!("{row} is not among {rows:?}"));
        row.cells["bandwidth_bytes_per_s"].value.as_f64().unwrap()
    };
    let (one, queue) = (rate("one-at-a-time."), rate("queue."));
    assert!(queue > 5.0 * one, "{queue} against {one}");
    // 6 Gb/s carry no more than this.
    assert!(rate("read.") < 594.2e6 && rate("read.") > 300e6, "{}", rate("read."));
}

#[test]
fn a_drive_of_the_evaluation_takes_the_same_jobs() {
    let path = job_file("drive", SMALL);
    let set = ["part=buffalo-shd-nsum30g", "board=linux-ahci"];
    let run = run(path.to_str().unwrap(), &set).unwrap();
    assert!(run.title.contains("Buffalo"), "{}", run.title);
    assert!(run.tables[0].rows.iter().any(|row| row.id == "a.0.write"));
}

#[test]
fn a_board_without_a_place_for_the_device_is_refused() {
    let text = refusal("drive-fio", &["board=raspberry-pi-4"]);
    assert!(text.contains("describes no controller") && text.contains("linux-ahci"), "{text}");
    let text = refusal("drive-fio", &["part=s29gl512p"]);
    assert!(text.contains("kind") || text.contains("sata"), "{text}");
}

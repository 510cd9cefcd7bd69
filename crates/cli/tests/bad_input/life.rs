//! Wrong loads, traces and jobs of a card's life.

use crate::case::Case;

const FILE: &str = "life.toml";
const RUN: &[&str] = &["life", FILE];
const TRACE: &[&str] =
    &["life", FILE, "--set", "workload.kind=trace", "--set", "trace.file=trace.txt"];
const JOB: &[&str] = &["life", FILE, "--set", "workload.kind=fio", "--set", "fio.file=job.fio"];

/// One wrong thing each.
pub(crate) const CASES: &[Case] = &[
    Case::line(
        "nothing a day",
        [FILE, "bytes_a_day", "bytes_a_day = \"0 GB\""],
        "\"0 GB\"",
        &["`pattern.bytes_a_day`: `0 GB` is not from 1 KiB to"],
    )
    .with(RUN),
    Case::line(
        "more a day than any link carries",
        [FILE, "bytes_a_day", "bytes_a_day = \"1000000 TB\""],
        "\"1000000 TB\"",
        &["`pattern.bytes_a_day`", "is not from 1 KiB to"],
    )
    .with(RUN),
    Case::line(
        "no share of the card in use",
        [FILE, "used", "used = \"0 %\""],
        "\"0 %\"",
        &["`pattern.used`: `0 %` is not from 0.0001 % to 100 %"],
    )
    .with(RUN),
    Case::line(
        "more than the whole card in use",
        [FILE, "used", "used = \"101 %\""],
        "\"101 %\"",
        &["`pattern.used`: `101 %` is not from 0.0001 % to 100 %"],
    )
    .with(RUN),
    Case::line(
        "all data given up",
        [FILE, "trim", "trim = \"100 %\""],
        "\"100 %\"",
        &["`pattern.trim`: `100 %` is not from 0 % to 95 %"],
    )
    .with(RUN),
    Case::line(
        "request of half a block",
        [FILE, "request", "request = \"700 B\""],
        "\"700 B\"",
        &["`pattern.request`: `700 B` is no whole number of blocks", "multiple of 512 bytes"],
    )
    .with(RUN),
    Case::line(
        "unknown places",
        [FILE, "places", "places = \"zipff\""],
        "\"zipff\"",
        &["`pattern.places`: `zipff` is not known here", "did you mean `zipf`?"],
    )
    .with(RUN),
    Case::line(
        "no cards",
        [FILE, "cards = 10", "cards = 0"],
        "0",
        &["`life.cards`: `0` is not from 1 to 10000"],
    )
    .with(RUN),
    Case::line(
        "life without a horizon",
        [FILE, "horizon", "horizon = \"0 s\""],
        "\"0 s\"",
        &["`life.horizon`: `0 s` is not from"],
    )
    .with(RUN),
    Case::line(
        "day longer than a day",
        [FILE, "powered", "powered = \"25 h\""],
        "\"25 h\"",
        &["`workload.powered`: `25 h` is not from"],
    )
    .with(RUN),
    Case::line(
        "unknown kind of load",
        [FILE, "kind = ", "kind = \"traces\""],
        "\"traces\"",
        &["`workload.kind`: `traces` is not known here", "did you mean `trace`?"],
    )
    .with(RUN),
    Case::line(
        "load of a trace without a trace",
        [FILE, "kind = ", "kind = \"trace\""],
        "",
        &["is of kind trace, which lacks", "a section [trace]"],
    )
    .with(RUN)
    .at(FILE),
    Case::line(
        "unknown part among the what-ifs",
        [FILE, "parts = ", "parts = \"kioxia-16g\""],
        "",
        &["unknown part `kioxia-16g`", "did you mean `kioxia-16gb`?"],
    )
    .with(RUN)
    .nowhere(),
    Case::arguments(
        "life of a card that never dies",
        &[
            "life",
            FILE,
            "--set",
            "part=card-part.toml",
            "--set",
            "part.mapping.kind=blocks",
            "--set",
            "part.mapping.open_units=4",
        ],
        &["maps whole blocks, of which no life is modelled", "a card with a map of pages"],
    )
    .at("card-part.toml:1:1"),
    Case::arguments(
        "life of what is no card",
        &["life", "nor-write"],
        &["`life` has no meaning for `nor-write`", "boardlab list scenarios"],
    ),
    Case::arguments(
        "life of a wear levelling experiment",
        &["life", "sd-wear"],
        &["`life` has no meaning for `sd-wear`", "boardlab list scenarios"],
    ),
    Case::whole(
        "trace.txt",
        b"  8,0 3 1 0.000000005 697 D W 8 + 8 [a]\n  8,0 3 2 0.000000004 697 D W 8 + 8 [a]\n",
        "trace.txt:2:1",
        &["expected a time not before that of the request before, found one 1 ns earlier"],
    )
    .called("trace whose times run backwards")
    .with(TRACE),
    Case::whole(
        "trace.txt",
        b"  8,0 3 1 0.000000005 697 D W 8 + eight [a]\n",
        "trace.txt:1:35",
        &["expected the number of blocks, found `eight`"],
    )
    .called("trace with a malformed line")
    .with(TRACE),
    Case::whole(
        "trace.txt",
        b"5,hm,1,Write,100,512,1\n",
        "trace.txt:1:1",
        &["expected whole blocks of 512 bytes, found 512 bytes at offset 100"],
    )
    .called("trace with parts of blocks")
    .with(TRACE),
    Case::whole(
        "trace.txt",
        b"5,hm,1,Write,0,512,1\n6,hm,1,Write,1000000000000000,512,1\n",
        "trace.txt:2:1",
        &["expected a request within the device of 15460204544 bytes"],
    )
    .called("trace beyond the card")
    .with(TRACE),
    Case::whole(
        "trace.txt",
        b"5,hm,1,Read,0,512,1\n",
        "trace.txt",
        &["writes nothing: a card that is only read does not wear out"],
    )
    .called("trace without a write")
    .with(TRACE),
    Case::whole("trace.txt", b"", "trace.txt:1:1", &["expected requests, found none in 0 lines"])
        .called("empty trace")
        .with(TRACE),
    Case::arguments("trace that is not there", TRACE, &["cannot read `trace.txt`"]).at("trace.txt"),
    Case::arguments(
        "trace beside a load of another kind",
        &["life", FILE, "--set", "trace.file=nofile.txt"],
        &["`trace.file`: `nofile.txt` has no effect with workload.kind", "workload.kind=trace"],
    )
    .at("--set:1:12"),
    Case::whole(
        "job.fio",
        b"[a]\nfilename=/dev/x\ndirect=1\nrw=write\noffset=100g\nsize=1g\n",
        "job.fio",
        &["job `a`"],
    )
    .called("job beyond the card")
    .with(JOB),
    Case::whole(
        "job.fio",
        b"[a]\nfilename=/dev/x\ndirect=1\nrw=wrte\n",
        "job.fio:4:1",
        &["failed parsing rw=wrte"],
    )
    .called("job of a life with a wrong value")
    .with(JOB),
];

//! `boardlab os debug` with a client that speaks the remote protocol badly, or not at all: nothing ends the connection or loses the machine.

use crate::bench::Scratch;
use crate::guest::{build, start};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStderr};
use std::time::Duration;

/// A `boardlab os debug`, and the lines that it tells.
struct Server {
    child: Child,
    told: BufReader<ChildStderr>,
    place: String,
}

impl Server {
    /// Of the board's test program, ended in any case when the test does.
    fn start(scratch: &Scratch) -> Option<Self> {
        build(scratch, "plain", &["-DCODE=3"])?;
        let mut child = start(scratch, &["os", "debug", "plain.elf", "--listen", "127.0.0.1:0"]);
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let line = read_line(&mut told);
        let place = line.strip_prefix("waiting for GDB: target remote ");
        let place = place.unwrap_or_else(|| panic!("{line}")).to_owned();
        Some(Self { child, told, place })
    }

    fn line(&mut self) -> String {
        read_line(&mut self.told)
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.place).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(stream)
    }

    /// Memory that the process had at most, in KiB.
    fn memory(&self) -> u64 {
        // `timeout` is the child; its child is the server.
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let server = std::fs::read_to_string(children).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.trim())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The exit status, and what the program printed.
    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap().code();
        let mut printed = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (status, printed)
    }
}

fn read_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// The other end.
struct Client(TcpStream);

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The bytes that come next.
    fn expect(&mut self, bytes: &str) {
        let mut read = vec![0; bytes.len()];
        if let Err(error) = self.0.read_exact(&mut read) {
            panic!("expected {bytes:?}: {error}, read {:?}", String::from_utf8_lossy(&read));
        }
        assert_eq!(String::from_utf8_lossy(&read), bytes);
    }

    /// Sends a packet, and takes the contents of its answer.
    fn ask(&mut self, body: &str) -> String {
        self.send(packet(body).as_bytes());
        self.expect("+");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut answer = String::new();
        let mut byte = [0];
        while !answer.ends_with('#') {
            self.0.read_exact(&mut byte).unwrap();
            answer.push(char::from(byte[0]));
        }
        self.0.read_exact(&mut [0; 2]).unwrap();
        self.send(b"+");
        answer.trim_matches(['$', '#']).to_owned()
    }
}

fn packet(body: &str) -> String {
    let sum = body.bytes().fold(0_u8, u8::wrapping_add);
    let mut packet = format!("${body}");
    write!(packet, "#{sum:02x}").unwrap();
    packet
}

#[test]
fn what_is_not_understood_is_answered_and_the_machine_stays() {
    let scratch = Scratch::new();
    let Some(server) = Server::start(&scratch) else { return };
    let mut client = server.connect();
    let registers = client.ask("g");
    assert_eq!(registers.len(), 17 * 8);
    // A wrong checksum is asked for again, and what then comes is right.
    client.send(b"$g#00");
    client.expect("-");
    client.send(b"$g#zz");
    client.expect("-");
    assert_eq!(client.ask("g"), registers);
    // Unknown letters have the empty answer, known ones with nonsense an error.
    for unknown in
        ["vRun;", "vMustReplyEmpty", "!", "R00", "qOffsets", "jThreadsInfo", "vFile:open:2f,0,0"]
    {
        assert_eq!(client.ask(unknown), "", "{unknown}");
    }
    for wrong in [
        "m",
        "m0",
        "mzz,4",
        "M0,2:00",
        "G00",
        "p99",
        "P99=00000000",
        "vCont;x",
        "Hg7",
        "qRcmd,1",
        "z0,8000,4",
        "Z2,0,0",
        "qXfer:features:read:x:0,1",
        "T2",
        "D0",
        "cx",
        "C",
        "mffffffffff,4",
    ] {
        let answer = client.ask(wrong);
        assert!(answer.len() == 3 && answer.starts_with('E'), "{wrong}: {answer}");
    }
    assert_eq!(client.ask("mf0000000,4"), "E0e");
    assert_eq!(client.ask("Mf0000000,1:00"), "E0e");
    // Points of every kind, once each.
    for kind in ["0", "1", "2", "3", "4"] {
        assert_eq!(client.ask(&format!("Z{kind},8000,4")), "OK");
        let twice =
            [client.ask(&format!("z{kind},8000,4")), client.ask(&format!("z{kind},8000,4"))];
        assert_eq!(twice, ["OK", "E02"], "{kind}");
    }
    // The end of the address space, and more than a packet holds.
    assert!(client.ask("mfffffffc,2000").starts_with('E'));
    assert_eq!(client.ask("m8000,ffffffff").len(), 0x4000);
    assert!(client.ask("qSupported:a;;xmlRegisters=arm;:").contains("PacketSize=4000;"));
    // Binary data with escapes.
    client.send(b"$X8000,4:}\x03}\x04}]\x03#");
    let sum = b"X8000,4:}\x03}\x04}]\x03".iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    client.send(format!("{sum:02x}").as_bytes());
    client.expect("+");
    assert_eq!((client.answer(), client.ask("m8000,4")), ("OK".into(), "23247d03".into()));
    assert_eq!(client.ask("g"), registers, "nothing has moved");
    client.send(packet("k").as_bytes());
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn garbage_and_endless_packets_cost_no_memory_and_the_next_packet_is_answered() {
    let scratch = Scratch::new();
    let Some(server) = Server::start(&scratch) else { return };
    let mut client = server.connect();
    let registers = client.ask("g");
    let before = server.memory();
    client.send(b"\x00\xff\x80GET / HTTP/1.1\r\nHost: x\r\n\r\n#00+-+++\xfe");
    assert_eq!(client.ask("g"), registers);
    // 20 MB without an end, twice: then a packet, and one that ends.
    let endless = vec![b'a'; 20 << 20];
    client.send(b"$");
    client.send(&endless);
    assert_eq!(client.ask("g"), registers);
    client.send(&endless);
    client.send(b"$m");
    client.send(&endless);
    client.send(b"#00");
    client.expect("-");
    assert_eq!(client.ask("g"), registers);
    // A packet in halves, with a new one in its middle, and Ctrl-C in one, which is data there.
    client.send(b"$m80");
    client.send(b"$m80\x03");
    client.send(b"$");
    client.send(b"g#");
    client.send(b"67");
    client.expect("+");
    assert_eq!(client.answer(), registers);
    // An answer that was torn on the way comes again.
    client.send(packet("qC").as_bytes());
    client.expect("+$QC1#c5");
    client.send(b"-");
    client.expect("$QC1#c5");
    client.send(b"+");
    let grown = server.memory() - before;
    assert!(grown < 8 << 10, "{grown} KiB for 60 MB of input");
    assert_eq!(client.ask("QStartNoAckMode"), "OK");
    client.send(b"$g#00$qC#b4");
    client.expect("$E16#ac$QC1#c5");
    client.send(b"$k#6b");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn ctrl_c_stops_a_program_that_runs_and_packets_wait_meanwhile() {
    let scratch = Scratch::new();
    let Some(server) = Server::start(&scratch) else { return };
    let mut client = server.connect();
    // A branch to itself.
    assert_eq!(client.ask("M100000,4:feffffea"), "OK");
    client.send(packet("c100000").as_bytes());
    client.expect("+");
    client.send(b"nonsense$g#00");
    client.expect("-");
    client.send(packet("m100000,4").as_bytes());
    client.expect("+");
    client.send(b"\x03");
    assert_eq!(client.answer(), "T02thread:1;");
    assert_eq!(client.answer(), "feffffea", "what was asked meanwhile");
    assert_eq!(client.ask("?"), "T02thread:1;");
    assert_eq!(client.ask("pf"), "00001000");
    // Ctrl-C to a program that does not run stops it when it is to go on.
    client.send(b"\x03");
    client.send(packet("vCont;c").as_bytes());
    client.expect("+");
    assert_eq!(client.answer(), "T02thread:1;");
    // Many packets to a program that runs do not pile up.
    client.send(packet("c").as_bytes());
    client.expect("+");
    for _ in 0..40 {
        client.send(packet("qC").as_bytes());
    }
    client.send(b"\x03");
    let mut answers = String::new();
    while !answers.ends_with("T02thread:1;") {
        answers.push_str(&client.answer());
    }
    assert_eq!(answers.matches("E10").count(), 24, "{answers}");
    assert_eq!((0..16).map(|_| client.answer()).filter(|answer| answer == "QC1").count(), 16);
    client.send(packet("c").as_bytes());
    client.send(packet("D").as_bytes());
    client.expect("++");
    assert_eq!(client.answer(), "OK", "it may leave a program that runs");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_machine_outlives_a_lost_connection() {
    let scratch = Scratch::new();
    let Some(mut server) = Server::start(&scratch) else { return };
    let mut client = server.connect();
    assert_eq!(client.ask("M8000,4:01020304"), "OK");
    assert_eq!(client.ask("P3=78563412"), "OK");
    assert_eq!(client.ask("Z0,8010,4"), "OK");
    drop(client);
    for torn in [&b"$m8000"[..], b"", b"GET / HTTP/1.1\r\n\r\n"] {
        assert_eq!(server.line(), "the connection to GDB is lost; the program is kept where it is");
        assert_eq!(server.line(), format!("waiting for GDB: target remote {}", server.place));
        let mut client = server.connect();
        client.send(torn);
        client.0.shutdown(Shutdown::Both).unwrap();
    }
    for _ in 0..2 {
        server.line();
    }
    let mut client = server.connect();
    assert_eq!((client.ask("m8000,4"), client.ask("p3")), ("01020304".into(), "78563412".into()));
    assert_eq!(client.ask("z0,8010,4"), "E02", "breakpoints are those of the GDB that set them");
    assert_eq!(client.ask("D"), "OK");
    assert_eq!(server.line(), "GDB has left");
    assert_eq!(server.end(), (Some(0), String::new()));
}

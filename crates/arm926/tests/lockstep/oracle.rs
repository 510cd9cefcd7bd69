//! The other side: a process with Unicorn that runs batches of cases.
//!
//! [`Server`] implements the protocol of `oracles/arm/unicorn_server.py`: it sends [`Case`]s and
//! receives [`Answer`]s.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The modes whose banks are compared, in the protocol's order; the last has user mode's registers.
pub const BANKED: [u32; 6] = [0x11, 0x12, 0x13, 0x17, 0x1B, 0x1F];

/// The bytes of a case's code, and of the data after it.
pub const CODE: usize = 0x200;
pub const DATA: usize = 0x500;

const WITH_BANKS: u32 = 1;
const VERDICT: u32 = 2;

/// The compared registers of the current mode: CPSR, r0 to r14, SPSR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    pub cpsr: u32,
    pub r: [u32; 15],
    pub spsr: u32,
}

/// The registers of all modes: r13, r14, SPSR of [`BANKED`], r8 to r12 of FIQ, r8 to r12 of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Banks {
    pub single: [[u32; 3]; 6],
    pub fiq: [u32; 5],
    pub other: [u32; 5],
}

/// A block of code and its initial state.
#[derive(Debug, Clone)]
pub struct Case {
    /// The address of its memory.
    pub base: u32,
    /// The entry address; bit 0: Thumb state.
    pub entry: u32,
    /// The end address.
    pub end: u32,
    /// The initial registers.
    pub state: State,
    /// The initial banked registers, if they are compared.
    pub banks: Option<Banks>,
    /// Code, then data.
    pub memory: Vec<u8>,
    /// Whether to execute one instruction and return only the verdict.
    pub verdict_only: bool,
}

/// The end of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Reached,
    Undefined,
    SoftwareInterrupt,
    Breakpoint,
    /// Any other end, which is an error.
    Other(u32),
}

impl Status {
    const fn from_word(word: u32) -> Self {
        match word {
            0 => Self::Reached,
            1 => Self::Undefined,
            2 => Self::SoftwareInterrupt,
            3 => Self::Breakpoint,
            other => Self::Other(other),
        }
    }
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: Status,
    pub pc: u32,
    pub state: State,
    pub banks: Option<Banks>,
    pub data: Vec<u8>,
}

/// Reads consecutive words.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> u32 {
        let (word, rest) = self.0.split_at(4);
        self.0 = rest;
        u32::from_le_bytes(word.try_into().unwrap())
    }

    fn array<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| self.next())
    }
}

impl Case {
    const fn flags(&self) -> u32 {
        let banks = if self.banks.is_some() { WITH_BANKS } else { 0 };
        banks | if self.verdict_only { VERDICT } else { 0 }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let code = if self.verdict_only { self.memory.len() } else { CODE };
        let data = self.memory.len() - code;
        let lengths = [code, data].map(|length| u32::try_from(length).unwrap());
        let mut words = vec![self.flags(), self.base, self.entry, self.end];
        words.extend(lengths);
        words.push(self.state.cpsr);
        words.extend(self.state.r);
        words.push(self.state.spsr);
        if let Some(banks) = &self.banks {
            words.extend(banks.single.as_flattened());
            words.extend(banks.fiq);
            words.extend(banks.other);
        }
        out.extend(words.into_iter().flat_map(u32::to_le_bytes));
        out.extend(&self.memory);
    }

    /// The length of the answer in bytes.
    const fn answer_length(&self) -> usize {
        if self.verdict_only {
            8
        } else {
            8 + 68 + DATA + if self.banks.is_some() { 112 } else { 0 }
        }
    }

    fn answer(&self, bytes: &[u8]) -> Answer {
        let mut words = Words(bytes);
        let (status, pc) = (Status::from_word(words.next()), words.next());
        if self.verdict_only {
            return Answer { status, pc, state: State::default(), banks: None, data: Vec::new() };
        }
        let state = State { cpsr: words.next(), r: words.array(), spsr: words.next() };
        let banks = self.banks.is_some().then(|| Banks {
            single: std::array::from_fn(|_| words.array()),
            fiq: words.array(),
            other: words.array(),
        });
        Answer { status, pc, state, banks, data: words.0.to_vec() }
    }
}

/// The process and the thread that communicates with it, so that it runs a batch while the next one is
/// generated.
pub struct Server {
    process: Child,
    requests: Option<Sender<(Vec<u8>, usize)>>,
    answers: Receiver<Vec<u8>>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Server {
    /// Starts a server; `None` without the Python packages of the tests.
    pub fn start() -> Option<Self> {
        let python = repository().join(".setup/python/bin/python");
        if !python.exists() {
            let _ = writeln!(std::io::stderr(), "skipped: needs unicorn (setup/setup.sh test)");
            return None;
        }
        let mut process = Command::new(python)
            .arg(repository().join("oracles/arm/unicorn_server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) =
            (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (requests, todo) = channel::<(Vec<u8>, usize)>();
        let (done, answers) = channel();
        thread::spawn(move || {
            for (request, length) in todo {
                let mut answer = vec![0; length];
                stdin.write_all(&request).expect("the server takes the batch");
                stdin.flush().unwrap();
                stdout.read_exact(&mut answer).expect("the server answers");
                if done.send(answer).is_err() {
                    break;
                }
            }
        });
        Some(Self { process, requests: Some(requests), answers })
    }

    /// Sends a batch.
    pub fn send(&self, cases: &[Case]) {
        let mut request = u32::try_from(cases.len()).unwrap().to_le_bytes().to_vec();
        for case in cases {
            case.write(&mut request);
        }
        let length = cases.iter().map(Case::answer_length).sum();
        self.requests.as_ref().unwrap().send((request, length)).unwrap();
    }

    /// Waits for the answers to the oldest pending batch.
    pub fn receive(&self, cases: &[Case]) -> Vec<Answer> {
        let bytes = self.answers.recv().expect("the server is alive");
        let mut rest = bytes.as_slice();
        let mut answers = Vec::with_capacity(cases.len());
        for case in cases {
            let (own, others) = rest.split_at(case.answer_length());
            answers.push(case.answer(own));
            rest = others;
        }
        answers
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.process.wait();
    }
}

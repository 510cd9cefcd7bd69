//! The serial menu of the host: four items, their questions, and what a transfer's speed was.
//!
//! Layer: rank 11. Main types: [`Console`], [`Machine`], which it drives, and [`bench::Bench`], the machine of a
//! drive on a link. The words are those of the figures of sata.md. Where the original is not known they are
//! ours: what is said of a wrong answer, the dump, the end. A drive without 48-bit commands gets the menu
//! with 28-bit ones, of at most 256 sectors.
//!
//! As in the original the words of a transfer lie in a buffer in DDR: a write puts the pattern there first, a read
//! compares what has come there with the pattern.

pub mod bench;

use boardlab_sata::host::{Direction, Failure, Pattern};
use boardlab_sata::wire::Identify;
use boardlab_sata::{Counting, SECTOR_DWORDS};
use boardlab_sim::{Bytes, Duration};
use std::io::{self, BufRead, Read, Write};
use std::ops::RangeInclusive;

/// Sectors of the largest command of 48-bit LBA: a count of 0.
const LARGEST_48: u64 = 65_536;
/// The same of 28-bit LBA.
const LARGEST_28: u64 = 256;
/// Bytes of a line of input that are looked at.
const LINE: u64 = 256;
/// Characters of an answer that a message repeats.
const SHOWN: usize = 40;
/// Dwords of a line of the dump, and lines of a page of it: 512 bytes.
const ROW: usize = 8;
const ROWS: usize = 16;

/// A host with a drive.
pub trait Machine {
    /// Asks the drive what it is.
    ///
    /// # Errors
    /// What the host says.
    fn identify(&mut self) -> Result<Identify, Failure>;

    /// One command of `sectors` sectors from `first` on, with the words in `buffer`, which are 128 a sector. For
    /// how long the hardware's timer ran.
    ///
    /// # Errors
    /// What the host says.
    fn transfer(
        &mut self,
        direction: Direction,
        first: u64,
        sectors: u32,
        buffer: &mut Vec<u32>,
    ) -> Result<Duration, Failure>;
}

/// The menu, on its two lines.
#[derive(Debug)]
pub struct Console<M, R, W> {
    machine: M,
    input: R,
    output: W,
    /// What is read is printed as well, since no terminal does.
    echo: bool,
    drive: Option<Identify>,
    /// The buffer in DDR.
    buffer: Vec<u32>,
    /// Dwords of it that were dumped.
    dumped: usize,
}

/// Which line does not work any more.
#[derive(Debug)]
pub enum ConsoleError {
    /// The answers cannot be read.
    Input(io::Error),
    /// The questions cannot be printed.
    Output(io::Error),
}

/// Why the menu ends.
enum Stop {
    /// The input has ended, or the user has.
    Ended,
    /// A line is broken.
    Broken(ConsoleError),
}

/// Of what is printed; the one place that reads says so itself.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Broken(ConsoleError::Output(error))
    }
}

impl<M: Machine, R: BufRead, W: Write> Console<M, R, W> {
    /// The menu of `machine`. With `echo` the answers are printed, so that the output of a piped input reads as a
    /// terminal's does.
    pub const fn new(machine: M, input: R, output: W, echo: bool) -> Self {
        let buffer = Vec::new();
        Self { machine, input, output, echo, drive: None, buffer, dumped: 0 }
    }

    /// Identifies the drive, and then does what is chosen until the input ends, or `q` is.
    ///
    /// # Errors
    /// Of the two lines. What the machine says goes to the output.
    pub fn run(&mut self) -> Result<(), ConsoleError> {
        self.identify().map_err(ConsoleError::Output)?;
        loop {
            match self.turn() {
                Ok(()) => {}
                Err(Stop::Ended) => return self.output.flush().map_err(ConsoleError::Output),
                Err(Stop::Broken(broken)) => return Err(broken),
            }
        }
    }

    /// One item.
    fn turn(&mut self) -> Result<(), Stop> {
        let chosen = self.choose()?;
        writeln!(self.output, "\n+++ {} selected +++\n", self.item(chosen))?;
        match chosen {
            1 => Ok(self.identify()?),
            2 => self.transfer(Direction::Write),
            3 => self.transfer(Direction::Read),
            _ => Ok(self.dump()?),
        }
    }

    /// What an item is called.
    fn item(&self, number: u8) -> &'static str {
        let short = self.drive.as_ref().is_some_and(|drive| !drive.lba_48);
        match (number, short) {
            (1, _) => "IDENTIFY DEVICE",
            (2, false) => "WRITE DMA EXT",
            (2, true) => "WRITE DMA",
            (3, false) => "READ DMA EXT",
            (3, true) => "READ DMA",
            _ => "DUMP DATA IN DDR",
        }
    }

    fn choose(&mut self) -> Result<u8, Stop> {
        writeln!(self.output, "\nSATA host design menu")?;
        for number in 1..=4 {
            writeln!(self.output, "{number}. {}", self.item(number))?;
        }
        loop {
            self.output.flush()?;
            let line = self.line()?;
            if let Some(number) = (1..=4).find(|number: &u8| number.to_string() == line) {
                return Ok(number);
            }
            if line.eq_ignore_ascii_case("q") {
                return Err(Stop::Ended);
            }
            let found = shown(&line);
            writeln!(self.output, "{found} is not on the menu: expected 1 to 4, or q to end")?;
        }
    }

    fn identify(&mut self) -> io::Result<()> {
        match self.machine.identify() {
            Ok(drive) => {
                let not = if drive.lba_48 { "" } else { "not " };
                let gigabytes = drive.capacity() / Bytes::new(1_000_000_000);
                writeln!(self.output, "Model name : {}", drive.model)?;
                writeln!(self.output, "48bit LBA is {not}supported")?;
                writeln!(self.output, "Capacity : {gigabytes}GB")?;
                self.drive = Some(drive);
                Ok(())
            }
            Err(failure) => self.tell(&failure),
        }
    }

    fn tell(&mut self, failure: &Failure) -> io::Result<()> {
        writeln!(self.output, "Error : {failure}")
    }

    fn transfer(&mut self, direction: Direction) -> Result<(), Stop> {
        let Some((first, sectors, pattern)) = self.parameters()? else { return Ok(()) };
        let words = pattern.at(first);
        if direction == Direction::Write {
            self.buffer.resize(dwords(sectors), 0);
            words.fill(0, &mut self.buffer);
        }
        self.dumped = 0;
        match self.machine.transfer(direction, first, sectors, &mut self.buffer) {
            Ok(time) => {
                if direction == Direction::Read {
                    self.verify(first, words)?;
                }
                Ok(self.speed(sectors, time)?)
            }
            Err(failure) => Ok(self.tell(&failure)?),
        }
    }

    /// Compares the buffer, read from sector `first` on, with what it should be.
    fn verify(&mut self, first: u64, expected: Counting) -> io::Result<()> {
        let pairs = (0..).zip(&self.buffer).map(|(at, &found)| (at, found, expected.word(at)));
        let mut wrong = pairs.filter(|(_, found, expected)| found != expected);
        let Some((at, found, expected)) = wrong.next() else { return Ok(()) };
        let more = wrong.count();
        let sector = u64::from(SECTOR_DWORDS);
        let (lba, dword) = (first + at / sector, at % sector);
        write!(self.output, "Verify error : dword {dword} of LBA {lba} is {found:08X}h, ")?;
        writeln!(self.output, "expected {expected:08X}h; {more} more dwords differ")
    }

    /// In whole megabytes (10^6) a second, cut off as the original's.
    fn speed(&mut self, sectors: u32, time: Duration) -> io::Result<()> {
        let bytes = (boardlab_sata::SECTOR * u64::from(sectors)).get();
        let megabytes = bytes * 1_000 / time.as_nanos().max(1);
        writeln!(self.output, "Transfer speed : {megabytes}MB/s")
    }

    /// First sector, sectors, pattern; `None` where nothing is known of the drive.
    fn parameters(&mut self) -> Result<Option<(u64, u32, Pattern)>, Stop> {
        let Some(drive) = &self.drive else {
            writeln!(self.output, "Error : nothing is known of the drive; choose 1 first")?;
            return Ok(None);
        };
        let end = drive.sectors;
        let largest = if drive.lba_48 { LARGEST_48 } else { LARGEST_28 };
        let question = "Enter Start LBA (Decimal value) => ";
        let expected = format!("0 to {}, the drive's last sector", end - 1);
        let first = self.number(question, 0..=end - 1, &expected)?;
        let question = format!("Enter Sector Count (Decimal value 1-{largest}) => ");
        let (most, expected) = match end - first {
            1 => (1, "1, the drive's last sector".to_owned()),
            left if left < largest => (left, format!("1 to {left}, where the drive ends")),
            _ => (largest, format!("1 to {largest}")),
        };
        let sectors = self.number(&question, 1..=most, &expected)?;
        let question = "Enter Pattern (0)=>Inc32 (1)=>Dec32 : ";
        let pattern = match self.number(question, 0..=1, "0 or 1")? {
            0 => Pattern::Increment,
            _ => Pattern::Decrement,
        };
        let sectors = u32::try_from(sectors).expect("no command has more than 65,536 sectors");
        Ok(Some((first, sectors, pattern)))
    }

    /// Asks until the answer is a whole number in `range`, in words `expected`.
    fn number(
        &mut self,
        question: &str,
        range: RangeInclusive<u64>,
        expected: &str,
    ) -> Result<u64, Stop> {
        loop {
            write!(self.output, "{question}")?;
            self.output.flush()?;
            let line = self.line();
            if self.echo || line.is_err() {
                let echo = line.as_deref().unwrap_or_default();
                writeln!(self.output, "{}", echo.escape_debug())?;
            }
            let line = line?;
            // A sign is not a digit, though the standard library takes `+`.
            let digits = line.bytes().all(|byte| byte.is_ascii_digit());
            match line.parse() {
                Ok(number) if digits && range.contains(&number) => return Ok(number),
                _ => {
                    let found = shown(&line);
                    writeln!(self.output, "{found} cannot be: expected {expected}")?;
                }
            }
        }
    }

    /// The next 512 bytes of the buffer; behind the last, the first again.
    fn dump(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return writeln!(self.output, "The buffer is empty: nothing was written or read");
        }
        if self.dumped >= self.buffer.len() {
            self.dumped = 0;
        }
        let rest = &self.buffer[self.dumped..];
        for (row, words) in rest.chunks(ROW).take(ROWS).enumerate() {
            write!(self.output, "{:08X} :", (self.dumped + row * ROW) * 4)?;
            for word in words {
                write!(self.output, " {word:08X}")?;
            }
            writeln!(self.output)?;
        }
        self.dumped += rest.len().min(ROW * ROWS);
        let (shown, all) = (self.dumped * 4, self.buffer.len() * 4);
        let next = if shown < all { "; choose 4 again for more" } else { "" };
        writeln!(self.output, "Up to byte {shown} of {all}{next}")
    }

    /// The next line without spaces around it. Of a longer one than [`LINE`] the rest is thrown away.
    fn line(&mut self) -> Result<String, Stop> {
        match read_line(&mut self.input) {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(Stop::Ended),
            Err(error) => Err(Stop::Broken(ConsoleError::Input(error))),
        }
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if input.by_ref().take(LINE).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if !bytes.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}

/// An answer as a message repeats it: short, and without what moves a terminal's cursor.
fn shown(line: &str) -> String {
    let mut shown: String = line.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if line.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}

fn dwords(sectors: u32) -> usize {
    usize::try_from(u64::from(sectors) * u64::from(SECTOR_DWORDS)).expect("at most 2^23")
}

#[cfg(test)]
mod tests;

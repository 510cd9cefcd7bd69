//! `boardlab man`: the man pages, from the same definitions as the help.

use crate::args::{Cli, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_experiment::VERSION;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;

/// Prints the main page, or writes it and a page a command and action.
pub(super) fn perform(options: &Options) -> Result<Status, Error> {
    let output = Output::of_files(options)?;
    let mut top = Cli::command().disable_help_subcommand(true);
    // Gives the options of every command to every command.
    top.build();
    if output.has_folder() {
        for command in top.get_subcommands() {
            write(command, &output)?;
            for action in command.get_subcommands() {
                write(action, &output)?;
            }
        }
    }
    write(&top, &output)
}

fn write(command: &Command, output: &Output<'_>) -> Result<Status, Error> {
    let page = Man::new(command.clone());
    let page = page.source(format!("boardlab {VERSION}")).manual("boardlab manual");
    let text = render(&page, command).expect("memory takes what is written to it");
    output.file(&page.get_filename(), &text)
}

/// The sections that clap knows, and those of the text after the help.
fn render(page: &Man, command: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    sections(&after).to_writer(&mut text)?;
    if command.get_version().is_some() {
        page.render_version_section(&mut text)?;
    }
    Ok(text)
}

/// A line that ends in a colon is a heading; indented lines below it stay as they are.
fn sections(after: &str) -> Roff {
    let mut roff = Roff::default();
    let mut verbatim = false;
    for line in after.lines().filter(|line| !line.is_empty()) {
        let indented = line.starts_with(' ');
        if indented != verbatim {
            roff.control(if indented { "nf" } else { "fi" }, []);
            verbatim = indented;
        }
        match line.strip_suffix(':').filter(|_| !indented) {
            Some(heading) => roff.control("SH", [heading.to_uppercase().as_str()]),
            None => roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]),
        };
    }
    if verbatim {
        roff.control("fi", []);
    }
    roff
}

//! What a user can get wrong, and what boardlab says about it.
//!
//! Each case changes one thing of a scenario, a part, a board, a saved result or the arguments
//! that are right, runs the command, and holds the answer to this: exit status 2, nothing on
//! standard output, one error with its place, what was found and what to try, and no long wait.
//! The files are copies of the repository's own, so the cases say what to change, and the place is
//! where the change is. In reading order: [`case`], then a table of cases a file.

mod arguments;
#[path = "../bench/mod.rs"]
mod bench;
mod board;
mod card;
mod case;
mod console;
mod drive;
mod image;
mod life;
mod limits;
mod mistakes;
mod nand;
mod os;
mod part;
mod saved;
mod scenario;
mod set;
mod sweep;
mod workload;

use bench::{Scratch, repository, run_in};
use case::{Case, check};

/// All tables.
const TABLES: [&[Case]; 18] = [
    scenario::VALUES,
    scenario::FILES,
    part::CASES,
    board::CASES,
    workload::CASES,
    limits::CASES,
    nand::CASES,
    card::CASES,
    drive::CASES,
    life::CASES,
    set::CASES,
    sweep::CASES,
    arguments::CASES,
    arguments::FOLDERS,
    saved::CASES,
    image::CASES,
    console::CASES,
    os::CASES,
];

#[test]
fn there_are_many_cases_and_each_has_a_name_of_its_own() {
    let mut names: Vec<_> = TABLES.iter().flat_map(|cases| cases.iter().map(Case::name)).collect();
    assert!(names.len() >= 100, "{}", names.len());
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_files_that_the_cases_change_are_right() {
    let scratch = Scratch::new();
    case::write_right_files(&scratch);
    let arguments = ["run", "scenario.toml", "--set", "workload.bytes=1KiB", "--quiet"];
    let outcome = run_in(scratch.path(), &arguments);
    assert!(outcome.status <= 1, "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
    assert!(repository("scenarios/nor-write.toml").contains("\npart = \"nor-evaluation\"\n"));
}

#[test]
fn a_wrong_value_in_a_scenario_is_refused() {
    check(scenario::VALUES);
}

#[test]
fn a_file_that_is_no_scenario_is_refused() {
    check(scenario::FILES);
}

#[test]
fn a_wrong_part_is_refused() {
    check(part::CASES);
}

#[test]
fn a_wrong_board_is_refused() {
    check(board::CASES);
}

#[test]
fn wrong_data_to_write_is_refused() {
    check(workload::CASES);
}

#[test]
fn a_value_beyond_any_device_is_refused() {
    check(limits::CASES);
}

#[test]
fn wrong_input_of_the_nand_experiment_is_refused() {
    check(nand::CASES);
}

#[test]
fn a_wrong_card_is_refused() {
    check(card::CASES);
}

#[test]
fn a_wrong_drive_or_what_it_cannot_do_is_refused() {
    check(drive::CASES);
}

#[test]
fn wrong_loads_of_a_life_are_refused() {
    check(life::CASES);
}

#[test]
fn a_wrong_set_is_refused() {
    check(set::CASES);
}

#[test]
fn a_wrong_sweep_is_refused() {
    check(sweep::CASES);
}

#[test]
fn wrong_arguments_are_refused() {
    check(arguments::CASES);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    check(arguments::FOLDERS);
}

#[test]
fn a_file_that_is_no_saved_result_is_refused() {
    check(saved::CASES);
}

#[test]
fn a_file_that_is_no_image_is_refused() {
    check(image::CASES);
}

#[test]
fn a_menu_for_what_is_no_drive_is_refused() {
    check(console::CASES);
}

#[test]
fn a_program_or_a_machine_that_cannot_be_is_refused() {
    check(os::CASES);
}

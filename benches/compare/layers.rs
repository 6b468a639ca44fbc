//! Checks in layers by the method `revise`, which is the approach as published, by the method
//! `native`, and of the state space as a whole. Verdicts and what is between the layers must agree.

use crate::child::{Program, Run, Scratch};
use crate::table::Table;
use crate::{Options, median};
use serde_json::Value;
use std::path::Path;

/// With layers, a check should take at most so many times the CPU time of the whole.
const WHOLE_TARGET: f64 = 3.0;

/// Below so many seconds of the whole check, starting the program is most of it.
const TELLING: f64 = 0.05;

/// What is checked: a specification, its module, initial state and formula, and the layers.
const ROWS: [[&str; 5]; 11] = [
    ["anderson", "ANDERSON-CHECK", "init5", "lofree", "2 2"],
    ["anderson", "ANDERSON-CHECK", "init7", "lofree", "2 2"],
    ["km", "KM-CHECK", "init8", "cstable", "2 2"],
    ["km", "KM-CHECK", "init10", "cstable", "2 2"],
    ["mcs", "MCS-CHECK", "init3", "lofree", "4 4 4 4"],
    ["mcs", "MCS-CHECK", "init4", "lofree", "4 4 4 4"],
    ["qlock", "QLOCK-CHECK", "init6", "lofree", "2 2"],
    ["qlock", "QLOCK-CHECK", "init7", "lofree", "2 2"],
    ["qlock", "QLOCK-CHECK", "init8", "lofree", "2 2"],
    ["tas", "TAS-CHECK", "init7", "lofree", "3 3"],
    ["tas", "TAS-CHECK", "init8", "lofree", "3 3"],
];

/// The three ways to check.
const WAYS: [&str; 3] = ["revise", "native", "whole"];

/// All runs of one row in one way.
struct Record {
    cpu: Vec<f64>,
    megabytes: Vec<f64>,
    /// The verdict, and states and counterexample states after each layer.
    said: (Value, Vec<[Value; 2]>),
}

/// Checks every row in the three ways, one after the other. False if answers differ or a check failed.
pub fn layers(options: &Options) -> Result<bool, String> {
    let rwl = Program::rwl()?;
    let scratch = Scratch::new()?;
    let is_asked_for = |row: &&[&str; 5]| {
        let name = name(row);
        options.filters.is_empty() || options.filters.iter().any(|filter| name.contains(filter))
    };
    let mut table = Table::new(&[
        "check",
        "layers",
        "revise s",
        "native s",
        "ratio",
        "whole s",
        "native / whole",
        "revise MB",
        "native MB",
        "whole MB",
    ]);
    let mut failures = Vec::new();
    for row in ROWS.iter().filter(is_asked_for) {
        eprintln!("{} ...", name(row));
        match measure(options, &rwl, row, &scratch)? {
            Ok(records) => table.row(figures(row, &records, &mut failures)),
            Err(failure) => failures.push(format!("FAILED {}: {failure}", name(row))),
        }
    }
    table.print(options.markdown);
    failures.iter().for_each(|failure| println!("{failure}"));
    if failures.is_empty() {
        println!("all results agree");
    }
    Ok(failures.is_empty())
}

fn name(row: &[&str; 5]) -> String {
    format!("{}-{}", row[0], row[2].trim_start_matches("init"))
}

/// Runs a row in all ways, in rounds.
fn measure(
    options: &Options,
    rwl: &Program,
    row: &[&str; 5],
    scratch: &Scratch,
) -> Result<Result<Vec<Record>, String>, String> {
    let mut records: Vec<Record> = Vec::new();
    for _ in 0..options.rounds {
        for (at, way) in WAYS.iter().enumerate() {
            let run = check(options, rwl, row, way, scratch)?;
            let said = match said(&run) {
                Ok(said) => said,
                Err(failure) => return Ok(Err(format!("{way}: {failure}"))),
            };
            match records.get_mut(at) {
                None => records.push(Record { cpu: vec![run.cpu], megabytes: vec![run.megabytes], said }),
                Some(record) if record.said == said => {
                    record.cpu.push(run.cpu);
                    record.megabytes.push(run.megabytes);
                }
                Some(_) => return Ok(Err(format!("{way}: answers differ between rounds"))),
            }
        }
    }
    Ok(Ok(records))
}

fn check(
    options: &Options,
    rwl: &Program,
    row: &[&str; 5],
    way: &str,
    scratch: &Scratch,
) -> Result<Run, String> {
    let [spec, module, init, formula, layers] = row;
    let file = format!("{spec}.rwl");
    let mut args = vec!["check", &file, "--module", module, "--init", init, "--formula", formula];
    args.extend(["--format", "json", "--threads", "1", "--layers"]);
    match way {
        "whole" => args.push("none"),
        method => args.extend([layers, "--method", method]),
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    rwl.run_with(&args, &folder, options.limit, scratch)
}

/// What a run said.
fn said(run: &Run) -> Result<(Value, Vec<[Value; 2]>), String> {
    if let Some(failure) = &run.failure {
        return Err(failure.clone());
    }
    let mut object: Value = serde_json::from_str(&run.stdout).map_err(|e| e.to_string())?;
    let layers = object["layers"].as_array().ok_or("no layers")?;
    let counts = |layer: &Value| ["states", "counterexample_states"].map(|key| layer[key].clone());
    let layers = layers.iter().map(counts).collect();
    Ok((object["verdict"].take(), layers))
}

/// A line of the table; differences are failures.
fn figures(row: &[&str; 5], records: &[Record], failures: &mut Vec<String>) -> Vec<String> {
    let [revise, native, whole] = records else { unreachable!("a record for each way") };
    if revise.said != native.said || native.said.0 != whole.said.0 {
        failures.push(format!("FAILED {}: {:?} {:?} {:?}", name(row), revise.said, native.said, whole.said));
    }
    let [revised, divided, undivided] = [revise, native, whole].map(|record| median(&record.cpu));
    if undivided > TELLING && divided > WHOLE_TARGET * undivided {
        failures.push(format!("FAILED {}: more than {WHOLE_TARGET} times the whole", name(row)));
    }
    let mut cells = vec![name(row), row[4].to_string()];
    cells.extend([format!("{revised:.2}"), format!("{divided:.2}"), format!("{:.0}x", revised / divided)]);
    cells.extend([format!("{undivided:.2}"), format!("{:.2}x", divided / undivided)]);
    cells.extend([revise, native, whole].map(|record| format!("{:.0}", median(&record.megabytes))));
    cells
}

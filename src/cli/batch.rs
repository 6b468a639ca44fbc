//! `rwl batch`: plans are read, rehearsed, run, and reported.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;

use super::args::{BatchArgs, Common, Format, When};
use super::live::View;
use super::output::{Output, Style, appendable, cannot_write, is_capable, unwritable};
use super::run::{cores, end_as_interrupted, on_interrupt};
use super::{ExitCode, memory};
use crate::base::{Cancel, Diagnostic, Severity, SourceMap};
use crate::batch::{self, Claim, Event, Setup};
use crate::interp::{Host, Status};
use crate::report::{BatchReport, ClaimReport, Ended, Verdict};

/// Runs the claims of the plans.
pub fn run(args: &BatchArgs, common: &Common) -> ExitCode {
    let stop = Cancel::default();
    let mut screen = match output("batch", common, None, &stop) {
        Ok(output) => output,
        Err(code) => return code,
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            screen.message(&format!("error: this program cannot be found: {error}\n"));
            return ExitCode::Internal;
        }
    };
    let mut sources = SourceMap::default();
    let Some(claims) = claims(args, &mut sources, &mut screen) else { return ExitCode::BadInput };
    if args.list {
        return match output("batch", common, common.output.as_deref(), &stop) {
            Ok(mut output) => {
                list(&claims, common.format, &mut output);
                written(&output).unwrap_or(ExitCode::Success)
            }
            Err(code) => code,
        };
    }
    let threads = common.threads.unwrap_or_else(cores);
    if !rehearse(&claims, &program, threads, common.format, &sources, &mut screen) {
        return ExitCode::BadInput;
    }
    if let Some(path) = &args.html
        && let Err(error) = appendable(path)
    {
        return unwritable("batch", common.format, path, &error);
    }
    // Only now: a report from before is better than none.
    let mut output = match output("batch", common, common.output.as_deref(), &stop) {
        Ok(output) => output,
        Err(code) => return code,
    };
    let start = Instant::now();
    let mut view = match common.progress {
        When::Never => View::Nothing,
        When::Auto if common.quiet || common.format == Format::Json => View::Nothing,
        _ if is_capable() => View::table(&claims, screen.colours_messages()),
        _ => View::Lines { color: screen.colours_messages(), done: 0, all: claims.len() },
    };
    let setup = Setup {
        program,
        threads,
        memory: common.memory.or_else(memory::available),
        deadline: common.time.and_then(|time| start.checked_add(time)),
        checkpoint: args.checkpoint.clone(),
        resume: args.resume,
        progress: matches!(view, View::Table(_)),
        stop: stop.clone(),
        kill: Cancel::default(),
    };
    watch_interrupts(&setup);
    let mut lines = Lines { texts: vec![None; claims.len()], written: 0 };
    let reports = batch::run(&claims, &setup, &mut |event| {
        view.show(&event);
        if let Event::Done(place, report) = event
            && common.format == Format::Json
        {
            view.suspend(|| lines.put(place, report, &mut output));
        }
    });
    view.end();
    let report = BatchReport { claims: &reports, time: start.elapsed() };
    if common.format == Format::Text {
        let text = report.text(output.colours_answers());
        output.put(&text);
    }
    let mut status = status(&reports);
    if let Some(path) = &args.html
        && let Err(error) = std::fs::write(path, report.page())
    {
        screen.diagnostic(&cannot_write(path, &error), &SourceMap::default());
        status.errors += 1;
    }
    written(&output).unwrap_or_else(|| ExitCode::of(&status))
}

/// Standard output, or a file.
pub(super) fn output(
    command: &str,
    common: &Common,
    file: Option<&Path>,
    stop: &Cancel,
) -> Result<Output, ExitCode> {
    let style = Style {
        format: common.format,
        wrap: false,
        color: common.color,
        side_to_stderr: false,
        progress: When::Never,
    };
    let output = Output::new(file, &style, stop.clone());
    output.map_err(|error| unwritable(command, common.format, file.unwrap_or("".as_ref()), &error))
}

/// How to end if the report could not be written, unless the reader has gone.
pub(super) fn written(output: &Output) -> Option<ExitCode> {
    if let Some(error) = output.take_failure() {
        let _ = writeln!(io::stderr(), "error: cannot write the report: {error}");
        return Some(ExitCode::Unknown);
    }
    None
}

/// The claims that are asked for, unless a plan has mistakes; these are told.
pub(super) fn claims(args: &BatchArgs, sources: &mut SourceMap, screen: &mut Output) -> Option<Vec<Claim>> {
    let (mut claims, mut mistakes) = (Vec::new(), Vec::new());
    for path in &args.plans {
        match std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
            Ok(text) => {
                let file = sources.add(path.display().to_string(), text);
                claims.extend(batch::read_plan(sources, file, &mut mistakes));
            }
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                mistakes.push(Diagnostic::new(Severity::Error, "no-file", message, None));
            }
        }
    }
    for (place, claim) in claims.iter().enumerate() {
        if let Some(first) = claims[..place].iter().find(|first| first.name == claim.name) {
            let error = Diagnostic::error("same-name", "another claim has this name", claim.span);
            mistakes.push(error.note(Some(first.span), "the first one"));
        }
    }
    for mistake in &mistakes {
        screen.diagnostic(mistake, sources);
    }
    if !mistakes.is_empty() {
        return None;
    }
    let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    let is_asked_for = |claim: &Claim, part: &String| {
        contains(&claim.name, part) || claim.group.as_ref().is_some_and(|group| contains(group, part))
    };
    if !args.filter.is_empty() {
        claims.retain(|claim| args.filter.iter().any(|part| is_asked_for(claim, part)));
    }
    if claims.is_empty() {
        let message = "no claim has such a name".to_owned();
        let hint = "--list without --filter shows all of them";
        let error = Diagnostic::new(Severity::Error, "no-claims", message, None).hint(hint);
        screen.diagnostic(&error, sources);
        return None;
    }
    if let Some(layers) = &args.layers {
        let has_depths = !["auto", "none"].contains(&layers.trim());
        for claim in &mut claims {
            claim.layers = Some(layers.clone());
            // The other method needs depths.
            claim.method = claim.method.take().filter(|_| has_depths);
        }
    }
    Some(claims)
}

/// The claims with their commands.
fn list(claims: &[Claim], format: Format, output: &mut Output) {
    let mut text = String::new();
    let mut group = None;
    for claim in claims {
        let command = claim.command();
        if format == Format::Json {
            let expect = claim.expect.map(Verdict::text);
            let object = json!({"rwl": 1, "name": claim.name, "group": claim.group, "expect": expect, "command": command});
            text.push_str(&format!("{object}\n"));
            continue;
        }
        if group != Some(&claim.group) {
            match &claim.group {
                Some(heading) => text.push_str(&format!("{heading}\n")),
                // These would seem to belong to the heading before them.
                None if group.is_some() => text.push_str("(no heading)\n"),
                None => {}
            }
        }
        group = Some(&claim.group);
        text.push_str(&format!("  {}\n      {command}\n", claim.name));
    }
    output.put(&text);
}

/// Are all specifications, initial states and formulas well-formed? Mistakes are told.
pub(super) fn rehearse(
    claims: &[Claim],
    program: &PathBuf,
    threads: usize,
    format: Format,
    sources: &SourceMap,
    screen: &mut Output,
) -> bool {
    let words = [
        "--format",
        if format == Format::Json { "json" } else { "text" },
        "--color",
        if screen.colours_messages() { "always" } else { "never" },
    ];
    let mistakes = batch::rehearse(claims, program, threads, words);
    for (place, said) in &mistakes {
        let claim = &claims[*place];
        let error = Diagnostic::error("bad-claim", "this claim cannot be checked", claim.span);
        screen.diagnostic(&error, sources);
        screen.message(said);
    }
    mistakes.is_empty()
}

/// Lines of JSON, written in the order of the plan, each as soon as it is its turn.
struct Lines {
    texts: Vec<Option<String>>,
    written: usize,
}

impl Lines {
    fn put(&mut self, place: usize, report: &ClaimReport, output: &mut Output) {
        self.texts[place] = Some(format!("{}\n", report.json()));
        while let Some(text) = self.texts.get_mut(self.written).and_then(Option::take) {
            output.put(&text);
            self.written += 1;
        }
    }
}

/// What the reports mean for the exit code.
pub(super) fn status(reports: &[ClaimReport]) -> Status {
    let mut status = Status::default();
    for report in reports {
        match (report.ended, report.verdict) {
            (Ended::Broken, _) => status.internal = true,
            (Ended::Refused, _) => status.errors += 1,
            _ if report.is_as_expected() => {}
            _ if report.differs() => status.violated = true,
            (_, Verdict::Violated) => status.violated = true,
            (_, Verdict::Unknown) => status.stopped = true,
            (_, Verdict::Holds) => {}
        }
    }
    status
}

/// Ctrl-C stops the claims that run, which then say what they know; the second time it kills them.
fn watch_interrupts(setup: &Setup) {
    let (stop, kill) = (setup.stop.clone(), setup.kill.clone());
    end_as_interrupted();
    on_interrupt(move || if stop.is_raised() { kill.raise() } else { stop.raise() });
}

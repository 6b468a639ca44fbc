//! Arguments: our own in the usual style, and Maude's flags with a single dash.
//!
//! The one user of `clap`. Maude's flags are translated to long options before clap sees them,
//! so that both spellings give the same errors and the same help.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::base::THREADS_MAX;
use crate::base::bytes;
use crate::check::layers::Layers;
use serde_json::{Value, json};

use clap::{ArgAction, Args, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Rewriting logic: reads Maude's language.
#[derive(Parser, Debug)]
#[command(name = "rwl", bin_name = "rwl", version, about = ABOUT, disable_version_flag = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub plain: Plain,
}

/// Arguments without a subcommand.
#[derive(Args, Debug)]
pub struct Plain {
    /// Files to load before reading commands
    pub files: Vec<String>,
    /// Print the version
    #[arg(long, short = 'V')]
    pub version: bool,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub maude: MaudeFlags,
}

const ABOUT: &str = "Rewriting logic: reads Maude's language.\n\n\
Without a subcommand rwl is a drop-in for maude: it loads the files, then reads commands\n\
from the terminal or from standard input. Maude's own flags (-no-banner, -batch, ...) work\n\
as well.";

const AFTER_HELP: &str = "\
Exit codes: 0 fine, 1 a claim is violated, 2 bad input, 3 interrupted or a limit was\n\
reached, 4 internal error.\n\
Files are also looked for in the directories of RWL_LIB and MAUDE_LIB.";

const SEARCH_HELP: &str = "\
Example: rwl search qlock.rwl --init init3 --pattern '{(pc[p1]: cs) (pc[p2]: cs) OCs}'\n\
Terms are read in the module; commands in the file are not executed.\n\
Exit codes: 0 the search came to its end, with or without solutions, 2 bad input,\n\
3 interrupted or a limit was reached, 4 internal error.";

const PLAN_HELP: &str = "\
Example: rwl plan qlock.rwl --init init8 --formula lofree --layers '2 2' --into jobs\n\
writes jobs/1.job to jobs/16.job and jobs/plan.json. Each job needs nothing but rwl: run it\n\
anywhere with `rwl job run`, have its result beside it, and `rwl plan collect jobs` tells\n\
the verdict.\n\
Exit codes: 0 fine, 1 a formula is violated, 2 bad input, 3 unknown, 4 internal error.";

const JOB_HELP: &str = "\
N.job gets N.result beside it, or N.unknown if a limit was reached; running it again then\n\
tries again. It does no harm to run a job twice, or two at a time, or to kill it.\n\
Exit codes: 0 no violation starts here, 1 one does, 2 bad input, 3 unknown, 4 internal error.";

const BATCH_HELP: &str = "\
A plan is a TOML file with a [[claim]] for each claim: `name`, `spec` (a file beside the\n\
plan), `module`, `init`, `formula`, `layers`, `method`, `fair-weak`, `fair-strong`, `memory`,\n\
`threads`, `time`, `expect`, `group` (a heading of the report) and `reference` (columns of\n\
the report). Keys before the first claim are defaults for all.\n\
--memory and --time are for all claims together; without --memory they share what is free.\n\
Exit codes: 0 every claim holds, or has the verdict that the plan expects, 1 a claim is\n\
violated, or its verdict differs from the expected one, 2 bad input, 3 unknown, 4 internal\n\
error; where several are true, the first of 4, 2, 1 and 3.";

/// Do arguments that cannot be understood ask for answers in JSON?
pub fn wants_json(args: &[OsString]) -> bool {
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    words.iter().any(|&word| word == "--format=json")
        || words.windows(2).any(|pair| pair == ["--format", "json"])
}

/// What is wrong with arguments, as an answer.
pub fn error_json(args: &[OsString], error: &clap::Error) -> Value {
    const COMMANDS: [&str; 6] = ["run", "check", "plan", "job", "batch", "search"];
    let command = args.get(1).and_then(|arg| arg.to_str()).filter(|word| COMMANDS.contains(word));
    let text = error.to_string();
    // After an empty line comes how to use it.
    let (message, hint) = text.split_once("\n\n").unwrap_or((&text, ""));
    usage_json(command, message.trim().trim_start_matches("error: "), hint.trim())
}

/// The same for what was seen later.
pub fn usage_json(command: Option<&str>, message: &str, hint: &str) -> Value {
    json!({
        "rwl": 1, "command": command, "verdict": null, "severity": "error", "code": "usage", "message": message,
        "hint": Some(hint).filter(|hint| !hint.is_empty()),
    })
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Load and execute files, then exit
    Run {
        /// Files to load, in this order
        #[arg(required = true)]
        files: Vec<String>,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
    /// Check temporal formulas
    Check {
        #[command(flatten)]
        check: CheckArgs,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
    /// Write the final layer of a check as jobs for other machines, and collect their results
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = PLAN_HELP)]
    Plan {
        #[command(subcommand)]
        collect: Option<PlanCommand>,
        #[command(flatten)]
        plan: Option<PlanArgs>,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
    /// Run a job that `rwl plan` has written
    Job {
        #[command(subcommand)]
        command: JobCommand,
    },
    /// Check the claims of plans, many at a time
    #[command(after_help = BATCH_HELP)]
    Batch {
        #[command(flatten)]
        batch: BatchArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Search the states that a specification can reach
    #[command(after_help = SEARCH_HELP)]
    Search {
        #[command(flatten)]
        search: SearchArgs,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
}

#[derive(Subcommand, Debug)]
pub enum PlanCommand {
    /// Tell what follows from the results of a plan's jobs, as `rwl check` would
    Collect {
        /// The directory of the plan
        directory: PathBuf,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
}

#[derive(Subcommand, Debug)]
pub enum JobCommand {
    /// Do a job and write its result beside it; one that is done is not done again
    #[command(after_help = JOB_HELP)]
    Run {
        /// The file of the job
        file: PathBuf,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
}

/// What to plan, and where to.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// The file with the specification
    #[arg(required_unless_present = "claims", conflicts_with = "claims")]
    pub file: Option<String>,
    /// One job for each claim of this plan of `rwl batch`, instead of the final layer of one check
    #[arg(long, value_name = "PLAN.toml", conflicts_with_all = ["module", "init", "formula", "layers", "jobs", "pairs_per_job"])]
    pub claims: Option<PathBuf>,
    /// The module (default: the last one of the file)
    #[arg(long, value_name = "M")]
    pub module: Option<String>,
    /// The state to start from
    #[arg(long, value_name = "TERM", default_value = "init", allow_hyphen_values = true)]
    pub init: String,
    /// An LTL formula, as often as you like (default: every constant of sort Formula)
    #[arg(long, value_name = "F", allow_hyphen_values = true)]
    pub formula: Vec<String>,
    /// The depths of all layers but the last, such as '2 2', or as deep as needed
    #[arg(long, value_name = "DEPTHS|auto", value_parser = depths, default_value = "auto")]
    pub layers: Layers,
    /// So many jobs for each formula
    #[arg(long, value_name = "N", value_parser = positive, default_value = "16", conflicts_with = "pairs_per_job")]
    pub jobs: usize,
    /// So many pairs of a state and a state of the automaton for each job
    #[arg(long, value_name = "N", value_parser = positive)]
    pub pairs_per_job: Option<usize>,
    /// The directory for the plan and its jobs
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
}

/// What to check, and from where.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// The file with the specification
    pub file: String,
    /// The module (default: the last one of the file)
    #[arg(long, value_name = "M")]
    pub module: Option<String>,
    /// The state to start from
    #[arg(long, value_name = "TERM", default_value = "init", allow_hyphen_values = true)]
    pub init: String,
    /// An LTL formula, as often as you like (default: every constant of sort Formula)
    #[arg(long, value_name = "F", allow_hyphen_values = true)]
    pub formula: Vec<String>,
    /// Labels of rules that are taken if they are enabled from some time on
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub fair_weak: Vec<String>,
    /// Labels of rules that are taken if they are enabled again and again
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub fair_strong: Vec<String>,
    /// Divide the state space into layers of these depths, such as '2 2'; auto: if it does not fit
    /// into memory as a whole
    #[arg(long, value_name = "DEPTHS|auto|none", value_parser = layers, default_value = "auto")]
    pub layers: Division,
    /// How to check in layers: natively, or by the authors' revised modules, for comparison
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Method::Native, value_name = "native|revise", requires = "layers")]
    pub method: Method,
    /// Divide the state space and save what is done in this directory
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Go on with what is saved in the directory of --checkpoint
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Also write a page with all verdicts and runs
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Show all steps of long runs
    #[arg(long)]
    pub full: bool,
    /// Show the automata of the negated formulas instead of checking
    #[arg(long, value_enum, value_name = "hoa|dot")]
    pub automaton: Option<Automaton>,
}

/// How to divide the state space, if it may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Division {
    pub layers: Option<Layers>,
}

/// Which claims to check.
#[derive(Args, Clone, Debug)]
pub struct BatchArgs {
    /// The plans, TOML files
    #[arg(required = true, value_name = "PLAN.toml")]
    pub plans: Vec<PathBuf>,
    /// Only claims with this in their name or heading, as often as you like
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// List the claims, each with the command that checks it, and check nothing
    #[arg(long)]
    pub list: bool,
    /// Layers instead of those of the plan: depths such as '2 2', auto, or none
    #[arg(long, value_name = "DEPTHS|auto|none", value_parser = layers_text)]
    pub layers: Option<String>,
    /// Save what is done of claims in layers below this directory
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Go on with what is saved below the directory of --checkpoint
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Also write the report as a page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counterexample {
    Short,
    Maude,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Native,
    Revise,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Automaton {
    Hoa,
    Dot,
}

/// What to look for, and from where.
#[derive(Args, Clone, Debug)]
pub struct SearchArgs {
    /// The file with the specification
    pub file: String,
    /// The module (default: the last one of the file)
    #[arg(long, value_name = "M")]
    pub module: Option<String>,
    /// The term to start from
    #[arg(long, value_name = "TERM", default_value = "init", allow_hyphen_values = true)]
    pub init: String,
    /// What states should look like (default: anything)
    #[arg(long, value_name = "TERM", allow_hyphen_values = true)]
    pub pattern: Option<String>,
    /// What must hold of the pattern's variables
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub condition: Option<String>,
    /// After one step, some, any number, or at the end: =>1 =>+ =>* =>!
    #[arg(long, value_name = "ARROW", hide_possible_values = true, default_value = "=>*", value_parser = ["=>1", "=>+", "=>*", "=>!"])]
    pub arrow: String,
    /// Stop after so many solutions
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub solutions: Option<usize>,
    /// Make at most so many steps
    #[arg(long, value_name = "N", value_parser = natural, allow_negative_numbers = true)]
    pub depth: Option<u64>,
}

/// Options that mean the same everywhere.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Worker threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = thread_count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Memory that a command may use for states and tables, such as 2G or 500M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<usize>,
    /// Time that the whole run may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub time: Option<Duration>,
    /// How to write answers and messages
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Format::Text, value_name = "text|json")]
    pub format: Format,
    /// Which run shows that a formula is violated: a short one, or Maude's (not in layers)
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Counterexample::Short, value_name = "short|maude")]
    pub counterexample: Counterexample,
    /// Write answers to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show the progress of a search on standard error
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = When::Auto, value_name = "auto|always|never")]
    pub progress: When,
    /// Colour messages
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = When::Auto, value_name = "auto|always|never")]
    pub color: When,
    /// Say less: no banner, no advisories, no list of rules after a search
    #[arg(short, long)]
    pub quiet: bool,
    /// Say more: after a search, which rules were never applied; after a check, where layers end
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Maude's flags, after translation. Some have nothing to act upon here and are just taken.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Maude's flags (a single dash will do)")]
pub struct MaudeFlags {
    /// Do not read the standard prelude
    #[arg(long)]
    pub no_prelude: bool,
    /// Do not print the banner
    #[arg(long)]
    pub no_banner: bool,
    /// No advisories
    #[arg(long)]
    pub no_advise: bool,
    /// Show advisories whatever the options say
    #[arg(long)]
    pub always_advise: bool,
    /// Print terms in prefix form
    #[arg(long)]
    pub no_mixfix: bool,
    /// Do not break long lines
    #[arg(long)]
    pub no_wrap: bool,
    /// Use colours even if this is no terminal
    #[arg(long, overrides_with = "no_ansi_color")]
    pub ansi_color: bool,
    /// Never use colours
    #[arg(long, overrides_with = "ansi_color")]
    pub no_ansi_color: bool,
    /// Do not open a prompt
    #[arg(long)]
    pub batch: bool,
    /// Open a prompt even if this is no terminal
    #[arg(long)]
    pub interactive: bool,
    /// Print attributes write to standard error
    #[arg(long)]
    pub print_to_stderr: bool,
    /// Seed of the random number generator
    #[arg(long, value_name = "INT", default_value_t = 0)]
    pub random_seed: u32,
    #[arg(long, hide = true)]
    pub tecla: bool,
    #[arg(long, hide = true)]
    pub no_tecla: bool,
    #[arg(long, hide = true, value_name = "FILE")]
    pub xml_log: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub show_pid: bool,
    #[arg(long, hide = true)]
    pub erewrite_loop_mode: bool,
    #[arg(long, hide = true)]
    pub allow_processes: bool,
    #[arg(long, hide = true)]
    pub allow_files: bool,
    #[arg(long, hide = true)]
    pub allow_dir: bool,
    #[arg(long, hide = true)]
    pub trust: bool,
    #[arg(long, hide = true, value_name = "FLOAT")]
    pub assoc_unif_depth: Option<f64>,
    #[arg(long, hide = true)]
    pub no_execute: bool,
    #[arg(long, hide = true)]
    pub debug: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Auto,
    Always,
    Never,
}

/// Flags of Maude; one with `=` takes a value.
const MAUDE_FLAGS: &[&str] = &[
    "no-prelude",
    "no-banner",
    "no-advise",
    "always-advise",
    "no-mixfix",
    "no-wrap",
    "ansi-color",
    "no-ansi-color",
    "tecla",
    "no-tecla",
    "batch",
    "interactive",
    "print-to-stderr",
    "random-seed=",
    "xml-log=",
    "show-pid",
    "erewrite-loop-mode",
    "allow-processes",
    "allow-files",
    "allow-dir",
    "trust",
    "assoc-unif-depth=",
    "no-execute",
    "debug",
    "version",
    "help",
];

impl Cli {
    /// Reads the arguments of the process.
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut args: Vec<OsString> =
            args.into_iter().enumerate().map(|(i, arg)| if i == 0 { arg } else { translate(arg) }).collect();
        let plain = Plain::augment_args(clap::Command::new("rwl"));
        match first_word(&plain, &args) {
            // Options may also stand before the subcommand.
            Some((place, word)) if Command::has_subcommand(word) => {
                let word = args.remove(place);
                args.insert(1, word);
            }
            Some((_, "help")) => {}
            // Most runs have no subcommand: to describe all of them takes longer than a small run. What is
            // not in order is explained below.
            _ => {
                let matches = plain.try_get_matches_from(&args);
                if let Ok(plain) = matches.and_then(|matches| Plain::from_arg_matches(&matches)) {
                    return Ok(Cli { command: None, plain });
                }
            }
        }
        let cli = Cli::try_parse_from(args)?;
        if let Some(Command::Check { check, .. }) = &cli.command
            && check.layers.layers.is_none()
        {
            let contradiction = match (&check.checkpoint, check.method) {
                (Some(_), _) => "--checkpoint saves layers, so it does not go with --layers none",
                (_, Method::Revise) => {
                    "--method revise checks in layers, so it does not go with --layers none"
                }
                _ => return Ok(cli),
            };
            let mut command = <Cli as clap::CommandFactory>::command();
            return Err(command.error(clap::error::ErrorKind::ArgumentConflict, contradiction));
        }
        Ok(cli)
    }
}

/// The first argument that is no option, and where it stands.
fn first_word<'a>(plain: &clap::Command, args: &'a [OsString]) -> Option<(usize, &'a str)> {
    let takes_value = |option: &str| {
        option.strip_prefix("--").is_some_and(|name| {
            let mut named = plain.get_arguments().filter(|arg| arg.get_long() == Some(name));
            named.any(|arg| arg.get_action().takes_values())
        })
    };
    let mut place = 1;
    loop {
        let word = args.get(place)?.to_str()?;
        if !word.starts_with('-') {
            return Some((place, word));
        }
        place += if takes_value(word) { 2 } else { 1 };
    }
}

/// One of Maude's flags in our spelling; anything else as it is.
fn translate(arg: OsString) -> OsString {
    let Some(text) = arg.to_str() else { return arg };
    let Some(flag) = text.strip_prefix('-').filter(|flag| !flag.starts_with('-')) else { return arg };
    let known = MAUDE_FLAGS.iter().any(|known| match known.strip_suffix('=') {
        Some(name) => flag.split_once('=').is_some_and(|(key, _)| key == name),
        None => *known == flag,
    });
    if known { format!("-{text}").into() } else { arg }
}

/// A number of threads.
fn thread_count(text: &str) -> Result<usize, String> {
    let threads = positive(text)?;
    if threads > THREADS_MAX {
        Err(format!("more than {THREADS_MAX} threads are too many"))
    } else {
        Ok(threads)
    }
}

/// A number from 1 on.
fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "a number from 1 on is needed".to_owned())
}

/// `auto`, `none`, or depths from 1 on.
fn layers(text: &str) -> Result<Division, String> {
    let list = text.split([' ', ',']).filter(|word| !word.is_empty());
    let depths: Option<Vec<u32>> = list.map(|word| word.parse().ok().filter(|&depth| depth > 0)).collect();
    let steps = |depths: &Vec<u32>| depths.iter().map(|&depth| u64::from(depth)).sum::<u64>();
    if depths.as_ref().is_some_and(|depths| steps(depths) > u32::MAX.into()) {
        return Err("together these are too many steps".to_owned());
    }
    let layers = match (text.trim(), depths) {
        ("none", _) => None,
        ("auto", _) => Some(Layers::Auto),
        (_, Some(depths)) if !depths.is_empty() => Some(Layers::Depths(depths)),
        _ => return Err("depths from 1 on such as '2 2', auto or none are needed".to_owned()),
    };
    Ok(Division { layers })
}

/// `auto`, or depths from 1 on.
fn depths(text: &str) -> Result<Layers, String> {
    let wanted = || "depths from 1 on such as '2 2', or auto, are needed".to_owned();
    layers(text).ok().and_then(|division| division.layers).ok_or_else(wanted)
}

/// The same; the text as it is.
fn layers_text(text: &str) -> Result<String, String> {
    layers(text).map(|_| text.to_owned())
}

fn natural(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a number from 0 on is needed".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
    number.ok_or_else(|| "a number of seconds such as 60 or 0.5 is needed".to_owned())
}

fn size(text: &str) -> Result<usize, String> {
    bytes(text).ok_or_else(|| "a size looks like 2G or 500M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &str) -> Result<Cli, clap::Error> {
        Cli::from_args(std::iter::once("rwl").chain(args.split_whitespace()).map(OsString::from))
    }

    #[test]
    fn every_flag_of_maude_is_taken() {
        for flag in MAUDE_FLAGS.iter().filter(|f| **f != "help") {
            let value = if flag.ends_with('=') { "1" } else { "" };
            let cli = parse(&format!("-{flag}{value} a.maude")).unwrap();
            assert_eq!(cli.plain.files, ["a.maude"], "{flag}");
        }
        assert!(
            parse("-no-banner -batch -random-seed=7")
                .is_ok_and(|c| c.plain.maude.random_seed == 7 && c.plain.maude.batch)
        );
    }

    #[test]
    fn own_options() {
        assert!(parse("-q a b").is_ok_and(|c| c.plain.common.quiet && c.plain.files.len() == 2));
        assert!(parse("run -no-wrap a --format json").is_ok());
        assert!(parse("run").is_err());
        assert!(parse("search a.rwl --arrow =>! --depth 3 --threads 2").is_ok());
        assert!(parse("search a.rwl --arrow =>?").is_err());
        assert!(parse("search").is_err());
        for args in
            ["-v --threads 2 search a.rwl", "--threads=2 search a.rwl -v", "search a.rwl -v --threads 2"]
        {
            let Ok(Cli { command: Some(Command::Search { common, .. }), .. }) = parse(args) else {
                panic!("{args}")
            };
            assert_eq!((common.verbose, common.threads), (1, Some(2)), "{args}");
        }
        assert!(parse("a.maude search").is_ok_and(|c| c.plain.files.len() == 2));
        assert!(parse("-nonsense").is_err());
        for args in ["help", "--help", "-help", "a.maude --help"] {
            let error = parse(args).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{args}");
            assert!(error.to_string().contains("  batch "), "{error}");
        }
        assert!(parse("--memory 2G").is_ok_and(|c| c.plain.common.memory == Some(2 << 30)));
        assert!(parse("--memory 1.5k").is_ok_and(|c| c.plain.common.memory == Some(1536)));
        assert!(parse("--memory lots").is_err());
        assert!(parse("--threads 0").is_err());
        assert!(parse("check a.rwl --layers auto --checkpoint d --resume").is_ok());
        assert!(parse("check a.rwl --layers 2,2").is_ok());
        assert!(parse("check a.rwl --layers 0").is_err());
        assert!(parse("check a.rwl --layers deep").is_err());
        assert!(parse("check a.rwl --layers none").is_ok());
        assert!(parse("check a.rwl --layers none --method revise").is_err());
        assert!(parse("check a.rwl --layers none --checkpoint d").is_err());
        assert!(parse("check a.rwl --layers 4294967295,1").is_err());
        assert!(parse("check a.rwl --checkpoint d").is_ok());
        assert!(parse("check a.rwl --resume").is_err());
        assert!(parse("batch a.toml b.toml --filter x --filter y --list --layers none").is_ok());
        assert!(parse("batch").is_err());
        assert!(parse("batch a.toml --layers 0").is_err());
        assert!(parse("batch a.toml --resume").is_err());
        assert!(parse("plan a.rwl --into d --layers 2,2 --jobs 3").is_ok());
        assert!(parse("plan a.rwl --into d --layers none").is_err());
        assert!(parse("plan --claims a.toml --into d").is_ok());
        assert!(parse("plan --claims a.toml --into d --layers 2").is_err());
        assert!(parse("plan collect d").is_ok());
        assert!(parse("job run 1.job --memory 1G").is_ok());
        assert!(parse("--time 0.5").is_ok_and(|c| c.plain.common.time == Some(Duration::from_millis(500))));
        for time in ["-1", "soon", "inf", "nan"] {
            assert!(parse(&format!("--time {time}")).is_err(), "{time}");
        }
        Cli::try_parse_from(["rwl"]).unwrap();
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}

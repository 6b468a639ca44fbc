//! Arguments: our own in the usual style, and Maude's flags with a single dash.
//!
//! The one user of `clap`. Maude's flags are translated to long options before clap sees them,
//! so that both spellings give the same errors and the same help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// Rewriting logic: reads Maude's language.
#[derive(Parser, Debug)]
#[command(name = "rwl", version, about, long_about = LONG_ABOUT, disable_version_flag = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
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

const LONG_ABOUT: &str = "Rewriting logic: reads Maude's language.\n\n\
Without a subcommand rwl is a drop-in for maude: it loads the files, then reads commands from the \
terminal or from standard input. Maude's own flags (-no-banner, -batch, ...) work as well.";

const AFTER_HELP: &str = "Exit codes: 0 fine, 1 a claim is violated, 2 bad input, 3 interrupted or a limit \
was reached, 4 internal error.\n\
Files are also looked for in the directories of RWL_LIB and MAUDE_LIB.";

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Load and execute files, then exit
    Run {
        #[arg(required = true)]
        files: Vec<String>,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
    /// Search the states that a specification can reach
    Search {
        #[command(flatten)]
        search: SearchArgs,
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        maude: MaudeFlags,
    },
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
    /// After how many steps: one, some, any number, or at the end
    #[arg(long, value_name = "ARROW", default_value = "=>*", value_parser = ["=>1", "=>+", "=>*", "=>!"])]
    pub arrow: String,
    /// Stop after so many solutions
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    pub solutions: Option<u64>,
    /// Make at most so many steps
    #[arg(long, value_name = "N")]
    pub depth: Option<u64>,
}

/// Options that mean the same everywhere.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Worker threads (default: all cores)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory that a command may use, such as 2G or 500M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<usize>,
    /// Time that the whole run may take, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<f64>,
    /// How to write answers and messages
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "text|json")]
    pub format: Format,
    /// Write answers to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show progress of long runs
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "auto|always|never")]
    pub progress: When,
    /// Colour messages
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "auto|always|never")]
    pub color: When,
    /// Say less: no banner, no advisories
    #[arg(short, long)]
    pub quiet: bool,
    /// Say more
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
        Cli::try_parse_from(
            args.into_iter().enumerate().map(|(i, arg)| if i == 0 { arg } else { translate(arg) }),
        )
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

/// `500M`, `2G`, `64k`, or bytes.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => f64::from(1 << 10),
        "m" => f64::from(1 << 20),
        "g" => f64::from(1 << 30),
        "t" => 1024.0 * f64::from(1 << 30),
        _ => f64::NAN,
    };
    let bytes = digits.parse::<f64>().unwrap_or(f64::NAN) * factor;
    if bytes >= 1.0 && bytes < usize::MAX as f64 {
        Ok(bytes as usize)
    } else {
        Err("a size looks like 2G or 500M".to_owned())
    }
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
            assert_eq!(cli.files, ["a.maude"], "{flag}");
        }
        assert!(
            parse("-no-banner -batch -random-seed=7")
                .is_ok_and(|c| c.maude.random_seed == 7 && c.maude.batch)
        );
    }

    #[test]
    fn own_options() {
        assert!(parse("-q a b").is_ok_and(|c| c.common.quiet && c.files.len() == 2));
        assert!(parse("run -no-wrap a --format json").is_ok());
        assert!(parse("run").is_err());
        assert!(parse("search a.rwl --arrow =>! --depth 3 --threads 2").is_ok());
        assert!(parse("search a.rwl --arrow =>?").is_err());
        assert!(parse("search").is_err());
        assert!(parse("-nonsense").is_err());
        assert!(parse("--memory 2G").is_ok_and(|c| c.common.memory == Some(2 << 30)));
        assert!(parse("--memory 1.5k").is_ok_and(|c| c.common.memory == Some(1536)));
        assert!(parse("--memory lots").is_err());
        Cli::try_parse_from(["rwl"]).unwrap();
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}

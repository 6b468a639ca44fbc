//! The words that begin and end things, and what each begins.

/// What a word begins inside a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DeclWord {
    /// `sort`, `subsort`, `var`, imports: ends at the first period outside brackets.
    Plain,
    /// `op` and its kin: as `Plain`, but the name before the colon may contain a period.
    Op,
    /// `eq` and its kin: bubbles with these words between them.
    Bubble(&'static [&'static str]),
}

/// What the word begins inside a module, if anything.
pub(super) fn decl_word(word: &str) -> Option<DeclWord> {
    Some(match word {
        "protecting" | "pr" | "extending" | "ex" | "including" | "inc" | "using" | "us" | "generated-by"
        | "gb" | "sort" | "sorts" | "subsort" | "subsorts" | "var" | "vars" | "class" | "classes"
        | "subclass" | "subclasses" | "strat" | "strats" => DeclWord::Plain,
        "op" | "ops" | "msg" | "msgs" => DeclWord::Op,
        "eq" => DeclWord::Bubble(&["="]),
        "ceq" | "cq" => DeclWord::Bubble(&["=", "if"]),
        "mb" => DeclWord::Bubble(&[":"]),
        "cmb" => DeclWord::Bubble(&[":", "if"]),
        "rl" => DeclWord::Bubble(&["=>"]),
        "crl" => DeclWord::Bubble(&["=>", "if"]),
        "sd" => DeclWord::Bubble(&[":="]),
        "csd" => DeclWord::Bubble(&[":=", "if"]),
        _ => return None,
    })
}

/// All words for which [`decl_word`] answers, for hints.
pub(super) const DECL_WORDS: &[&str] = &[
    "protecting",
    "pr",
    "extending",
    "ex",
    "including",
    "inc",
    "generated-by",
    "gb",
    "sort",
    "sorts",
    "subsort",
    "subsorts",
    "var",
    "vars",
    "op",
    "ops",
    "msg",
    "msgs",
    "eq",
    "ceq",
    "cq",
    "mb",
    "cmb",
    "rl",
    "crl",
];

/// Words of Maude that are read but not supported yet inside a module.
pub(super) fn is_unsupported_decl(word: &str) -> bool {
    matches!(
        word,
        "sd" | "csd" | "strat" | "strats" | "class" | "classes" | "subclass" | "subclasses" | "using" | "us"
    )
}

pub(super) const VIEW_WORDS: &[&str] =
    &["sort", "op", "label", "var", "vars", "msg", "strat", "class", "attr"];

/// Does the word end a module or a view?
pub(super) fn is_end_word(word: &str) -> bool {
    matches!(
        word,
        "endfm"
            | "endm"
            | "endfth"
            | "endth"
            | "endom"
            | "endoth"
            | "endsm"
            | "endsth"
            | "endv"
            | "endo"
            | "jbo"
    )
}

/// Does a period before this word end a statement?
pub(super) fn ends_statement(word: &str) -> bool {
    decl_word(word).is_some() || is_end_word(word)
}

/// The word that ends what this word begins, if it begins a module or a view.
pub(super) fn end_word_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "fmod" => "endfm",
        "mod" => "endm",
        "fth" => "endfth",
        "th" => "endth",
        "omod" => "endom",
        "oth" => "endoth",
        "smod" => "endsm",
        "sth" => "endsth",
        "view" => "endv",
        _ => return None,
    })
}

/// How far a command goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommandWord {
    /// To a period at the end of a line.
    Bubble,
    /// To the first period.
    Plain,
    /// To the end of the line, which is not cut into tokens.
    Line,
    /// Just this word.
    Bare,
}

/// What kind of command the word begins, if any.
pub(super) fn command_word(word: &str) -> Option<CommandWord> {
    Some(match word {
        "reduce" | "red" | "rewrite" | "rew" | "frewrite" | "frew" | "search" | "match" | "xmatch"
        | "parse" | "select" | "show" | "do" | "loop" | "debug" => CommandWord::Bubble,
        "set" | "continue" | "cont" | "trace" | "break" | "print" => CommandWord::Plain,
        "load" | "sload" | "in" | "cd" | "ls" | "pushd" => CommandWord::Line,
        "pwd" | "popd" | "quit" | "q" | "eof" | "help" => CommandWord::Bare,
        _ if is_unsupported_command(word) => match word {
            "where" | "resume" | "step" | "abort" => CommandWord::Plain,
            _ => CommandWord::Bubble,
        },
        _ => return None,
    })
}

/// All supported words for which [`command_word`] answers, and those that begin modules, for hints.
pub(super) const TOP_WORDS: &[&str] = &[
    "fmod",
    "mod",
    "fth",
    "th",
    "view",
    "reduce",
    "red",
    "rewrite",
    "rew",
    "frewrite",
    "frew",
    "search",
    "match",
    "xmatch",
    "parse",
    "select",
    "show",
    "do",
    "loop",
    "debug",
    "set",
    "continue",
    "cont",
    "trace",
    "break",
    "print",
    "load",
    "sload",
    "in",
    "cd",
    "ls",
    "pushd",
    "pwd",
    "popd",
    "quit",
    "eof",
    "help",
    "initialize",
    "check",
    "layerCheck",
    "lastCheck",
    "analyze",
    "showCx",
    "clear",
    "set-cores",
    "solver-help",
];

/// How far a command of the layered checker goes if it stands without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LayeredWord {
    /// To the bracket that closes.
    Bracket,
    /// To a period or the end of the line.
    Line,
    /// Just this word.
    Bare,
}

/// What kind of command of the layered checker the word begins, if any.
pub(super) fn layered_word(word: &str) -> Option<LayeredWord> {
    Some(match word {
        "initialize" => LayeredWord::Bracket,
        "check" | "layerCheck" | "set-cores" => LayeredWord::Line,
        "lastCheck" | "analyze" | "showCx" | "clear" | "solver-help" => LayeredWord::Bare,
        _ => return None,
    })
}

/// Commands of Maude that are read but not supported yet.
pub(super) fn is_unsupported_command(word: &str) -> bool {
    matches!(
        word,
        "srewrite"
            | "srew"
            | "dsrewrite"
            | "dsrew"
            | "erewrite"
            | "erew"
            | "creduce"
            | "cred"
            | "sreduce"
            | "sred"
            | "unify"
            | "variant"
            | "irredundant"
            | "irred"
            | "filtered"
            | "get"
            | "narrow"
            | "vu-narrow"
            | "fvu-narrow"
            | "xg-narrow"
            | "smt-search"
            | "check"
            | "deselect"
            | "where"
            | "resume"
            | "step"
            | "abort"
            | "dump"
    )
}

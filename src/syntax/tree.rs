//! The surface tree: what was written, with places, before anything is looked up.

use crate::base::{Name, Span};

/// One lexical token. Special characters `( ) [ ] { } ,` are tokens of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub name: Name,
    pub span: Span,
}

/// Tokens whose structure depends on the operators in scope.
pub type Bubble = Vec<Token>;

/// A top-level item of a file, in the order of the text.
#[derive(Clone, Debug)]
pub enum Item {
    Module(ModuleDecl),
    View(ViewDecl),
    Command(Command),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleKind {
    /// `fmod ... endfm`
    Fmod,
    /// `mod ... endm`
    Mod,
    /// `fth ... endfth`
    Fth,
    /// `th ... endth`
    Th,
}

impl ModuleKind {
    pub fn is_theory(self) -> bool {
        matches!(self, ModuleKind::Fth | ModuleKind::Th)
    }
    pub fn has_rules(self) -> bool {
        matches!(self, ModuleKind::Mod | ModuleKind::Th)
    }
}

#[derive(Clone, Debug)]
pub struct ModuleDecl {
    pub kind: ModuleKind,
    pub name: Token,
    pub params: Vec<ParamDecl>,
    pub decls: Vec<Decl>,
    pub span: Span,
}

/// `X :: TRIV`
#[derive(Clone, Debug)]
pub struct ParamDecl {
    pub name: Token,
    pub theory: ModuleExpr,
}

#[derive(Clone, Debug)]
pub enum ModuleExpr {
    Name(Token),
    /// `LIST{Nat}`; arguments are views or parameters of the enclosing module.
    Instance {
        module: Box<ModuleExpr>,
        args: Vec<ViewExpr>,
        span: Span,
    },
    /// `M * (sort A to B, ...)`
    Rename {
        module: Box<ModuleExpr>,
        items: Vec<RenameItem>,
        span: Span,
    },
    /// `M + N + ...`, flattened.
    Sum(Vec<ModuleExpr>),
}

#[derive(Clone, Debug)]
pub enum ViewExpr {
    Name(Token),
    /// `List{Nat}` where `List` is a parameterized view.
    Instance {
        view: Token,
        args: Vec<ViewExpr>,
        span: Span,
    },
}

/// A sort as written. `args` is empty for a plain name; `Map{Nat, Set{X}}` has two.
/// With several groups, as in `List{STRICT-WEAK-ORDER}{X}`, `args` is the last one and the
/// name is all before it, spelt as Maude does: `List{STRICT-WEAK-ORDER}`.
#[derive(Clone, Debug)]
pub struct SortExpr {
    pub name: Token,
    pub args: Vec<SortExpr>,
    pub span: Span,
}

/// A sort or a kind: `Foo`, `[Foo]`, `[Foo, Bar]`.
#[derive(Clone, Debug)]
pub enum TypeExpr {
    Sort(SortExpr),
    Kind { sorts: Vec<SortExpr>, span: Span },
}

/// An operator's name as tokens: `_+_`, `if_then_else_fi`, `<_:_|_>`, `__`, `f`, `_`(_`)`.
/// `name` is the canonical spelling: tokens concatenated, with a backquote before each of
/// `( ) [ ] { } ,` and (between two tokens that would otherwise run together) for a blank.
#[derive(Clone, Debug)]
pub struct OpName {
    pub name: Name,
    pub tokens: Vec<Token>,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportMode {
    Protecting,
    Extending,
    Including,
    GeneratedBy,
}

impl ImportMode {
    /// The keyword that is written for it.
    pub fn word(self) -> &'static str {
        match self {
            ImportMode::Protecting => "protecting",
            ImportMode::Extending => "extending",
            ImportMode::Including => "including",
            ImportMode::GeneratedBy => "generated-by",
        }
    }
}

#[derive(Clone, Debug)]
pub enum Decl {
    Import {
        mode: ImportMode,
        module: ModuleExpr,
        span: Span,
    },
    Sorts(Vec<SortExpr>),
    /// `subsorts A B < C D < E`: consecutive groups.
    Subsorts(Vec<Vec<SortExpr>>),
    Op(OpDecl),
    Vars {
        names: Vec<Token>,
        ty: TypeExpr,
    },
    Statement(Statement),
}

/// `op NAME : D1 D2 -> R [attrs] .`, or one name of `ops f g : ...`.
#[derive(Clone, Debug)]
pub struct OpDecl {
    pub name: OpName,
    pub domain: Vec<TypeExpr>,
    pub range: TypeExpr,
    /// Declared with `~>`: domain and range stand for their kinds.
    pub partial: bool,
    pub attrs: Vec<OpAttr>,
    /// `msg` instead of `op`.
    pub msg: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum OpAttr {
    Assoc,
    Comm,
    Idem,
    Iter,
    Ctor,
    Memo,
    Ditto,
    Config,
    Object,
    Msg,
    /// `id: t`, `left id: t`, `right id: t`
    Id {
        left: bool,
        right: bool,
        term: Bubble,
    },
    Prec(u32),
    Gather(Vec<Token>),
    Format(Vec<Token>),
    Strat(Vec<i64>),
    /// Argument positions from 1; empty list = all.
    Frozen(Vec<i64>),
    Poly(Vec<i64>),
    /// What stands between the quotes, escapes as written.
    Metadata(String),
    LatexMacro(String),
    /// `portal`, `pconst`
    PortalOrOther(Token),
    Special(Vec<Hook>),
}

/// One item of `special (...)`.
#[derive(Clone, Debug)]
pub enum Hook {
    /// `id-hook Name (data ...)`
    Id { name: Token, data: Vec<Token> },
    /// `op-hook name (op : D1 D2 ~> R)`
    Op { name: Token, op: OpName, domain: Vec<TypeExpr>, range: TypeExpr },
    /// `term-hook name (term)`
    Term { name: Token, term: Bubble },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementKind {
    Eq,
    Ceq,
    Mb,
    Cmb,
    Rl,
    Crl,
}

impl StatementKind {
    pub fn is_conditional(self) -> bool {
        matches!(self, StatementKind::Ceq | StatementKind::Cmb | StatementKind::Crl)
    }
}

/// A statement: everything between the keyword and the final period is one bubble, since
/// `=`, `if` and `:` may also be parts of user-defined operators. A leading `[label] :` and
/// a trailing attribute list are not separated here; the statement parser does that.
#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub body: Bubble,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum RenameItem {
    Sort {
        from: SortExpr,
        to: SortExpr,
    },
    /// `op f to g [prec 3 gather (e E) format (...)]`, with types if given: `op f : A B -> C to g`.
    Op {
        from: OpName,
        types: Option<(Vec<TypeExpr>, TypeExpr)>,
        to: OpName,
        attrs: Vec<OpAttr>,
    },
    Label {
        from: Token,
        to: Token,
    },
}

#[derive(Clone, Debug)]
pub struct ViewDecl {
    pub name: Token,
    pub params: Vec<ParamDecl>,
    pub from: ModuleExpr,
    pub to: ModuleExpr,
    pub maps: Vec<ViewMap>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ViewMap {
    Sort {
        from: SortExpr,
        to: SortExpr,
    },
    Op {
        from: OpName,
        types: Option<(Vec<TypeExpr>, TypeExpr)>,
        to: OpName,
    },
    /// `op f(X:A, Y:B) to term t .` Both bubbles are parsed in their modules later.
    OpToTerm {
        from: Bubble,
        to: Bubble,
        span: Span,
    },
    /// `var X Y : S .` for the op-to-term mappings.
    Vars {
        names: Vec<Token>,
        ty: TypeExpr,
    },
    Label {
        from: Token,
        to: Token,
    },
}

/// What a command asks for. `body` bubbles are parsed in the command's module.
#[derive(Clone, Debug)]
pub struct Command {
    pub kind: CommandKind,
    pub span: Span,
    /// From the command's first word to before its period, as written (for echoing).
    pub text: Bubble,
}

#[derive(Clone, Debug)]
pub enum CommandKind {
    /// `reduce [in M :] t`
    Reduce {
        module: Option<ModuleExpr>,
        term: Bubble,
    },
    Parse {
        module: Option<ModuleExpr>,
        term: Bubble,
    },
    /// `match [n] [in M :] p <=? t [such that c]`, `xmatch ...`; `body` has everything after `:`.
    Match {
        extension: bool,
        limit: Option<u64>,
        module: Option<ModuleExpr>,
        body: Bubble,
    },
    /// `rewrite [n] [in M :] t`
    Rewrite {
        limit: Option<u64>,
        module: Option<ModuleExpr>,
        term: Bubble,
    },
    /// `frewrite [n, gas] [in M :] t`
    Frewrite {
        limit: Option<u64>,
        gas: Option<u64>,
        module: Option<ModuleExpr>,
        term: Bubble,
    },
    /// `search [n, m] [in M :] t =>* p [such that c]`; `body` has everything after `:`.
    Search {
        limit: Option<u64>,
        depth: Option<u64>,
        module: Option<ModuleExpr>,
        body: Bubble,
    },
    Continue(Option<u64>),
    Select(ModuleExpr),
    /// `show ...`: the words after `show`.
    Show(Bubble),
    /// `set ...`: the words after `set`.
    Set(Bubble),
    /// `trace select/deselect/include/exclude ...`, `break ...`, `print conceal ...`, first word included.
    Trace(Bubble),
    /// `do clear memo`
    Do(Bubble),
    Load {
        path: String,
        path_span: Span,
        silent: bool,
        once: bool,
    },
    Cd(String),
    Pwd,
    Ls(String),
    Pushd(String),
    Popd,
    Help,
    Quit,
    Eof,
    /// `(...)`, parentheses included, `loop ...` or other words that a later layer understands
    /// (layered checking).
    Other(Bubble),
}

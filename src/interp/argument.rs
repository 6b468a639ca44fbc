//! Texts given on the command line, such as those of `--init` and `--pattern`. Each is a source text
//! of its own, named after its option, so that messages point into what the user typed.

use std::sync::Arc;

use super::{Host, Interpreter};
use crate::base::{Diagnostic, FileId, Severity, Span, nearest};
use crate::mixfix::{Grammar, Parsed};
use crate::module::{Fragment, Module};
use crate::sorts::{KindId, Signature, Tree};
use crate::syntax::tree::{Bubble, ModuleExpr, Token};
use crate::syntax::{module_expression, tokens};

/// An option and the text that was given with it.
pub(super) type Argument<'a> = (&'static str, &'a str);

/// The name of texts that come from there.
pub const STANDARD_INPUT: &str = "<standard input>";

impl Interpreter {
    /// The module that `--module` names; without it, the current one. It becomes the current one.
    pub(super) fn module_argument(&mut self, host: &mut dyn Host, text: Option<&str>) -> Option<Arc<Module>> {
        let Some(text) = text else {
            let is_current = |token: Token| Some(token.name) == self.current && self.is_own(&token);
            if !self.modules.declared().any(is_current) {
                let none = Diagnostic::new(Severity::Error, "no-module", "the file has no module", None);
                self.say(host, &none);
                return None;
            }
            return self.select(host, None, Span::default());
        };
        let (file, tokens) = self.argument_tokens(host, ("--module", text))?;
        let (expression, diagnostics) = module_expression(tokens);
        self.say_argument(host, file, diagnostics, None);
        let expression = expression?;
        if let ModuleExpr::Name(token) = expression
            && !self.modules.contains(token.name)
        {
            self.say_unknown_module(host, token);
            return None;
        }
        self.select(host, Some(&expression), Span::default())
    }

    /// Is a module the user's? Those in the library that is part of the program are in texts with names like
    /// `<prelude>`.
    pub(super) fn is_own(&self, token: &Token) -> bool {
        let name = self.sources.name(token.span.file);
        !name.starts_with('<') || name == STANDARD_INPUT
    }

    pub(super) fn say_unknown_module(&mut self, host: &mut dyn Host, token: Token) {
        const SHOWN_MAX: usize = 8;
        let own: Vec<&str> = self
            .modules
            .declared()
            .filter(|token| self.is_own(token))
            .map(|token| token.name.as_str())
            .collect();
        let names = self.modules.declared().map(|token| token.name.as_str());
        let message = format!("there is no module {}", token.name);
        let mut unknown = Diagnostic::error("unknown-module", message, token.span);
        if let Some(near) = nearest(token.name.as_str(), names) {
            unknown = unknown.hint(format!("did you mean {near}?"));
        } else if !own.is_empty() {
            let more = if own.len() > SHOWN_MAX { ", ..." } else { "" };
            let shown = own[..own.len().min(SHOWN_MAX)].join(", ");
            unknown = unknown.hint(format!("the file has {shown}{more}"));
        }
        self.say(host, &unknown);
    }

    /// A term of one of the kinds; an empty list means any kind.
    pub(super) fn term_argument(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        argument: Argument,
        kinds: &[KindId],
    ) -> Option<Tree> {
        let parse = |g: &Grammar, tokens: &Bubble| {
            let (tree, mut diagnostics) = g.term(&module.signature, &module.vars, tokens, kinds);
            if let ([token], [diagnostic]) = (&tokens[..], &mut diagnostics[..])
                && diagnostic.code == "bad-token"
            {
                // A single token is a constant, not a part of another operator's syntax.
                let hint = diagnostic.hint.take().filter(|hint| !hint.starts_with("did you mean"));
                diagnostic.hint = constants_like(&module.signature, kinds, token.name.as_str()).or(hint);
            }
            (tree, diagnostics)
        };
        self.argument(host, module, argument, parse)
    }

    /// A condition such as `N > 5 /\ N =/= M`.
    pub(super) fn condition_argument(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        argument: Argument,
    ) -> Option<Vec<Fragment>> {
        let parse = |g: &Grammar, tokens: &Bubble| g.condition(&module.signature, &module.vars, tokens);
        self.argument(host, module, argument, parse)
    }

    /// Parses an argument in a module. `None` after an error.
    pub(super) fn argument<T>(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        argument: Argument,
        parse: impl FnOnce(&Grammar, &Bubble) -> Parsed<T>,
    ) -> Option<T> {
        let (file, tokens) = self.argument_tokens(host, argument)?;
        let (parsed, diagnostics) = parse(&self.compiled(module).grammar, &tokens);
        self.say_argument(host, file, diagnostics, Some(module));
        parsed
    }

    /// The tokens of an argument. `None` if the text is no sequence of tokens.
    fn argument_tokens(&mut self, host: &mut dyn Host, (option, text): Argument) -> Option<(FileId, Bubble)> {
        let file = self.sources.add(option, text);
        let (tokens, diagnostics) = tokens(text, file, &mut self.order);
        let is_spoilt = diagnostics.iter().any(|d| d.severity == Severity::Error);
        self.say_all(host, diagnostics);
        (!is_spoilt).then_some((file, tokens))
    }

    /// Messages about an argument: each has a place, and an error names the module it was read in.
    fn say_argument(
        &mut self,
        host: &mut dyn Host,
        file: FileId,
        diagnostics: Vec<Diagnostic>,
        module: Option<&Arc<Module>>,
    ) {
        for mut diagnostic in diagnostics {
            diagnostic.span.get_or_insert(Span { file, start: 0, end: 0 });
            if let Some(module) = module
                && diagnostic.severity == Severity::Error
            {
                diagnostic = diagnostic.note(None, format!("read in module {}", module.name));
            }
            self.say(host, &diagnostic);
        }
    }
}

/// More would not help.
const CONSTANTS_MAX: usize = 8;

/// A constant that fits and is called nearly so, or some of those that there are.
fn constants_like(sig: &Signature, kinds: &[KindId], word: &str) -> Option<String> {
    let fits = |kind| kinds.is_empty() || kinds.contains(&kind);
    let constants = sig.ops().filter(|(_, op)| op.arity() == 0 && fits(op.range));
    let names: Vec<&str> = constants.map(|(_, op)| op.name.as_str()).collect();
    if let Some(near) = nearest(word, names.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let more = if names.len() > CONSTANTS_MAX { ", ..." } else { "" };
    let some = names[..names.len().min(CONSTANTS_MAX)].join(", ");
    (!names.is_empty() && !kinds.is_empty()).then(|| format!("constants that could stand here: {some}{more}"))
}

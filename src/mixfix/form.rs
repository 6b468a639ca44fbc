//! How an operator is written: its name cut into tokens and holes, its precedence and the
//! bound on each argument, with Maude's defaults where nothing was declared.

use crate::base::Name;
use crate::sorts::{Gather, Operator, Signature};

/// Terms in holes that take anything.
pub(super) const ANY: u8 = 127;
/// Arguments in prefix form: below the comma operators of the standard library (121).
pub(super) const PREFIX: u8 = 95;
const UNARY: u8 = 15;
const INFIX: u8 = 41;

/// A piece of a mixfix name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    Hole,
    Token(Name),
}

/// The syntax of one operator.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// Tokens and holes; no holes for an operator that only has prefix syntax.
    pub pieces: Vec<Piece>,
    /// Are there as many holes as arguments (and at least one)?
    pub mixfix: bool,
    pub prec: u8,
    /// The largest precedence that each argument may have in mixfix form.
    pub bounds: Vec<u8>,
}

impl Form {
    pub fn new(sig: &Signature, op: &Operator) -> Form {
        let (pieces, holes) = pieces(op.name, op.arity());
        let mixfix = holes > 0;
        if !mixfix {
            return Form { pieces, mixfix, prec: 0, bounds: vec![PREFIX; op.arity()] };
        }
        let left = pieces.first() == Some(&Piece::Hole);
        let right = pieces.last() == Some(&Piece::Hole);
        let default = match (left || right, holes) {
            (false, _) => 0,
            (true, 1) => UNARY,
            (true, _) => INFIX,
        };
        let prec = op.prec.map_or(default, |p| p.min(ANY as u32) as u8);
        let bound = |gather: Gather| match gather {
            Gather::Loose => prec,
            Gather::Strict => prec.saturating_sub(1),
            Gather::Any => ANY,
        };
        let bounds = match &op.gather {
            Some(gather) if gather.len() == holes => gather.iter().map(|&g| bound(g)).collect(),
            _ => {
                let mut bounds = vec![ANY; holes];
                let mut hole = 0;
                for (i, piece) in pieces.iter().enumerate() {
                    if *piece == Piece::Hole {
                        // A hole at an end, or beside another hole, is open to its neighbours.
                        let open = i == 0
                            || i + 1 == pieces.len()
                            || pieces[i - 1] == Piece::Hole
                            || pieces[i + 1] == Piece::Hole;
                        if open {
                            bounds[hole] = prec;
                        }
                        hole += 1;
                    }
                }
                if left && right && holes >= 2 {
                    match nesting(sig, op) {
                        _ if op.axioms.assoc => bounds[0] = prec.saturating_sub(1),
                        (false, true) => bounds[0] = prec.saturating_sub(1),
                        (true, false) => bounds[holes - 1] = prec.saturating_sub(1),
                        _ => {}
                    }
                }
                bounds
            }
        };
        Form { pieces, mixfix, prec, bounds }
    }
}

/// Whether a term of the operator is well-sorted as its first argument, and as its last, as far as its
/// declarations tell. Where kinds differ that is no question.
fn nesting(sig: &Signature, op: &Operator) -> (bool, bool) {
    let (first, last) = (0, op.arity() - 1);
    if op.domain[first] != op.range || op.domain[last] != op.range {
        return (true, true);
    }
    let fits = |at: usize| {
        let mut all = op.decls.iter().flat_map(|outer| op.decls.iter().map(move |inner| (outer, inner)));
        all.any(|(outer, inner)| sig.sorts.leq(inner.range, outer.domain[at]))
    };
    (fits(first), fits(last))
}

/// The pieces of an operator's name and how many of them are holes. Where there are not as many holes as
/// arguments the name is one piece.
fn pieces(name: Name, arity: usize) -> (Vec<Piece>, usize) {
    let pieces = split(name.as_str());
    let holes = pieces.iter().filter(|&&piece| piece == Piece::Hole).count();
    if holes > 0 && holes != arity { (vec![Piece::Token(name)], 0) } else { (pieces, holes) }
}

/// How many pieces, holes included, the name of an operator with so many arguments has.
pub fn name_pieces(name: Name, arity: usize) -> usize {
    pieces(name, arity).0.len()
}

/// Is this one of the characters that are tokens of their own?
pub(super) fn is_special(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',')
}

/// Cuts a canonical name at holes, special characters and backquotes.
fn split(name: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut word = String::new();
    let flush = |word: &mut String, pieces: &mut Vec<Piece>| {
        if !word.is_empty() {
            pieces.push(Piece::Token(Name::new(word)));
            word.clear();
        }
    };
    for c in name.chars() {
        match c {
            '`' => flush(&mut word, &mut pieces),
            '_' => {
                flush(&mut word, &mut pieces);
                pieces.push(Piece::Hole);
            }
            c if is_special(c) => {
                flush(&mut word, &mut pieces);
                pieces.push(Piece::Token(Name::new(c.encode_utf8(&mut [0; 4]))));
            }
            c => word.push(c),
        }
    }
    flush(&mut word, &mut pieces);
    pieces
}

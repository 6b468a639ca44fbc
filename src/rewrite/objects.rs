//! Object-message fairness: what `frewrite` does on a configuration.
//!
//! On an operator with the attribute `config`, one step is a round: each object, by name, gets
//! each of its messages once, by the rules that take one object and one message with the object's
//! name; then one of the other rules is applied. Rules take turns, those for messages by the
//! message's operator.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::machine::Machine;
use super::rules::Turns;
use crate::base::Interrupt;
use crate::module::Module;
use crate::sorts::OpId;
use crate::term::{Class, Symbols, Term};
use crate::theory::RuleEntry;

/// The rules of a configuration operator, by what they do.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// By the message's operator.
    letters: FxHashMap<u32, Vec<RuleEntry>>,
    others: Vec<RuleEntry>,
}

/// The key of the rules that deliver no message.
const OTHERS: u32 = u32::MAX;

/// What a kept term is in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Object,
    Letter,
    Other,
    /// Not there any more.
    Gone,
}

fn rules(module: &Module, sym: u32, entries: &[RuleEntry]) -> Rules {
    let sig = &module.signature;
    let mut found = Rules::default();
    for entry in entries {
        let lhs = &module.rules[entry.rule as usize].lhs;
        let letter = (lhs.node(lhs.root()).op() == Some(OpId(sym))).then(|| {
            let &[a, b] = lhs.args(lhs.root()).as_slice() else { return None };
            let (op_a, op_b) = (lhs.node(a).op()?, lhs.node(b).op()?);
            let (hooks_a, hooks_b) = (sig.op(op_a).hooks, sig.op(op_b).hooks);
            let letter = match () {
                _ if hooks_a.object && hooks_b.msg => op_b,
                _ if hooks_a.msg && hooks_b.object => op_a,
                _ => return None,
            };
            let name = |at: usize| lhs.args(at).first().copied();
            lhs.same(name(a)?, lhs, name(b)?).then_some(letter.0)
        });
        match letter.flatten() {
            Some(letter) => found.letters.entry(letter).or_default().push(*entry),
            None => found.others.push(*entry),
        }
    }
    found
}

impl Machine {
    /// Is it an operator that makes configurations?
    pub(super) fn is_configuration(&self, sym: u32) -> bool {
        let sig = &self.theory.module.signature;
        self.symbols().info.get(sym as usize).is_some_and(|info| info.class == Class::AssocComm)
            && sig.op(OpId(sym)).hooks.config
    }

    /// One round on a configuration.
    pub(super) fn round(&mut self, subject: Term, turns: &mut Turns) -> Result<Option<Term>, Interrupt> {
        let theory = self.theory.clone();
        let (sy, sig) = (&theory.symbols, &theory.module.signature);
        let subject = self.heap.deref(subject);
        let sym = self.heap.sym(sy, subject);
        let entries = &theory.rules.entries[sym as usize];
        let sorted = || Arc::new(rules(&theory.module, sym, entries));
        let rules = turns.configurations.entry(sym).or_insert_with(sorted).clone();
        // The whole is kept first, then its parts.
        self.kept.push(subject);
        let start = self.kept.len();
        let mut pairs = Vec::new();
        self.heap.bag_pairs(subject, &mut pairs);
        let mut parts = Vec::new();
        for (element, copies) in pairs {
            let top = self.heap.sym(sy, element);
            let hooks =
                if (top as usize) < sy.info.len() { sig.op(OpId(top)).hooks } else { Default::default() };
            let has_name = self.name_of(sy, element).is_some();
            for _ in 0..copies {
                self.kept.push(element);
                parts.push(match () {
                    _ if hooks.object && has_name => Part::Object,
                    _ if hooks.msg && has_name => Part::Letter,
                    _ => Part::Other,
                });
            }
        }
        let size = parts.len();
        let mut objects: Vec<usize> = (0..size).filter(|&i| parts[i] == Part::Object).collect();
        let name = |machine: &Machine, i: usize| machine.name_of(sy, machine.kept[start + i]).expect("named");
        objects.sort_by(|&a, &b| self.heap.compare(sy, name(self, a), name(self, b)));
        // Of several objects with one name only the first gets messages, as in Maude.
        objects.dedup_by(|&mut later, &mut first| {
            let is_same = self.heap.equal(sy, name(self, first), name(self, later));
            if is_same {
                parts[later] = Part::Other;
            }
            is_same
        });
        // Letters by the hash of the addressee.
        let mut boxes: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for letter in (0..size).filter(|&i| parts[i] == Part::Letter) {
            boxes.entry(self.heap.hash(sy, name(self, letter))).or_default().push(letter);
        }
        let mut is_changed = false;
        for object in objects {
            let letters =
                boxes.get(&self.heap.hash(sy, name(self, object))).map_or(&[][..], |letters| letters);
            for &letter in letters {
                if parts[letter] != Part::Letter
                    || !self.heap.equal(sy, name(self, object), name(self, letter))
                {
                    continue;
                }
                let top = self.heap.sym(sy, self.kept[start + letter]);
                let Some(entries) = rules.letters.get(&top) else { continue };
                let both = [self.kept[start + object], self.kept[start + letter]];
                let pair = self.heap.apply(sy, sym, &both);
                let Some(value) = self.take_turn(pair, entries, (sym, top), turns)? else { continue };
                is_changed = true;
                parts[letter] = Part::Gone;
                parts[object] = Part::Gone;
                let mut pairs = Vec::new();
                self.heap.pairs(sy, sym, value, &mut pairs);
                for (element, copies) in pairs {
                    for _ in 0..copies {
                        let top = self.heap.sym(sy, element);
                        let is_object = (top as usize) < sy.info.len() && sig.op(OpId(top)).hooks.object;
                        let same = |a: Term| self.heap.equal(sy, a, name(self, object));
                        if parts[object] == Part::Gone
                            && is_object
                            && self.name_of(sy, element).is_some_and(same)
                        {
                            self.kept[start + object] = element;
                            parts[object] = Part::Object;
                        } else {
                            self.kept.push(element);
                            parts.push(Part::Other);
                        }
                    }
                }
                if parts[object] == Part::Gone {
                    break;
                }
            }
        }
        if is_changed {
            let left = (0..parts.len()).filter(|&i| parts[i] != Part::Gone);
            let args: Vec<Term> = left.map(|i| self.kept[start + i]).collect();
            let whole = match args.as_slice() {
                [] => self.heap.consts[sy.info[sym as usize].identity.expect("nothing is left").constant],
                [one] => *one,
                many => self.apply(sym, many)?,
            };
            self.kept[start - 1] = whole;
        }
        self.kept.truncate(start);
        let whole = self.kept[start - 1];
        let stepped = if self.heap.is_top(sy, whole, sym) {
            self.take_turn(whole, &rules.others, (sym, OTHERS), turns)?
        } else {
            None
        };
        let whole = self.kept[start - 1];
        self.kept.truncate(start - 1);
        Ok(stepped.or(is_changed.then_some(whole)))
    }

    /// The first argument of an object or a message.
    fn name_of(&self, sy: &Symbols, term: Term) -> Option<Term> {
        let term = self.heap.deref(term);
        let sym = self.heap.sym(sy, term) as usize;
        let info = sy.info.get(sym)?;
        let has = info.arity > 0 && matches!(info.class, Class::Free | Class::Cui) && term.is_node();
        has.then(|| self.heap.args(term)[0])
    }

    /// Applies the first of the rules, in turn, that can be applied.
    fn take_turn(
        &mut self,
        subject: Term,
        entries: &[RuleEntry],
        key: (u32, u32),
        turns: &mut Turns,
    ) -> Result<Option<Term>, Interrupt> {
        let kept = self.kept.len();
        self.kept.push(subject);
        let first = turns.letters.get(&key).copied().unwrap_or(0) as usize;
        for i in 0..entries.len() {
            let number = (first + i) % entries.len();
            if let Some(value) = self.start_rule(entries[number].first, self.kept[kept])? {
                self.abandon_rule();
                self.rewrites += 1;
                self.rule_rewrites += 1;
                turns.letters.insert(key, ((number + 1) % entries.len()) as u32);
                self.kept.truncate(kept);
                return Ok(Some(value));
            }
        }
        self.kept.truncate(kept);
        Ok(None)
    }
}

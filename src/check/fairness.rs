//! Fairness of rules: which runs count.
//!
//! Weak: a rule that is enabled from some time on is taken infinitely often; as a generalized Büchi
//! condition, infinitely often the rule is taken or not enabled. Strong: a rule that is enabled
//! infinitely often is taken infinitely often; a Streett condition.

use super::scc::Marks;
use crate::graph::RuleId;
use rustc_hash::FxHashMap;

/// Conditions on runs; each is on a set of rules that count as one (those with one label).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fairness {
    pub weak: Vec<Vec<RuleId>>,
    pub strong: Vec<Vec<RuleId>>,
}

/// Conditions of each kind that can be imposed.
pub const CONDITIONS_MAX: usize = 32;

impl Fairness {
    /// Whether all runs count.
    pub fn is_none(&self) -> bool {
        self.weak.is_empty() && self.strong.is_empty()
    }
}

/// Fairness by rule. Marks have the automaton's acceptance sets in bits 0 to 63, weak conditions
/// in 64 to 95, strong ones ("taken") from 96 on.
#[derive(Clone, Debug, Default)]
pub struct FairTable {
    /// Conditions that each rule belongs to, at the places of their marks.
    rules: FxHashMap<RuleId, Marks>,
    weak: Marks,
    strong: Marks,
}

const WEAK: u32 = 64;
const STRONG: u32 = 96;

impl FairTable {
    /// None if there are more than [`CONDITIONS_MAX`] conditions of a kind.
    pub fn new(fairness: &Fairness) -> Option<Self> {
        if fairness.weak.len() > CONDITIONS_MAX || fairness.strong.len() > CONDITIONS_MAX {
            return None;
        }
        let mut table = FairTable::default();
        for (start, conditions) in [(WEAK, &fairness.weak), (STRONG, &fairness.strong)] {
            for (index, rules) in conditions.iter().enumerate() {
                let bit = 1 << (start + index as u32);
                if start == WEAK {
                    table.weak |= bit;
                } else {
                    table.strong |= bit;
                }
                for rule in rules {
                    *table.rules.entry(*rule).or_default() |= bit;
                }
            }
        }
        Some(table)
    }

    /// Whether all runs count.
    pub fn is_none(&self) -> bool {
        self.weak | self.strong == 0
    }

    /// The weak conditions, all of which a component must meet.
    pub fn weak(&self) -> Marks {
        self.weak
    }

    /// The strong conditions.
    pub fn strong(&self) -> Marks {
        self.strong
    }

    /// The conditions that a state with transitions by these rules enables.
    pub fn enabled(&self, rules: &[RuleId]) -> Marks {
        self.enabled_by(rules.iter().copied())
    }

    /// The same.
    pub fn enabled_by(&self, rules: impl Iterator<Item = RuleId>) -> Marks {
        rules.fold(0, |all, rule| all | self.of(rule))
    }

    /// The marks of a transition by this rule from a state that enables these conditions.
    pub fn marks(&self, rule: RuleId, enabled: Marks) -> Marks {
        let taken = self.of(rule);
        (taken & self.strong) | (self.weak & (taken | !enabled))
    }

    fn of(&self, rule: RuleId) -> Marks {
        self.rules.get(&rule).copied().unwrap_or(0)
    }
}

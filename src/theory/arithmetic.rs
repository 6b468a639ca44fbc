//! Numbers and tests in place: built-in operators without a call.
//!
//! Arithmetic on small naturals is one instruction; what it cannot do falls through to the general
//! code of the operator. A comparison or equality that decides where to go makes no truth value.

use crate::builtin::{Builtin, Fast, Special};
use crate::sorts::{OpId, Tree};
use crate::term::{NO_SYM, Term};
use num_traits::ToPrimitive;

use super::code::{Label, Op, Reg, inst, inst3};
use super::compile::{Compiler, is_joined};
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;

/// Where an operand of arithmetic is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Reg(Reg),
    /// Not in a register: a literal.
    Number(u16),
}

impl Compiler<'_> {
    /// Arithmetic on small naturals and equality, without a call where possible.
    pub(super) fn inline_special(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Option<Known> {
        let args = tree.args(at);
        if args.len() != 2 || self.plans[op.index()].memo || self.trace {
            return None;
        }
        let fast = match self.plans[op.index()].special.as_ref()? {
            Special::Equality { equal, not_equal } if self.plans[op.index()].rows.is_empty() => {
                Err(u64::from(equal.0) | u64::from(not_equal.0) << 32)
            }
            Special::Function(builtin) => {
                let kind = builtin.fast()?;
                if builtin.truth().is_none() && self.sy.numbers.computed {
                    return None;
                }
                let truth = builtin.truth().map_or(0, |t| u64::from(t.yes.0) | u64::from(t.no.0) << 32);
                Ok((kind, truth, builtin.clone()))
            }
            _ => return None,
        };
        let (kind, truth, number) = match fast {
            Err(terms) => {
                let (regs, _) = self.operands(&args, tree, slot, leaf, frame);
                self.asm.emit(inst3(Op::Equality, 0, slot, regs[0], regs[1]));
                self.asm.emit(terms);
                return Some(Known::ANY);
            }
            Ok((kind, truth, builtin)) => (kind, truth, self.number_builtin(builtin)),
        };
        let pair = self.numbers(&args, tree, slot, leaf, frame);
        let knowns = [pair[0].1, pair[1].1];
        let after = self.asm.label();
        let ops = match kind {
            Fast::Add => Some((Op::Add, Op::AddImm)),
            Fast::Sub => Some((Op::Sub, Op::SubImm)),
            Fast::Mul => Some((Op::Mul, Op::MulImm)),
            Fast::Quo => Some((Op::Quo, Op::QuoImm)),
            Fast::Rem => Some((Op::Rem, Op::RemImm)),
            Fast::SymmetricDifference => Some((Op::Difference, Op::DifferenceImm)),
            _ => None,
        };
        let commutes = matches!(kind, Fast::Add | Fast::Mul | Fast::SymmetricDifference);
        match (ops, pair[0].0, pair[1].0) {
            (Some((_, op)), Place::Reg(x), Place::Number(n)) => {
                self.asm.emit(inst3(op, 0, slot, x, n));
                self.asm.emit_case(0, after);
            }
            (Some((_, op)), Place::Number(n), Place::Reg(x)) if commutes => {
                self.asm.emit(inst3(op, 0, slot, x, n));
                self.asm.emit_case(0, after);
            }
            (Some((op, _)), Place::Reg(x), Place::Reg(y)) => {
                self.asm.emit(inst3(op, 0, slot, x, y));
                self.asm.emit_case(0, after);
            }
            // Rare: the general code alone.
            _ => {}
        }
        let regs = self.consecutive(pair.map(|p| p.0), slot);
        self.asm.emit(inst3(Op::Fast, kind as usize, slot, regs[0], regs[1]));
        self.asm.emit_case(number, after);
        self.asm.emit(truth);
        self.general_call(op, regs.map(Place::Reg), slot, at, leaf);
        self.asm.place(after);
        Some(self.result_known(op, &knowns))
    }

    /// The number from 1 of a number operator whose results on all numbers are final: no
    /// membership looks at numbers, no equation at negative ones. Otherwise 0.
    fn number_builtin(&mut self, builtin: Builtin) -> u32 {
        let minus = self.sy.numbers.minus;
        if self.sy.numbers.decided {
            return 0;
        }
        if minus != NO_SYM {
            let plan = &self.plans[minus as usize];
            if !plan.rows.is_empty() || !plan.memberships.is_empty() || plan.memo {
                return 0;
            }
        }
        self.builtins.push(builtin);
        self.builtins.len() as u32
    }

    /// Two operands, with small literals left as they are.
    fn numbers(
        &mut self,
        args: &[usize],
        tree: &Tree,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> [(Place, Known); 2] {
        let mut held = 0;
        let mut place = |this: &mut Self, leaf: &mut Leaf, arg: usize| {
            if let Some(imm) = this.immediate(tree, arg)
                && imm.is_small()
                && let Some(number) = imm.payload().to_u16()
            {
                return (Place::Number(number), this.known_number(imm));
            }
            let target = slot + held as Reg;
            let (reg, known) = this.operand(tree, arg, target, leaf, frame);
            if reg == target {
                leaf.pending.push(reg);
                held += 1;
            }
            (Place::Reg(reg), known)
        };
        let pair = [place(self, leaf, args[0]), place(self, leaf, args[1])];
        leaf.pending.truncate(leaf.pending.len() - held);
        frame.note(slot + 2);
        pair
    }

    /// Puts two operands into consecutive registers, unless both are in registers already.
    fn consecutive(&mut self, pair: [Place; 2], slot: Reg) -> [Reg; 2] {
        if let [Place::Reg(x), Place::Reg(y)] = pair {
            return [x, y];
        }
        self.place_pair(pair, slot);
        [slot, slot + 1]
    }

    fn place_pair(&mut self, pair: [Place; 2], slot: Reg) {
        let [first, second] = pair;
        if second == Place::Reg(slot) {
            self.put(slot + 1, second);
            self.put(slot, first);
        } else {
            self.put(slot, first);
            self.put(slot + 1, second);
        }
    }

    /// The general case of a binary built-in: its arguments go to consecutive registers.
    fn general_call(&mut self, op: OpId, pair: [Place; 2], slot: Reg, at: usize, leaf: &Leaf) {
        self.place_pair(pair, slot);
        if is_joined(self.sy, op.0) {
            self.asm.emit(inst(Op::Join, 2, slot, op.0));
            self.asm.emit(2);
            self.call_joined(op, slot, at, leaf);
        } else {
            let mask = self.mask(at, leaf);
            let code = self.checked[op.index()];
            self.asm.emit_to(Op::Call, 2, slot, code);
            self.asm.emit(mask);
        }
    }

    fn put(&mut self, slot: Reg, place: Place) {
        match place {
            Place::Reg(reg) if reg == slot => {}
            Place::Reg(reg) => self.asm.emit(inst3(Op::Move, 0, slot, reg, 0)),
            Place::Number(n) => self.asm.emit(inst(Op::LoadImm, 0, slot, Term::small(u32::from(n)).0)),
        }
    }

    /// A test of numbers or terms whose outcome decides where to go, without making a truth
    /// value: goes to `yes` or `no`. Where that does not work, the value is left in `slot` and
    /// the code goes on. `extra` rewrites are counted for the decision. Emits nothing and gives
    /// `None` if the term is no such test; else whether the code can go on.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn decision(
        &mut self,
        tree: &Tree,
        at: usize,
        truth: [Term; 2],
        extra: usize,
        goals: [Label; 2],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Option<bool> {
        let args = tree.args(at);
        let op = tree.node(at).op()?;
        let plan = &self.plans[op.index()];
        let is_available = leaf.available.iter().any(|(key, _)| key == &tree.nodes()[tree.range(at)]);
        if args.len() != 2 || plan.memo || !plan.rows.is_empty() || is_available || self.trace {
            return None;
        }
        let [yes, no] = goals;
        let flip = |flipped: bool| if flipped { (no, yes) } else { (yes, no) };
        match plan.special.as_ref()? {
            Special::Equality { equal, not_equal } => {
                let (low, high) = flip(decides([*equal, *not_equal], truth)?);
                let pair = self.numbers(&args, tree, slot, leaf, frame);
                let word = match pair.map(|p| p.0) {
                    [Place::Reg(x), Place::Reg(y)] => inst3(Op::IfEq, extra, 0, x, y),
                    [Place::Reg(x), Place::Number(n)] | [Place::Number(n), Place::Reg(x)] => {
                        inst3(Op::IfEqImm, extra, 0, x, n)
                    }
                    [Place::Number(n), Place::Number(_)] => {
                        self.put(slot, Place::Number(n));
                        self.put(slot + 1, pair[1].0);
                        inst3(Op::IfEq, extra, 0, slot, slot + 1)
                    }
                };
                self.asm.emit(word);
                self.asm.emit_pair(low, high);
                Some(false)
            }
            Special::Function(builtin) => {
                let results = builtin.truth()?;
                let (low, high) = flip(decides([results.yes, results.no], truth)?);
                let kind = builtin.fast()?;
                if !matches!(kind, Fast::Lt | Fast::Le | Fast::Gt | Fast::Ge) {
                    return None;
                }
                let pair = self.numbers(&args, tree, slot, leaf, frame);
                let word = match pair.map(|p| p.0) {
                    [Place::Reg(x), Place::Reg(y)] => Some(match kind {
                        Fast::Lt => inst3(Op::IfLt, extra, 0, x, y),
                        Fast::Le => inst3(Op::IfLe, extra, 0, x, y),
                        Fast::Gt => inst3(Op::IfLt, extra, 0, y, x),
                        _ => inst3(Op::IfLe, extra, 0, y, x),
                    }),
                    [Place::Reg(x), Place::Number(n)] => Some(match kind {
                        Fast::Lt => inst3(Op::IfLtImm, extra, 0, x, n),
                        Fast::Le => inst3(Op::IfLeImm, extra, 0, x, n),
                        Fast::Gt => inst3(Op::IfGtImm, extra, 0, x, n),
                        _ => inst3(Op::IfGeImm, extra, 0, x, n),
                    }),
                    [Place::Number(n), Place::Reg(x)] => Some(match kind {
                        Fast::Lt => inst3(Op::IfGtImm, extra, 0, x, n),
                        Fast::Le => inst3(Op::IfGeImm, extra, 0, x, n),
                        Fast::Gt => inst3(Op::IfLtImm, extra, 0, x, n),
                        _ => inst3(Op::IfLeImm, extra, 0, x, n),
                    }),
                    [Place::Number(_), Place::Number(_)] => None,
                };
                if let Some(word) = word {
                    self.asm.emit(word);
                    self.asm.emit_pair(low, high);
                }
                self.general_call(op, pair.map(|p| p.0), slot, at, leaf);
                Some(true)
            }
            _ => None,
        }
    }

    /// The condition `term = expected` where `expected` is a truth value and the term a test.
    pub(super) fn test_condition(
        &mut self,
        term: &Tree,
        expected: Term,
        fail: Label,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let slot = leaf.path.top;
        let holds = self.asm.label();
        let expects = match term.node(term.root()).op().map(|op| &self.plans[op.index()].special) {
            Some(Some(Special::Equality { equal, not_equal })) => [*equal, *not_equal],
            Some(Some(Special::Function(builtin))) => match builtin.truth() {
                Some(truth) => [truth.yes, truth.no],
                None => return false,
            },
            _ => return false,
        };
        let other = match expects {
            [yes, no] if yes == expected => no,
            [yes, no] if no == expected => yes,
            _ => return false,
        };
        let goals = [holds, fail];
        let Some(goes_on) = self.decision(term, term.root(), [expected, other], 0, goals, slot, leaf, frame)
        else {
            return false;
        };
        if goes_on {
            self.asm.emit_to(Op::TestImm, 0, slot, fail);
            self.asm.emit(u64::from(expected.0));
        }
        self.asm.place(holds);
        true
    }
}

/// Do the results of a test correspond to what is asked? Then whether in the opposite order.
fn decides(results: [Term; 2], asked: [Term; 2]) -> Option<bool> {
    let [yes, no] = results;
    if yes == no {
        None
    } else if asked == [yes, no] {
        Some(false)
    } else {
        (asked == [no, yes]).then_some(true)
    }
}

//! The loop for all instructions that the hot loop leaves alone: matching, built-in functions,
//! collections, memo tables, terms that are not reduced, tracing.

use super::machine::{Frame, Machine};
use super::memo::Memo;
use super::resort::{REWRITES_MAX, helper};
use crate::base::Interrupt;
use crate::builtin::{Cx, Fast};
use crate::matching::{Context, Match, Rest};
use crate::sorts::OpId;
use crate::term::{Class, Heap, Int, Layout, SMALL_MAX, Symbols, Term};
use crate::theory::code::{self, Op};
use crate::theory::{Call, NO_CODE, Theory};
use num_bigint::BigUint;

impl Machine {
    /// Runs code until the frame below the one that was there at the start returns to `halt`.
    pub(super) fn execute(&mut self, start: u32, start_base: usize) -> Result<(), Interrupt> {
        let theory = self.theory_now();
        let sy = &theory.symbols;
        let words: &[u64] = &theory.code;
        let mut pc = start as usize;
        let mut base = start_base;
        // Register 0 of the current frame: the place `base` of the stack. Set again whenever the
        // base changes or the stack may have grown.
        let mut regs: *mut Term = self.registers(base);

        macro_rules! reg {
            ($i:expr) => {{
                let place = $i;
                debug_assert!(regs.cast_const() == self.stack.as_ptr().wrapping_add(base));
                debug_assert!(base + place < self.stack.len());
                // SAFETY: `Enter` makes room for the whole frame, and code uses no register
                // beyond the frame's size.
                unsafe { *regs.add(place) }
            }};
        }
        macro_rules! set {
            ($i:expr, $value:expr) => {{
                let value = $value;
                let place = $i;
                debug_assert!(regs.cast_const() == self.stack.as_ptr().wrapping_add(base));
                debug_assert!(base + place < self.stack.len());
                // SAFETY: as above.
                unsafe { *regs.add(place) = value }
            }};
        }
        macro_rules! word {
            ($at:expr) => {{
                debug_assert!($at < words.len());
                // SAFETY: code is made by the compiler, every path ends in a jump or return.
                unsafe { *words.get_unchecked($at) }
            }};
        }
        macro_rules! ret {
            ($value:expr) => {{
                let value = $value;
                set!(0, value);
                let frame = self.frames.pop().expect("halt is the last frame");
                pc = frame.ret as usize;
                base = frame.base as usize;
                regs = self.registers(base);
                continue;
            }};
        }
        macro_rules! go {
            ($step:expr) => {{
                match $step {
                    Some((target, new_base)) => {
                        pc = target as usize;
                        base = new_base;
                    }
                    None => {
                        let frame = self.frames.pop().expect("halt is the last frame");
                        pc = frame.ret as usize;
                        base = frame.base as usize;
                    }
                }
                regs = self.registers(base);
                continue;
            }};
        }

        loop {
            let w = word!(pc);
            pc += 1;
            match code::op(w) {
                Op::Halt => return Ok(()),
                Op::Enter => {
                    let size = code::a(w);
                    let is_full = base + size + 1 > self.stack.len() || self.heap.is_full();
                    if is_full || self.cancel.is_raised() || self.is_stressed() {
                        self.enter_slowly(base, size, code::n(w))?;
                        regs = self.registers(base);
                    }
                }
                Op::Move => set!(code::a(w), reg!(code::b(w))),
                Op::LoadImm => set!(code::a(w), Term(code::imm(w))),
                Op::LoadConst => set!(code::a(w), self.heap.consts[code::imm(w) as usize]),
                Op::Jump => pc = code::imm(w) as usize,
                Op::Sort => {
                    let sort = self.heap.sort(sy, reg!(code::a(w)));
                    pc = if word!(pc) >> sort & 1 != 0 { pc + 1 } else { code::imm(w) as usize };
                }
                Op::CallTop => {
                    if self.heap.is_top(sy, reg!(code::a(w)), word!(pc) as u32) {
                        self.frames.push(Frame { ret: pc as u32 + 2, base: base as u32 });
                        base += code::a(w);
                        regs = self.registers(base);
                        pc = code::imm(w) as usize;
                    } else {
                        pc += 2;
                    }
                }
                Op::TailTop => {
                    self.rewrites += 1;
                    let t = reg!(code::a(w));
                    if !self.heap.is_top(sy, t, word!(pc) as u32) {
                        ret!(t);
                    }
                    set!(0, t);
                    pc = code::imm(w) as usize;
                }
                Op::Return => ret!(reg!(code::a(w))),
                Op::ReturnRw => {
                    self.rewrites += 1;
                    ret!(reg!(code::a(w)));
                }
                Op::Arg => {
                    let node = reg!(code::b(w));
                    let mut value = self.heap.arg(node, code::c(w));
                    if theory.has_lazy {
                        value = self.heap.deref(value);
                    }
                    set!(code::a(w), value);
                }
                Op::SortBig => {
                    let sort = self.heap.sort(sy, reg!(code::a(w)));
                    if in_set(&theory.sets[word!(pc) as usize], sort) {
                        pc += 1;
                    } else {
                        pc = code::imm(w) as usize;
                    }
                }
                Op::Match => {
                    let operands = word!(pc);
                    let (pattern, choice) = (operands as u32 as usize, (operands >> 32) as usize);
                    let subject = reg!(code::a(w));
                    if self.matches.len() == self.active {
                        self.matches.push(Match::new());
                    }
                    set!(choice, Term::small(self.active as u32));
                    self.active += 1;
                    if self.matching(theory, pattern, self.active - 1, Some(subject), base) {
                        pc += 1;
                    } else {
                        self.active -= 1;
                        pc = code::imm(w) as usize;
                    }
                }
                Op::Next => {
                    let choice = reg!(code::a(w)).payload() as usize;
                    // Matchers that came later have failed.
                    self.active = choice + 1;
                    if self.matching(theory, word!(pc) as usize, choice, None, base) {
                        pc += 1;
                    } else {
                        self.active = choice;
                        pc = code::imm(w) as usize;
                    }
                }
                Op::Release => {
                    let choice = reg!(code::a(w)).payload() as usize;
                    self.release(choice);
                }
                Op::BuildSort => {
                    let (a, n) = (base + code::a(w), code::n(w));
                    let args = &self.stack[a..a + n];
                    let sym = code::imm(w);
                    let sorts = args.iter().map(|&t| self.heap.sort(sy, t));
                    let sort = sy.info[sym as usize].diagram.sort(sorts);
                    let t = self.heap.alloc(sym, sort, args);
                    self.stack[a] = t;
                }
                Op::Iterate => {
                    let (a, sym) = (code::a(w), code::imm(w));
                    let count = match word!(pc) {
                        one @ 0..=0xFFFF_FFFF => Int::Small(one as u32),
                        digits => {
                            let digits = (digits >> 32) as usize;
                            pc += digits;
                            let digits = &theory.code[pc + 1 - digits..pc + 1];
                            Int::from_big(BigUint::new(digits.iter().map(|&digit| digit as u32).collect()))
                        }
                    };
                    pc += 1;
                    let t = match code::n(w) {
                        0 => self.heap.iterate(sy, sym, &count, reg!(a)),
                        _ => self.leave_iterated(sym, &count, reg!(a)),
                    };
                    set!(a, t);
                }
                Op::TailBuild => {
                    self.rewrites += 1;
                    base = self.tail_build(w, word!(pc), base);
                    regs = self.registers(base);
                    pc = code::imm(w) as usize;
                }
                Op::FillHole => {
                    let head = self.fill_hole(base);
                    ret!(head);
                }
                Op::Fast => {
                    let (x, y) = (reg!(code::b(w)), reg!(code::c(w)));
                    if x.is_small() && y.is_small() {
                        let truth = word!(pc + 1);
                        if let Some(t) = fast(code::n(w), x.payload(), y.payload(), truth) {
                            self.rewrites += 1;
                            set!(code::a(w), t);
                            pc = word!(pc) as u32 as usize;
                            continue;
                        }
                    }
                    // Other numbers, if the module lets results stand as they are.
                    let number = (word!(pc) >> 32) as usize;
                    if number != 0 && (x.is_node() || y.is_node() || x.is_small() && y.is_small()) {
                        let Machine { heap, state, cancel, .. } = self;
                        let builtin = &theory.builtins[number - 1];
                        if let Some(t) = builtin.eval_pair(&mut Cx { heap, sy, state, cancel }, x, y) {
                            self.rewrites += 1;
                            set!(code::a(w), t);
                            pc = word!(pc) as u32 as usize;
                            continue;
                        }
                    }
                    pc += 2;
                }
                Op::Builtin => {
                    if let Some(t) = self.builtin(theory, code::imm(w) as usize, code::n(w), base) {
                        self.rewrites += 1;
                        go!(self.again(t, base));
                    }
                }
                Op::BuiltinBag => {
                    if let Some(t) = self.builtin_bag(theory, code::imm(w) as usize, base) {
                        self.rewrites += 1;
                        go!(self.again(t, base));
                    }
                }
                Op::Foreign => {
                    if let Some(t) = self.foreign(code::imm(w), base, code::n(w))? {
                        self.rewrites += 1;
                        go!(self.enter_term(t, base));
                    }
                }
                Op::TraceBuiltin | Op::TraceBuiltinBag => {
                    let number = word!(pc) as usize;
                    pc += 1;
                    let result = if code::op(w) == Op::TraceBuiltin {
                        self.builtin(theory, number, code::n(w), base)
                    } else {
                        self.builtin_bag(theory, number, base)
                    };
                    if let Some(t) = result {
                        self.rewrites += 1;
                        self.traced_redex = self.special_redex(code::imm(w), base, code::n(w));
                        self.trace_result(t);
                        go!(self.again(t, base));
                    }
                }
                Op::TraceRedex => {
                    self.traced_redex = self.special_redex(code::imm(w), base, code::n(w));
                }
                Op::TraceResult => self.trace_result(reg!(code::a(w))),
                Op::LoadCopy => {
                    let t = self.heap.copy_raw(self.heap.consts[code::imm(w) as usize]);
                    set!(code::a(w), t);
                }
                Op::Resort => {
                    let t = reg!(code::b(w));
                    pc += 1;
                    if !t.is_small() && !in_set(&theory.sets[code::c(w)], self.heap.sort(sy, t)) {
                        let code = theory.memberships[self.heap.head(sy, t)];
                        if code != NO_CODE {
                            set!(code::a(w), t);
                            self.frames.push(Frame { ret: pc as u32, base: base as u32 });
                            pc = code as usize;
                            base += code::a(w);
                            regs = self.registers(base);
                        }
                    }
                }
                Op::SortTest => {
                    let sort = self.heap.sort(sy, reg!(code::b(w)));
                    let terms = word!(pc);
                    pc += 1;
                    self.rewrites += 1;
                    let holds = in_set(&theory.sets[code::c(w)], sort);
                    set!(code::a(w), Term(if holds { terms as u32 } else { (terms >> 32) as u32 }));
                }
                Op::Eval => {
                    let a = code::a(w);
                    let t = self.heap.deref(reg!(a));
                    set!(a, t);
                    if self.heap.is_unreduced(t) {
                        // The new frame starts above everything that may be in use.
                        self.frames.push(Frame { ret: pc as u32 - 1, base: base as u32 });
                        let top = base + self.frame_size(pc);
                        go!(self.enter_term(t, top));
                    }
                    pc += 1;
                }
                Op::Fresh => {
                    let t = self.fresh(reg!(code::b(w)));
                    set!(code::a(w), t);
                }
                Op::Thunk => {
                    let a = base + code::a(w);
                    let n = word!(pc) as usize;
                    pc += 1;
                    let sym = code::imm(w);
                    let t = if n == 0 && sy.info[sym as usize].raw.is_some() {
                        let literal = self.stack[a];
                        self.heap.mark_unreduced(literal);
                        self.settle(literal);
                        literal
                    } else if n == 0 {
                        self.heap.alloc_unreduced_constant(sym, sy.info[sym as usize].constant_sort)
                    } else {
                        let before = self.heap.len();
                        let t = self.heap.apply(sy, sym, &self.stack[a..a + n]);
                        // It may have collapsed to an argument, which is as it was.
                        if t.is_node() && t.at() >= before {
                            self.heap.mark_unreduced(t);
                            self.settle(t);
                        }
                        t
                    };
                    self.stack[a] = t;
                }
                Op::Memo => {
                    let (n, sym) = (code::n(w), code::imm(w));
                    let hash = Memo::hash(&self.heap, sy, sym, &self.stack[base..base + n]);
                    let args = &self.stack[base..base + n];
                    if let Some(t) = self.memo.get(&self.heap, sy, hash, sym, args) {
                        self.rewrites += 1;
                        if self.tracer.is_some() {
                            self.trace_memo(sym, base, n, t);
                        }
                        ret!(t);
                    }
                    // Keep the arguments below the frame: [operator, count, hash, hash, hash,
                    // arguments...].
                    self.reserve(base + 2 * n + 5 + 256);
                    self.stack.copy_within(base..base + n, base + n + 5);
                    self.stack.copy_within(base..base + n, base + 5);
                    self.stack[base] = Term::small(sym);
                    self.stack[base + 1] = Term::small(n as u32);
                    for (i, place) in self.stack[base + 2..base + 5].iter_mut().enumerate() {
                        *place = Term::small((hash >> (22 * i)) as u32 & ((1 << 22) - 1));
                    }
                    self.frames.push(Frame { ret: theory.stubs.memo_return, base: base as u32 });
                    base += n + 5;
                    // `Enter` again for the moved frame, then go on after this instruction.
                    let size = code::a(word!(pc - 2));
                    self.reserve(base + size + 1);
                    regs = self.registers(base);
                }
                Op::MemoReturn => {
                    let (sym, n) = (reg!(0).payload(), reg!(1).payload() as usize);
                    let hash = (0..3).fold(0, |hash, i| hash | u64::from(reg!(2 + i).payload()) << (22 * i));
                    let args = &self.stack[base + 5..base + 5 + n];
                    let value = self.stack[base + 5 + n];
                    self.memo.insert(hash, sym, args, value);
                    ret!(value);
                }
                Op::Walk => go!(self.resume_walk(base)),
                Op::Update => {
                    let (node, value) = (reg!(0), reg!(1));
                    self.heap.resolve(sy, node, value);
                    ret!(value);
                }
                Op::SetSort => {
                    self.rewrites += 1;
                    let subject = reg!(0);
                    // The sort of a constant is known beforehand.
                    if subject.is_node() {
                        self.heap.set_sort(subject, code::imm(w));
                    } else if let Some(sorts) = self.heap.number_sorts.as_ref().filter(|_| subject.is_small())
                    {
                        sorts.set(subject.payload(), code::imm(w));
                    }
                }
                Op::TrialStart => {
                    let constant = word!(pc) as u32;
                    if self.trials.contains(&constant) {
                        pc = code::imm(w) as usize;
                    } else {
                        self.trials.push(constant);
                        pc += 1;
                    }
                }
                Op::TrialEnd => {
                    self.trials.pop();
                }
                Op::Trace => self.trace(code::imm(w) as usize, base, code::n(w), code::a(w)),
                Op::LoadRest => {
                    let choice = reg!(code::b(w)).payload() as usize;
                    let (x, y) = match self.matches[choice].rest() {
                        Rest::Whole => (Term::NONE, Term::NONE),
                        Rest::Bag(t) => (*t, Term::NONE),
                        Rest::List { left, right, .. } => {
                            (left.unwrap_or(Term::NONE), right.unwrap_or(Term::NONE))
                        }
                        Rest::Iter(Int::Small(count)) => (Term::NONE, Term::small(*count)),
                        Rest::Iter(Int::Big(count)) => {
                            let count = count.to_u32_digits();
                            (Term::NONE, self.heap.alloc_raw(0, 0, count))
                        }
                    };
                    set!(code::a(w), x);
                    set!(code::a(w) + 1, y);
                }
                Op::ListSplit => {
                    if self.list_split(sy, w, word!(pc), base) {
                        pc += 1;
                    } else {
                        pc = code::imm(w) as usize;
                    }
                }
                Op::IfWhole => {
                    if reg!(code::a(w)).is_none() && reg!(code::a(w) + 1).is_none() {
                        pc = code::imm(w) as usize;
                    }
                }
                Op::WithRest => {
                    let (x, y) = (reg!(code::b(w)), reg!(code::b(w) + 1));
                    let sym = word!(pc) as u32;
                    pc += 1;
                    let t = self.with_rest(sy, sym, reg!(code::a(w)), x, y);
                    if code::n(w) == 1 && self.heap.is_top(sy, t, sym) {
                        self.heap.mark_unreduced(t);
                        self.settle(t);
                    }
                    set!(code::a(w), t);
                }
                Op::Yield => {
                    self.yielded = reg!(code::a(w));
                    self.floor = base + code::imm(w) as usize + 1;
                    self.frames.push(Frame { ret: pc as u32 + 1, base: base as u32 });
                    return Ok(());
                }
                Op::Recall => {
                    let (n, regs, sym) = (code::n(w), word!(pc), word!(pc + 1) as u32);
                    let args: [Term; 4] =
                        std::array::from_fn(|i| if i < n { reg!(code::packed(regs, i)) } else { Term::NONE });
                    match self.recent.recall(&self.heap, sy, sym, args, self.rewrites) {
                        Some((value, rewrites)) => {
                            self.rewrites += rewrites;
                            set!(code::a(w), value);
                            pc = code::imm(w) as usize;
                        }
                        None => pc += 2,
                    }
                }
                Op::Remember => self.recent.remember(reg!(code::a(w)), self.rewrites),
                Op::Explore => {
                    let number = self.explore(reg!(code::a(w)));
                    set!(code::a(w), Term::small(number));
                }
                Op::NextState => {
                    let number = reg!(code::a(w)).payload() as usize;
                    match self.next_state(number)? {
                        Some(state) => {
                            set!(code::a(w) + 1, state);
                            pc += 1;
                        }
                        None => pc = code::imm(w) as usize,
                    }
                }
                // The instructions of `run_hot`. The simplest of them are above as well, so that
                // code for collections does not go back and forth.
                _ => {
                    (pc, base) = self.run_hot(theory, pc - 1, base)?;
                    regs = self.registers(base);
                }
            }
        }
    }

    #[inline(always)]
    fn builtin(&mut self, theory: &Theory, number: usize, args: usize, base: usize) -> Option<Term> {
        let sy = &theory.symbols;
        let builtin = &theory.builtins[number];
        let Machine { heap, stack, state, cancel, .. } = self;
        let joined = stack[base];
        let mut cx = Cx { heap, sy, state, cancel };
        if args == 1 && is_binary(cx.heap, sy, joined) {
            let args = [cx.heap.arg(joined, 0), cx.heap.arg(joined, 1)];
            if theory.functions[cx.heap.sym(sy, joined) as usize].joined {
                builtin.eval(&mut cx, &args)
            } else {
                builtin.eval(&mut cx, &stack[base..base + 1])
            }
        } else {
            builtin.eval(&mut cx, &stack[base..base + args])
        }
    }

    #[inline(always)]
    fn builtin_bag(&mut self, theory: &Theory, number: usize, base: usize) -> Option<Term> {
        let Machine { heap, stack, state, cancel, .. } = self;
        let mut pairs = Vec::new();
        heap.bag_pairs(stack[base], &mut pairs);
        theory.builtins[number].eval_bag(&mut Cx { heap, sy: &theory.symbols, state, cancel }, &pairs)
    }

    /// An operator that a layer above computes; the result is as [`Machine::load`] gives it.
    #[cold]
    fn foreign(&mut self, sym: u32, base: usize, args: usize) -> Result<Option<Term>, Interrupt> {
        let theory = self.theory.clone();
        let Some(foreign) = &theory.foreign else { return Ok(None) };
        let call = Call {
            theory: &theory,
            op: OpId(sym),
            args: self.stack[base..base + args].iter().map(|&arg| self.to_tree(arg)).collect(),
            cancel: &self.cancel,
        };
        let Some(reply) = foreign.apply(&call)? else { return Ok(None) };
        self.rewrites += reply.rewrites;
        let result = self.load(&reply.result);
        if self.tracer.is_some() {
            self.traced_redex = self.special_redex(sym, base, args);
            self.trace_result(result);
        }
        Ok(Some(result))
    }

    /// A result of a built-in may itself have code at its top, or not be reduced.
    fn again(&mut self, t: Term, base: usize) -> Option<(u32, usize)> {
        let t = if self.theory.symbols.numbers.computed { self.with_unreduced_numbers(t) } else { t };
        if self.heap.is_unreduced(t) {
            let t = if self.theory.has_lazy { self.fresh(t) } else { t };
            return self.enter_term(t, base);
        }
        let sy = &self.theory.symbols;
        self.stack[base] = t;
        if !t.is_node() {
            return None;
        }
        if self.heap.layout(t) == Layout::Raw as u32 || self.heap.sym(sy, t) == sy.string {
            let code = self.theory.functions[self.heap.head(sy, t)].code;
            return (code != NO_CODE).then_some((code, base));
        }
        let sym = self.heap.sym(sy, t);
        let function = &self.theory.functions[sym as usize];
        if function.code == NO_CODE {
            return None;
        }
        let code = function.code;
        if !function.joined {
            let n = self.heap.args(t).len();
            self.reserve(base + n + 1);
            for i in 0..n {
                self.stack[base + i] = self.heap.arg(t, i);
            }
        }
        Some((code, base))
    }

    /// What a built-in gives where the successor has equations: they have not been tried on its numbers.
    #[cold]
    fn with_unreduced_numbers(&mut self, t: Term) -> Term {
        let theory = self.theory_now();
        let sy = &theory.symbols;
        let is_number = t.is_small() || self.heap.is_big_nat(sy, t);
        if is_number {
            return self.unreduced_number(t);
        }
        if !t.is_node() || self.heap.layout(t) == Layout::Raw as u32 || self.heap.sym(sy, t) == sy.string {
            return t;
        }
        let sym = self.heap.sym(sy, t);
        let args: Vec<Term> =
            self.arguments_of(t).into_iter().map(|arg| self.with_unreduced_numbers(arg)).collect();
        self.heap.alloc_unreduced(sy, sym, &args)
    }

    fn with_rest(&mut self, sy: &Symbols, sym: u32, value: Term, left: Term, right: Term) -> Term {
        if sy.class(sym) == Class::Iter {
            let count = if right.is_small() {
                Int::Small(right.payload())
            } else {
                Int::Big(num_bigint::BigUint::new(self.heap.raw(right).iter().map(|w| w.0).collect()))
            };
            return self.heap.iterate(sy, sym, &count, value);
        }
        if sy.info[sym as usize].identity.is_some_and(|identity| identity.left != identity.right) {
            // As in Maude, identities that stand inside what is left vanish.
            let mut args = Vec::new();
            if !left.is_none() {
                args.extend_from_slice(self.heap.elements(sy, sym, &left));
            }
            args.push(value);
            if !right.is_none() {
                args.extend_from_slice(self.heap.elements(sy, sym, &right));
            }
            return self.heap.apply(sy, sym, &args);
        }
        let mut t = value;
        if !left.is_none() {
            t = self.heap.apply(sy, sym, &[left, t]);
        }
        if !right.is_none() {
            t = self.heap.apply(sy, sym, &[t, right]);
        }
        t
    }

    /// Starts (with a subject) or continues a matcher on the registers of the frame at `base`.
    fn matching(
        &mut self,
        theory: &Theory,
        pattern: usize,
        choice: usize,
        subject: Option<Term>,
        base: usize,
    ) -> bool {
        let Machine {
            heap, stack, matches, sub, rewrites, cancel, level, memory_max, theory: shared, ..
        } = self;
        let mut resort = |heap: &mut Heap, t: Term| {
            let machine = helper(sub, shared, cancel, (*level, *memory_max));
            *rewrites = rewrites.saturating_add(machine.resort(heap, t)).min(REWRITES_MAX);
        };
        let mut cx = Context { heap, sy: &theory.symbols, resort: &mut resort };
        let pattern = &theory.patterns[pattern];
        let slots = &mut stack[base..];
        match subject {
            Some(subject) => matches[choice].first(&mut cx, pattern, subject, slots),
            None => matches[choice].next(&mut cx, pattern, slots),
        }
    }

    /// Gives up the matchers from number `from` on.
    pub(super) fn release(&mut self, from: usize) {
        for matching in &mut self.matches[from..self.active] {
            matching.abandon();
        }
        self.active = from;
    }

    /// `t` without `count` successors, for numbers that are not small and for other terms.
    #[cold]
    pub(super) fn predecessor(&mut self, t: Term, count: u32) -> Option<Term> {
        let theory = self.theory.clone();
        let sy = &theory.symbols;
        if !t.is_node() || self.heap.sym(sy, t) != sy.numbers.succ {
            return None;
        }
        let (total, inner) = self.heap.iter_parts(t);
        if total < Int::Small(count) {
            return None;
        }
        let left = Int::from_big(total.to_big() - count);
        // What is left of a number that was left alone is not reduced either.
        Some(match left {
            Int::Small(0) => inner,
            _ if self.heap.is_unreduced(t) => self.leave_iterated(sy.numbers.succ, &left, inner),
            _ => self.heap.iterate(sy, sy.numbers.succ, &left, inner),
        })
    }
}

#[inline(always)]
fn in_set(set: &[u64], sort: u32) -> bool {
    set[(sort / 64) as usize] >> (sort % 64) & 1 != 0
}

fn is_binary(heap: &Heap, sy: &Symbols, t: Term) -> bool {
    t.is_node() && heap.layout(t) == 2 && heap.sym(sy, t) < sy.info.len() as u32
}

/// Arithmetic on small naturals; `None` if the result is not one.
#[inline(always)]
fn fast(kind: usize, x: u32, y: u32, truth: u64) -> Option<Term> {
    let test = |holds: bool| Some(Term(if holds { truth as u32 } else { (truth >> 32) as u32 }));
    let number = |n: u64| (n < u64::from(SMALL_MAX)).then(|| Term::small(n as u32));
    const ADD: usize = Fast::Add as usize;
    const MUL: usize = Fast::Mul as usize;
    const SD: usize = Fast::SymmetricDifference as usize;
    const SUB: usize = Fast::Sub as usize;
    const QUO: usize = Fast::Quo as usize;
    const REM: usize = Fast::Rem as usize;
    const MIN: usize = Fast::Min as usize;
    const MAX: usize = Fast::Max as usize;
    const LT: usize = Fast::Lt as usize;
    const LE: usize = Fast::Le as usize;
    const GT: usize = Fast::Gt as usize;
    const GE: usize = Fast::Ge as usize;
    match kind {
        ADD => number(u64::from(x) + u64::from(y)),
        MUL => number(u64::from(x) * u64::from(y)),
        SD => Some(Term::small(x.abs_diff(y))),
        SUB if x >= y => Some(Term::small(x - y)),
        QUO if y != 0 => Some(Term::small(x / y)),
        REM if y != 0 => Some(Term::small(x % y)),
        MIN => Some(Term::small(x.min(y))),
        MAX => Some(Term::small(x.max(y))),
        LT => test(x < y),
        LE => test(x <= y),
        GT => test(x > y),
        GE => test(x >= y),
        _ => None,
    }
}

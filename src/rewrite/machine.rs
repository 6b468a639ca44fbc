//! The rewriting machine: runs compiled code on one thread's heap.
//!
//! Registers are places on one value stack, relative to the current frame's base; a call's frame
//! starts at its first argument, and its result replaces it. The control stack holds return
//! addresses and bases. Nothing recurses natively, so depth is limited by memory only.

use std::sync::Arc;

use super::hot;
use super::memo::Memo;
use crate::base::{Cancel, Interrupt};
use crate::builtin::{BuiltinState, Cx, Fast};
use crate::matching::{Context, Match, Rest};
use crate::sorts::{SortId, Tree};
use crate::term::{Class, Heap, Int, Layout, SMALL_MAX, Symbols, Term, header, header_sort, header_sym};
use crate::theory::code::{self, Op};
use crate::theory::{NO_CODE, Theory, TracePoint};

/// What tracing code reports.
pub enum TraceEvent<'a> {
    Statement(StatementEvent<'a>),
    Builtin(BuiltinEvent<'a>),
}

/// Something is computed without equations.
pub struct BuiltinEvent<'a> {
    pub theory: &'a Theory,
    pub heap: &'a Heap,
    pub redex: Term,
    pub result: Term,
}

/// A statement is tried or applied.
pub struct StatementEvent<'a> {
    pub theory: &'a Theory,
    pub point: &'a TracePoint,
    pub heap: &'a Heap,
    /// The statement's variables are at `registers[reg]`.
    pub registers: &'a [Term],
    /// The redex (a membership's subject).
    pub redex: Term,
}

/// Someone who watches rewriting.
pub type Tracer = Box<dyn FnMut(&TraceEvent) + Send>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub ret: u32,
    pub base: u32,
}

/// One thread's rewriting.
pub struct Machine {
    pub theory: Arc<Theory>,
    pub heap: Heap,
    pub(super) stack: Vec<Term>,
    pub(super) frames: Vec<Frame>,
    matches: Vec<Match>,
    active: usize,
    /// Rewrites since the caller last set this to 0.
    pub rewrites: u64,
    pub(super) cancel: Cancel,
    memo: Memo,
    pub state: BuiltinState,
    pub tracer: Option<Tracer>,
    /// Between `TraceRedex` and `TraceResult`, which stand together.
    traced_redex: Term,
    /// Terms that the caller wants to keep across reductions.
    pub roots: Vec<Term>,
    /// Applies memberships while the matcher is at work on this machine's heap.
    sub: Option<Box<Machine>>,
    /// Collect at every call (debug builds only; on if `RWL_STRESS` is set).
    pub stress: bool,
    /// Words that the heap may have; reaching it is [`Interrupt::Memory`].
    pub memory_max: usize,
}

impl Machine {
    pub fn new(theory: Arc<Theory>, cancel: Cancel) -> Machine {
        let mut machine = Machine {
            heap: Heap::new(),
            stack: vec![Term(0); 1 << 12],
            frames: Vec::with_capacity(1 << 8),
            matches: Vec::new(),
            active: 0,
            rewrites: 0,
            cancel,
            memo: Memo::default(),
            state: BuiltinState::default(),
            tracer: None,
            traced_redex: Term(0),
            roots: Vec::new(),
            sub: None,
            stress: cfg!(debug_assertions) && std::env::var_os("RWL_STRESS").is_some(),
            memory_max: (1 << 30) - (1 << 26),
            theory,
        };
        let theory = machine.theory.clone();
        for tree in theory.symbols.identities.iter().chain(&theory.constants) {
            let term = machine.heap.build(&theory.symbols, &theory.names, tree);
            machine.heap.consts.push(term);
        }
        machine
    }

    pub fn symbols(&self) -> &Symbols {
        &self.theory.symbols
    }

    /// Forgets memoized results.
    pub fn clear_memo(&mut self) {
        self.memo.clear();
    }

    /// The normal form of a parsed term.
    pub fn reduce(&mut self, tree: &Tree) -> Result<Term, Interrupt> {
        let term = self.load(tree);
        self.reduce_term(term)
    }

    /// The normal form of a term made by [`Machine::load`].
    pub fn reduce_term(&mut self, term: Term) -> Result<Term, Interrupt> {
        self.frames.clear();
        self.active = 0;
        self.stack[0] = term;
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: 0 });
        let result = match self.enter_term(term, 0) {
            Some((pc, base)) => self.run(pc, base),
            None => Ok(()),
        };
        self.frames.clear();
        result.map(|()| self.stack[0])
    }

    /// The least sort of a term.
    pub fn sort_of(&self, t: Term) -> SortId {
        let sy = self.symbols();
        let sym = self.heap.sym(sy, t);
        let sorts = &self.theory.module.signature.sorts;
        match sy.info.get(sym as usize) {
            Some(info) => sorts.at(info.kind, self.heap.sort(sy, t)),
            None => SortId(self.heap.raw(t)[3].0),
        }
    }

    pub fn to_tree(&self, t: Term) -> Tree {
        self.heap.to_tree(self.symbols(), t)
    }

    #[inline(always)]
    pub(super) fn reserve(&mut self, top: usize) {
        if top > self.stack.len() {
            let size = (top * 2).max(1 << 12);
            self.stack.resize(size, Term(0));
        }
    }

    /// Where the register 0 of a frame is.
    #[inline(always)]
    pub(super) fn registers(&mut self, base: usize) -> *mut Term {
        debug_assert!(base < self.stack.len());
        // SAFETY: frames start inside the stack.
        unsafe { self.stack.as_mut_ptr().add(base) }
    }

    /// Collect at every call? Shakes out registers that are wrongly believed alive or dead.
    #[inline(always)]
    pub(super) fn is_stressed(&self) -> bool {
        cfg!(debug_assertions) && self.stress
    }

    /// The rare parts of `Enter`: the stack grows, garbage is collected, someone interrupts.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_slowly(&mut self, base: usize, size: usize, args: usize) -> Result<(), Interrupt> {
        self.reserve(base + size + 1);
        if size > 63 {
            // Masks have one bit for all registers from 63 on, so all must hold terms.
            self.stack[base + args.max(63)..base + size].fill(Term(0));
        }
        if self.heap.is_full() || self.is_stressed() {
            self.collect(base, args);
            if self.heap.len() > self.memory_max {
                return Err(Interrupt::Memory);
            }
        }
        if self.cancel.is_raised() { Err(Interrupt::Cancelled) } else { Ok(()) }
    }

    /// Collects garbage at a call: alive are the callee's arguments, and in each suspended frame
    /// what its call's mask says.
    #[cold]
    #[inline(never)]
    pub(super) fn collect(&mut self, base: usize, args: usize) {
        let theory = self.theory.clone();
        let code = &theory.code;
        // `Eval` is returned to, not passed: its mask comes after it. Its callee's frame starts
        // above the whole frame, as no other does.
        let mask_of = |frame: &Frame, end: usize| {
            let at = frame.ret as usize;
            let is_eval = code::op(code[at]) == Op::Eval
                && end == frame.base as usize + Machine::frame_size_of(&theory, at);
            code[if is_eval { at + 1 } else { at - 1 }]
        };
        let Machine { heap, stack, frames, matches, active, memo, roots, .. } = self;
        heap.collect(|visit| {
            for (i, frame) in frames.iter().enumerate() {
                let start = frame.base as usize;
                let end = frames.get(i + 1).map_or(base, |next| next.base as usize);
                let mask = mask_of(frame, end);
                for (bit, term) in stack[start..end].iter_mut().enumerate() {
                    if mask >> bit.min(63) & 1 != 0 {
                        visit(term);
                    }
                }
            }
            stack[base..base + args].iter_mut().for_each(&mut *visit);
            for matching in &mut matches[..*active] {
                matching.roots(visit);
            }
            memo.roots(visit);
            roots.iter_mut().for_each(visit);
        });
    }

    /// Runs code until the frame below the one that was there at the start returns to `halt`.
    pub(super) fn run(&mut self, start: u32, start_base: usize) -> Result<(), Interrupt> {
        let theory = self.theory.clone();
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
            if !hot::is_rare(code::op(word!(pc))) {
                (pc, base) = self.run_hot(&theory, pc, base)?;
                regs = self.registers(base);
            }
            let w = word!(pc);
            pc += 1;
            match code::op(w) {
                Op::Halt => return Ok(()),
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
                    if self.matching(&theory, pattern, self.active - 1, Some(subject), base) {
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
                    if self.matching(&theory, word!(pc) as usize, choice, None, base) {
                        pc += 1;
                    } else {
                        self.active = choice;
                        pc = code::imm(w) as usize;
                    }
                }
                Op::Release => {
                    let choice = reg!(code::a(w)).payload() as usize;
                    for matching in &mut self.matches[choice..self.active] {
                        matching.abandon();
                    }
                    self.active = choice;
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
                Op::Join => {
                    let a = base + code::a(w);
                    let n = word!(pc) as usize;
                    pc += 1;
                    let t = self.heap.apply(sy, code::imm(w), &self.stack[a..a + n]);
                    self.stack[a] = t;
                }
                Op::Iterate => {
                    let a = code::a(w);
                    let count = Int::Small(word!(pc) as u32);
                    pc += 1;
                    let t = self.heap.iterate(sy, code::imm(w), &count, reg!(a));
                    if code::n(w) == 1 && !self.heap.is_big_nat(sy, t) {
                        self.heap.mark_unreduced(t);
                    }
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
                        let Machine { heap, state, .. } = self;
                        let builtin = &theory.builtins[number - 1];
                        if let Some(t) = builtin.eval_pair(&mut Cx { heap, sy, state }, x, y) {
                            self.rewrites += 1;
                            set!(code::a(w), t);
                            pc = word!(pc) as u32 as usize;
                            continue;
                        }
                    }
                    pc += 2;
                }
                Op::Builtin => {
                    if let Some(t) = self.builtin(&theory, code::imm(w) as usize, code::n(w), base) {
                        self.rewrites += 1;
                        go!(self.again(t, base));
                    }
                }
                Op::BuiltinBag => {
                    if let Some(t) = self.builtin_bag(&theory, code::imm(w) as usize, base) {
                        self.rewrites += 1;
                        go!(self.again(t, base));
                    }
                }
                Op::TraceBuiltin | Op::TraceBuiltinBag => {
                    let number = word!(pc) as usize;
                    pc += 1;
                    let result = if code::op(w) == Op::TraceBuiltin {
                        self.builtin(&theory, number, code::n(w), base)
                    } else {
                        self.builtin_bag(&theory, number, base)
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
                Op::Thunk => {
                    let a = base + code::a(w);
                    let n = word!(pc) as usize;
                    pc += 1;
                    let sym = code::imm(w);
                    let t = if n == 0 {
                        self.heap.alloc_unreduced_constant(sym, sy.info[sym as usize].constant_sort)
                    } else {
                        let before = self.heap.len();
                        let t = self.heap.apply(sy, sym, &self.stack[a..a + n]);
                        // It may have collapsed to an argument, which is as it was.
                        if t.is_node() && t.at() >= before {
                            self.heap.mark_unreduced(t);
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
                    self.heap.set_sort(reg!(0), code::imm(w));
                }
                Op::Count => self.rewrites += u64::from(code::imm(w)),
                Op::Trace => self.trace(code::imm(w) as usize, base, code::n(w), code::a(w)),
                Op::LoadRest => {
                    let choice = reg!(code::b(w)).payload() as usize;
                    let (x, y) = match self.matches[choice].rest() {
                        Rest::Whole => (Term::NONE, Term::NONE),
                        Rest::Bag(t) => (*t, Term::NONE),
                        Rest::List { left, right } => {
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
                Op::BagCheck => {
                    let spec = word!(pc);
                    if self.bag_check(reg!(code::a(w)), spec) {
                        pc += 1;
                    } else {
                        pc = code::imm(w) as usize;
                    }
                }
                Op::BagNext => {
                    let specs = [word!(pc), word!(pc + 1), word!(pc + 2), word!(pc + 3)];
                    if self.bag_next(code::a(w), specs, base) {
                        pc += 4;
                    } else {
                        pc = code::imm(w) as usize;
                    }
                }
                Op::BagFind => {
                    let specs = [word!(pc), word!(pc + 1), word!(pc + 2)];
                    if self.bag_find(code::a(w), specs, base) {
                        pc += 3;
                    } else {
                        pc = code::imm(w) as usize;
                    }
                }
                Op::BagRest => {
                    let specs = [word!(pc), word!(pc + 1), word!(pc + 2)];
                    pc += 3;
                    let t = self.bag_rest(sy, code::n(w), code::imm(w) == 1, specs, base);
                    set!(code::a(w), t);
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
                    set!(code::a(w), t);
                }
                // The instructions of `run_hot`.
                _ => unreachable!("the hot loop knows this instruction"),
            }
        }
    }

    #[inline(always)]
    fn builtin(&mut self, theory: &Theory, number: usize, args: usize, base: usize) -> Option<Term> {
        let sy = &theory.symbols;
        let builtin = &theory.builtins[number];
        let Machine { heap, stack, state, .. } = self;
        let joined = stack[base];
        let mut cx = Cx { heap, sy, state };
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
        let Machine { heap, stack, state, .. } = self;
        let mut pairs = Vec::new();
        heap.bag_pairs(stack[base], &mut pairs);
        theory.builtins[number].eval_bag(&mut Cx { heap, sy: &theory.symbols, state }, &pairs)
    }

    /// The node of an operator that computes without equations, over its `args` registers.
    #[cold]
    fn special_redex(&mut self, sym: u32, base: usize, args: usize) -> Term {
        let theory = self.theory.clone();
        if args == 0 {
            return Term::constant(sym);
        }
        if theory.functions[sym as usize].joined {
            return self.stack[base];
        }
        self.heap.apply(&theory.symbols, sym, &self.stack[base..base + args])
    }

    #[cold]
    fn trace_result(&mut self, result: Term) {
        let Some(mut tracer) = self.tracer.take() else { return };
        let (theory, redex) = (self.theory.clone(), self.traced_redex);
        let heap = &self.heap;
        tracer(&TraceEvent::Builtin(BuiltinEvent { theory: &theory, heap, redex, result }));
        self.tracer = Some(tracer);
    }

    /// A result of a built-in may itself have code at its top.
    fn again(&mut self, t: Term, base: usize) -> Option<(u32, usize)> {
        let sy = &self.theory.symbols;
        self.stack[base] = t;
        if !t.is_node() || self.heap.layout(t) == Layout::Raw as u32 {
            return None;
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

    fn with_rest(&mut self, sy: &Symbols, sym: u32, value: Term, left: Term, right: Term) -> Term {
        if sy.class(sym) == Class::Iter {
            let count = if right.is_small() {
                Int::Small(right.payload())
            } else {
                Int::Big(num_bigint::BigUint::new(self.heap.raw(right).iter().map(|w| w.0).collect()))
            };
            return self.heap.iterate(sy, sym, &count, value);
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
        theory: &Arc<Theory>,
        pattern: usize,
        choice: usize,
        subject: Option<Term>,
        base: usize,
    ) -> bool {
        let Machine { heap, stack, matches, sub, rewrites, cancel, .. } = self;
        let mut resort = |heap: &mut Heap, t: Term| {
            let machine = sub.get_or_insert_with(|| Box::new(Machine::new(theory.clone(), cancel.clone())));
            *rewrites += machine.resort(heap, t);
        };
        let mut cx = Context { heap, sy: &theory.symbols, resort: &mut resort };
        let pattern = &theory.patterns[pattern];
        let slots = &mut stack[base..];
        match subject {
            Some(subject) => matches[choice].first(&mut cx, pattern, subject, slots),
            None => matches[choice].next(&mut cx, pattern, slots),
        }
    }

    /// Applies memberships to a node on another heap, which has the theory's constants; returns
    /// the rewrites it took.
    pub(crate) fn resort(&mut self, heap: &mut Heap, t: Term) -> u64 {
        let code = self.theory.memberships[heap.sym(&self.theory.symbols, t) as usize];
        if code == NO_CODE || !t.is_node() {
            return 0;
        }
        std::mem::swap(&mut self.heap, heap);
        let limit = std::mem::replace(&mut self.heap.limit, usize::MAX);
        // The matcher holds terms that this machine does not know: nothing may move.
        self.stress = false;
        self.rewrites = 0;
        self.frames.clear();
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: 0 });
        self.stack[0] = t;
        // An interrupt shows again at the caller's next call.
        let _ = self.run(code, 0);
        self.frames.clear();
        self.active = 0;
        self.heap.limit = limit;
        std::mem::swap(&mut self.heap, heap);
        self.rewrites
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
        Some(self.heap.iterate(sy, sy.numbers.succ, &left, inner))
    }

    /// Allocates the node with a hole and arranges for the callee's result to fill it.
    #[inline]
    fn tail_build(&mut self, w: u64, spec: u64, base: usize) -> usize {
        let theory = &self.theory;
        let sy = &theory.symbols;
        let (a, n) = (code::a(w), code::n(w));
        let hole = (spec >> 32 & 0xFF) as usize;
        let mut head = spec as u32;
        let arity = crate::term::header_layout(head) as usize;
        let others = base + a + n;
        if spec >> 40 & 1 != 0 {
            let range = (spec >> 48) as u32;
            let sorts = (0..arity).map(|i| match i.cmp(&hole) {
                std::cmp::Ordering::Less => self.heap.sort(sy, self.stack[others + i]),
                std::cmp::Ordering::Equal => range,
                std::cmp::Ordering::Greater => self.heap.sort(sy, self.stack[others + i - 1]),
            });
            let sort = sy.info[header_sym(head) as usize].diagram.sort(sorts);
            head = header(header_sym(head), arity as u32, sort);
        }
        let node = self.heap.alloc_hole(head, &self.stack[others..others + arity - 1], hole);
        let top = *self.frames.last().expect("halt is below");
        let continues = top.ret == theory.stubs.fill_hole
            && top.base as usize + 3 == base
            && self.stack[base - 1] == Term::small(hole as u32);
        if continues {
            let last = self.stack[base - 2];
            self.heap.set_word(last.at() + 1 + hole, node);
            self.stack[base - 2] = node;
            for i in 0..n {
                self.stack[base + i] = self.stack[base + a + i];
            }
            return base;
        }
        self.frames.push(Frame { ret: theory.stubs.fill_hole, base: base as u32 });
        self.reserve(base + a + n + 4);
        if a >= 3 {
            for i in 0..n {
                self.stack[base + 3 + i] = self.stack[base + a + i];
            }
        } else {
            self.stack.copy_within(base + a..base + a + n, base + 3);
        }
        self.stack[base] = node;
        self.stack[base + 1] = node;
        self.stack[base + 2] = Term::small(hole as u32);
        base + 3
    }

    /// A callee has returned: puts its result into the hole, and corrects sorts if it has not the
    /// sort that was assumed.
    #[inline]
    fn fill_hole(&mut self, base: usize) -> Term {
        let (head, last) = (self.stack[base], self.stack[base + 1]);
        let hole = self.stack[base + 2].payload() as usize;
        let value = self.stack[base + 3];
        self.heap.set_word(last.at() + 1 + hole, value);
        self.correct_sorts(head, last, hole);
        head
    }

    /// A hole was filled with a term whose sort may differ from the one that was assumed.
    #[inline(never)]
    pub(super) fn correct_sorts(&mut self, head: Term, last: Term, hole: usize) {
        if self.recompute_sort(last) && head != last {
            self.correct_chain(head, last, hole);
        }
    }

    fn recompute_sort(&mut self, node: Term) -> bool {
        let sy = &self.theory.symbols;
        let old = self.heap.header(node);
        let args = self.heap.args(node).iter().map(|&arg| self.heap.sort(sy, arg));
        let sort = sy.info[header_sym(old) as usize].diagram.sort(args);
        let changed = sort != header_sort(old);
        if changed {
            self.heap.set_sort(node, sort);
        }
        changed
    }

    #[cold]
    fn correct_chain(&mut self, head: Term, last: Term, hole: usize) {
        let mut chain = Vec::new();
        let mut node = head;
        while node != last {
            chain.push(node);
            node = self.heap.arg(node, hole);
        }
        while let Some(node) = chain.pop() {
            if !self.recompute_sort(node) {
                break;
            }
        }
    }

    #[cold]
    fn trace(&mut self, point: usize, base: usize, args: usize, top: usize) {
        let Some(mut tracer) = self.tracer.take() else { return };
        let theory = self.theory.clone();
        let point = &theory.traces[point];
        let redex = self.redex(point, base, args);
        tracer(&TraceEvent::Statement(StatementEvent {
            theory: &theory,
            point,
            heap: &self.heap,
            registers: &self.stack[base..base + top],
            redex,
        }));
        self.tracer = Some(tracer);
    }

    /// The redex of a traced statement: the node in register 0, or the node over the arguments.
    fn redex(&mut self, point: &TracePoint, base: usize, args: usize) -> Term {
        use crate::theory::TraceKind;
        let theory = self.theory.clone();
        let lhs = match point.kind {
            TraceKind::Equation => &theory.module.equations[point.index].lhs,
            TraceKind::Membership => return self.stack[base],
        };
        let op = lhs.node(lhs.root()).op();
        match op {
            Some(op) if !theory.functions[op.index()].joined && args > 0 => {
                let args: Vec<Term> = self.stack[base..base + args].to_vec();
                self.heap.apply(&theory.symbols, op.0, &args)
            }
            Some(op) if args == 0 => Term::constant(op.0),
            _ => self.stack[base],
        }
    }

    /// The frame size of the function that contains the code at `pc`: found at its `Enter`.
    pub(super) fn frame_size(&self, pc: usize) -> usize {
        Machine::frame_size_of(&self.theory, pc)
    }

    fn frame_size_of(theory: &Theory, pc: usize) -> usize {
        let entries = &theory.enters;
        let place = entries.partition_point(|&enter| enter as usize <= pc);
        code::a(theory.code[entries[place - 1] as usize]) + 1
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

//! The rewriting machine: runs compiled code on one thread's heap.
//!
//! Registers are places on one value stack, relative to the current frame's base; a call's frame
//! starts at its first argument, and its result replaces it. The control stack holds return
//! addresses and bases. Nothing recurses natively, so depth is limited by memory only.
//!
//! Here are the machine's state, what its users ask of it, and what is alive when the collector
//! runs. The loops that execute code are `hot` and `run`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashSet;

use super::decide;
use super::memo::Memo;
use super::recent::Recent;
use super::rules::{Activation, Exploration};
use super::trace::{TraceEvent, Tracer};
use super::vain::{Tried, Vain};
use crate::base::{Cancel, Exceeded, Interrupt};
use crate::builtin::BuiltinState;
use crate::matching::Match;
use crate::sorts::{SortId, Tree};
use crate::term::{Heap, Symbols, Term, WORDS_MAX};
use crate::theory::code::{self, Op};
use crate::theory::{NO_CODE, Theory};

/// One thread's rewriting.
pub struct Machine {
    pub theory: Arc<Theory>,
    pub heap: Heap,
    pub(super) stack: Vec<Term>,
    pub(super) frames: Vec<Frame>,
    pub(super) matches: Vec<Match>,
    pub(super) active: usize,
    /// Rewrites since the caller last set this to 0.
    pub rewrites: u64,
    /// Those of them that rules made.
    pub rule_rewrites: u64,
    /// Rules that were applied inside `=>` conditions.
    pub rules_inside: FxHashSet<u32>,
    pub(super) cancel: Cancel,
    pub(super) memo: Memo,
    pub state: BuiltinState,
    pub tracer: Option<Tracer>,
    /// Constants whose memberships are being tried.
    pub(super) trials: Vec<u32>,
    /// Rewrites in memberships of small naturals since they were last counted.
    pub(super) decided: Arc<AtomicU64>,
    /// Between `TraceRedex` and `TraceResult`, which stand together.
    pub(super) traced_redex: Term,
    /// Terms at the positions where rules are tried.
    pub(super) roots: Vec<Term>,
    /// Terms that the caller wants to keep across reductions.
    pub kept: Vec<Term>,
    /// Nodes that no rule applies to at the top, since the last collection. As in Maude, what was
    /// tried in vain is not tried again when the term around it changes.
    pub(super) stuck: FxHashSet<u32>,
    /// Likewise in a search, where terms come and go.
    pub(super) vain: Vain,
    /// Do terms on the heap stay from one state of a search to the next?
    pub keeps_terms: bool,
    /// How many `=>` conditions this machine is inside of.
    pub(super) depth: usize,
    /// Applies memberships while the matcher is at work on this machine's heap.
    pub(super) sub: Option<Box<Machine>>,
    /// How many machines this one is the `sub` of.
    pub(super) level: usize,
    /// Collect at every call (debug builds only; on if `RWL_STRESS` is set).
    pub stress: bool,
    /// Words that the heap may have; reaching it is [`Interrupt::Memory`].
    pub memory_max: usize,
    /// Where the next frame that Rust code starts may be: below are the frames of rules that
    /// wait to be resumed.
    pub(super) floor: usize,
    /// What `Yield` left.
    pub(super) yielded: Term,
    /// Rules that wait to be resumed, the innermost last.
    pub(super) activations: Vec<Activation>,
    /// Values of functions in conditions of rules, while the same state is rewritten.
    pub(super) recent: Recent,
    /// The position of the element of a multiset that was found last by a number, less that number.
    pub(super) near: u32,
    /// Explorations of `=>` conditions, the innermost last.
    pub(super) explorations: Vec<Box<Exploration>>,
    /// Machines that explorations used, for the next ones.
    pub(super) idle: Vec<Box<Exploration>>,
}

/// About so many words of memory a matcher takes.
const MATCH_WORDS: usize = 2 * size_of::<Match>() / size_of::<Term>();

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub ret: u32,
    pub base: u32,
}

impl Machine {
    pub fn new(theory: Arc<Theory>, cancel: Cancel) -> Machine {
        let mut machine = Machine {
            heap: Heap::new(),
            stack: vec![Term(0); 1 << 8],
            frames: Vec::new(),
            matches: Vec::new(),
            active: 0,
            rewrites: 0,
            rule_rewrites: 0,
            rules_inside: FxHashSet::default(),
            cancel,
            memo: Memo::default(),
            state: BuiltinState::default(),
            tracer: None,
            trials: Vec::new(),
            decided: Arc::default(),
            traced_redex: Term(0),
            roots: Vec::new(),
            kept: Vec::new(),
            stuck: FxHashSet::default(),
            vain: Vain::default(),
            keeps_terms: true,
            depth: 0,
            sub: None,
            level: 0,
            stress: cfg!(debug_assertions) && std::env::var_os("RWL_STRESS").is_some(),
            memory_max: WORDS_MAX,
            floor: 0,
            yielded: Term::NONE,
            activations: Vec::new(),
            recent: Recent::default(),
            near: 0,
            explorations: Vec::new(),
            idle: Vec::new(),
            theory,
        };
        let theory = machine.theory.clone();
        for tree in theory.symbols.identities.iter().chain(&theory.constants) {
            let term = machine.heap.build(&theory.symbols, &*theory.names, tree);
            machine.heap.consts.push(term);
        }
        if theory.symbols.numbers.decided {
            machine.heap.number_sorts =
                Some(decide::number_sorts(&theory, &machine.cancel, &machine.decided));
        }
        machine
    }

    /// Its heap may have no more than so many words.
    pub fn confine(&mut self, words: usize) {
        self.memory_max = self.memory_max.min(words);
        self.heap.max = self.memory_max;
    }

    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Tries the memberships on a small natural.
    pub(super) fn decide_number(&mut self, n: u32) {
        let numbers = &self.theory.symbols.numbers;
        let sym = if n == 0 { numbers.zero } else { numbers.succ };
        let code = self.theory.memberships[sym as usize];
        if code == NO_CODE {
            return;
        }
        self.frames.clear();
        self.trials.clear();
        self.active = 0;
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: 0 });
        self.stack[0] = Term::small(n);
        // An interrupt shows again at the caller's next call.
        let _ = self.run(code, 0);
        self.frames.clear();
        self.active = 0;
    }

    pub fn symbols(&self) -> &Symbols {
        &self.theory.symbols
    }

    /// Counts what is tried in vain together with other machines.
    pub fn share_trials(&mut self, tried: &Arc<Tried>) {
        self.vain.tried = Some(tried.clone());
    }

    /// Forgets memoized results.
    pub fn clear_memo(&mut self) {
        self.memo.clear();
    }

    /// The normal form of a parsed term.
    pub fn reduce(&mut self, tree: &Tree) -> Result<Term, Interrupt> {
        if let Some(tracer) = &mut self.tracer {
            tracer(&TraceEvent::Start(&self.theory, tree));
        }
        let term = self.load(tree);
        self.reduce_term(term)
    }

    /// The normal form of a term made by [`Machine::load`].
    pub fn reduce_term(&mut self, term: Term) -> Result<Term, Interrupt> {
        let (base, depth) = (self.floor, self.frames.len());
        self.reserve(base + 1);
        self.stack[base] = term;
        if depth == 0 {
            self.trials.clear();
            self.heap.tower_sorts.clear();
            if let Some(sorts) = &self.heap.number_sorts {
                sorts.clear();
            }
        }
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: base as u32 });
        let result = match self.enter_term(term, base) {
            Some((pc, base)) => self.run(pc, base),
            None => Ok(()),
        };
        self.frames.truncate(depth);
        let value = self.stack[base];
        if self.theory.symbols.numbers.decided && value.is_small() {
            self.heap.sort(&self.theory.symbols, value);
        }
        self.count_decided();
        result.map(|()| value)
    }

    /// Runs code. A term for which there is no room ends it like any other lack of memory.
    pub(super) fn run(&mut self, pc: u32, base: usize) -> Result<(), Interrupt> {
        let run = AssertUnwindSafe(|| self.execute(pc, base));
        catch_unwind(run).unwrap_or_else(|payload| match payload.downcast_ref() {
            Some(&Exceeded::ROOM) => Err(Interrupt::Memory),
            Some(&Exceeded::CANCELLED) => Err(Interrupt::Cancelled),
            _ => resume_unwind(payload),
        })
    }

    /// Counts the rewrites that the sorts of small naturals took.
    pub(super) fn count_decided(&mut self) {
        if self.theory.symbols.numbers.decided {
            self.rewrites += self.decided.swap(0, Ordering::Relaxed);
        }
    }

    /// Forgets whatever was being done, after an interrupt.
    pub fn reset(&mut self) {
        self.frames.clear();
        self.release(0);
        self.explorations.clear();
        self.activations.clear();
        self.stuck.clear();
        self.floor = 0;
    }

    /// Collects garbage if it is time, between two pieces of work.
    pub fn tidy(&mut self) {
        if self.heap.is_full() && self.frames.is_empty() {
            self.roots.clear();
            self.collect(0, 0);
        }
    }

    /// The least sort of a term.
    pub fn sort_of(&self, t: Term) -> SortId {
        let sy = self.symbols();
        let sym = self.heap.sym(sy, t);
        let sorts = &self.theory.module.signature.sorts;
        match sy.info.get(sym as usize) {
            Some(info) => sorts.at(info.kind, self.heap.sort(sy, t)),
            // Memberships may apply to variables.
            None => sorts.at(sorts.kind_of(SortId(self.heap.raw(t)[3].0)), self.heap.sort(sy, t)),
        }
    }

    pub fn to_tree(&self, t: Term) -> Tree {
        self.heap.to_tree(self.symbols(), t)
    }

    /// The theory, for the time of one run: unlike a clone of the counted reference it costs
    /// nothing, and threads do not meet at the counter.
    #[inline(always)]
    pub(super) fn theory_now<'t>(&self) -> &'t Theory {
        // SAFETY: the machine keeps its theory from its creation to its end, and whoever calls
        // this uses the reference only while it has the machine.
        unsafe { &*Arc::as_ptr(&self.theory) }
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
        // Calls may wait for one another without end, and what grows is twice as large then.
        let waiting = 2 * (base + size + self.frames.len() + self.active * MATCH_WORDS);
        if waiting > self.memory_max {
            return Err(Interrupt::Memory);
        }
        self.reserve(base + size + 1);
        if size > 63 {
            // Masks have one bit for all registers from 63 on, so all must hold terms.
            self.stack[base + args.max(63)..base + size].fill(Term(0));
        }
        if self.heap.is_full() || self.is_stressed() {
            self.collect(base, args);
            if self.heap.len() + waiting > self.memory_max {
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
        self.stuck.clear();
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
        let Machine { heap, stack, frames, matches, active, memo, recent, roots, kept, vain, .. } = self;
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
            recent.roots(visit);
            roots.iter_mut().chain(kept).chain(&mut vain.terms).for_each(visit);
        });
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

//! What those who watch rewriting are told: each statement that is tried or applied, with its redex,
//! and each result that is computed without equations.

use super::machine::Machine;
use crate::sorts::Tree;
use crate::term::{Heap, Term};
use crate::theory::{Theory, TracePoint};

/// What tracing code reports.
pub enum TraceEvent<'a> {
    Statement(StatementEvent<'a>),
    Builtin(BuiltinEvent<'a>),
    /// A value was found in the memo table of its operator.
    Memo(BuiltinEvent<'a>),
    /// A term is going to be reduced.
    Start(&'a Theory, &'a Tree),
    /// Rules are going to be tried on a term and below it: each alone, or one after the other.
    Explore {
        heap: &'a Heap,
        theory: &'a Theory,
        term: Term,
        each_alone: bool,
    },
    /// They are tried at this position of it: which argument, and of that which one.
    Place(&'a [usize]),
    /// The operator that counts has been rewritten.
    Counter(u32),
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
    /// Where the statement is at work: how many `=>` conditions deep, and where on the stack.
    pub place: (usize, usize),
}

/// Someone who watches rewriting.
pub type Tracer = Box<dyn FnMut(&TraceEvent) + Send>;

impl Machine {
    #[cold]
    pub(super) fn trace(&mut self, point: usize, base: usize, args: usize, top: usize) {
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
            place: (self.depth, base),
        }));
        self.tracer = Some(tracer);
    }

    /// The redex of a traced statement: the node in register 0, or the node over the arguments.
    fn redex(&mut self, point: &TracePoint, base: usize, args: usize) -> Term {
        use crate::theory::TraceKind;
        let theory = self.theory.clone();
        let lhs = match point.kind {
            TraceKind::Equation => &theory.module.equations[point.index].lhs,
            TraceKind::Membership | TraceKind::Rule => return self.stack[base],
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

    /// The node of an operator that computes without equations, over its `args` registers.
    #[cold]
    pub(super) fn special_redex(&mut self, sym: u32, base: usize, args: usize) -> Term {
        let theory = self.theory.clone();
        if args == 0 {
            return Term::constant(sym);
        }
        if theory.functions[sym as usize].joined {
            return self.stack[base];
        }
        self.heap.apply(&theory.symbols, sym, &self.stack[base..base + args])
    }

    /// Tells that a value was remembered, if someone watches.
    #[cold]
    pub(super) fn trace_memo(&mut self, sym: u32, base: usize, args: usize, result: Term) {
        let redex = self.special_redex(sym, base, args);
        let Some(mut tracer) = self.tracer.take() else { return };
        let (theory, heap) = (self.theory.clone(), &self.heap);
        tracer(&TraceEvent::Memo(BuiltinEvent { theory: &theory, heap, redex, result }));
        self.tracer = Some(tracer);
    }

    /// Tells that rules are going to be tried on a term, if someone watches.
    pub(super) fn trace_state(&mut self, term: Term, each_alone: bool) {
        if let Some(tracer) = &mut self.tracer {
            let (heap, theory) = (&self.heap, &self.theory);
            tracer(&TraceEvent::Explore { heap, theory, term, each_alone });
        }
    }

    /// Tells of an event without a redex, if someone watches.
    #[cold]
    pub(super) fn tell(&mut self, event: &TraceEvent) {
        if let Some(tracer) = &mut self.tracer {
            tracer(event);
        }
    }

    #[cold]
    pub(super) fn trace_result(&mut self, result: Term) {
        let Some(mut tracer) = self.tracer.take() else { return };
        let (theory, redex) = (self.theory.clone(), self.traced_redex);
        let heap = &self.heap;
        tracer(&TraceEvent::Builtin(BuiltinEvent { theory: &theory, heap, redex, result }));
        self.tracer = Some(tracer);
    }
}

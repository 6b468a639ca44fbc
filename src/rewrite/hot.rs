//! The hot loop: the instructions of programs over free constructors and small naturals.
//!
//! Kept apart from the rest of the machine so that its few variables (the place in the code, the
//! current frame) stay in processor registers. It stops before the first instruction that it does
//! not know, which [`Machine::run`] then executes.

use super::machine::{Frame, Machine};
use crate::base::Interrupt;
use crate::term::{SMALL_MAX, Term, header, header_layout, header_sym};
use crate::theory::Theory;
use crate::theory::code::{self, Op};

/// The operations that the hot loop leaves to [`Machine::run`].
macro_rules! rare {
    () => {
        Op::Halt
            | Op::Arg
            | Op::SortBig
            | Op::Match
            | Op::Next
            | Op::Release
            | Op::BuildSort
            | Op::TailBuild
            | Op::FillHole
            | Op::Fast
            | Op::Builtin
            | Op::BuiltinBag
            | Op::Foreign
            | Op::SortTest
            | Op::Resort
            | Op::LoadCopy
            | Op::Eval
            | Op::Fresh
            | Op::Thunk
            | Op::Memo
            | Op::MemoReturn
            | Op::Walk
            | Op::Update
            | Op::SetSort
            | Op::TrialStart
            | Op::TrialEnd
            | Op::ListSplit
            | Op::Trace
            | Op::TraceBuiltin
            | Op::TraceBuiltinBag
            | Op::TraceRedex
            | Op::TraceResult
            | Op::LoadRest
            | Op::IfWhole
            | Op::WithRest
            | Op::Iterate
            | Op::Yield
            | Op::Recall
            | Op::Remember
            | Op::Explore
            | Op::NextState
    };
}

impl Machine {
    /// Runs from `start` in the frame at `start_base` up to the next rare instruction; gives its
    /// place and frame.
    #[inline(never)]
    pub(super) fn run_hot(
        &mut self,
        theory: &Theory,
        start: usize,
        start_base: usize,
    ) -> Result<(usize, usize), Interrupt> {
        let sy = &theory.symbols;
        let code: *const u64 = theory.code.as_ptr();
        // SAFETY: here and below, code is made by the compiler: targets are places in the code,
        // and every path ends in a jump or return.
        let mut pc: *const u64 = unsafe { code.add(start) };
        // Register 0 of the current frame; set again whenever the stack may have grown.
        let mut regs: *mut Term = self.registers(start_base);
        let mut end: *const Term = self.stack.as_ptr_range().end;

        macro_rules! reg {
            ($i:expr) => {{
                let place = $i;
                debug_assert!(self.stack.as_ptr_range().contains(&regs.cast_const().wrapping_add(place)));
                // SAFETY: `Enter` makes room for the whole frame, and code uses no register
                // beyond the frame's size.
                unsafe { *regs.add(place) }
            }};
        }
        macro_rules! set {
            ($i:expr, $value:expr) => {{
                let value = $value;
                let place = $i;
                debug_assert!(self.stack.as_ptr_range().contains(&regs.cast_const().wrapping_add(place)));
                // SAFETY: as above.
                unsafe { *regs.add(place) = value }
            }};
        }
        // The word `$i` places after the instruction.
        macro_rules! word {
            ($i:expr) => {{
                // SAFETY: see `pc`.
                unsafe { *pc.add($i) }
            }};
        }
        macro_rules! jump {
            ($target:expr) => {{
                let target = $target as u32 as usize;
                debug_assert!(target < theory.code.len());
                // SAFETY: see `pc`.
                pc = unsafe { code.add(target) };
            }};
        }
        macro_rules! skip {
            ($words:expr) => {{
                // SAFETY: see `pc`.
                pc = unsafe { pc.add($words) };
            }};
        }
        macro_rules! base {
            () => {{
                // SAFETY: `regs` points into the stack.
                unsafe { regs.cast_const().offset_from(self.stack.as_ptr()) as usize }
            }};
        }
        // Remembers to come back `$words` after the instruction.
        macro_rules! push_frame {
            ($words:expr) => {{
                // SAFETY: `pc` points into the code.
                let at = unsafe { pc.offset_from(code) as usize };
                self.frames.push(Frame { ret: (at + $words) as u32, base: base!() as u32 });
            }};
        }
        macro_rules! shift {
            ($by:expr) => {{
                // SAFETY: the new frame starts inside the room made for the present one.
                regs = unsafe { regs.add($by) };
            }};
        }
        // Reads the registers listed in a word, moves the frame by `$by`, and makes them its
        // first registers.
        macro_rules! pass {
            ($list:expr, $by:expr, $($x:ident $i:literal),+) => {{
                let list = $list;
                $(let $x = reg!(code::packed(list, $i));)+
                shift!($by);
                $(set!($i, $x);)+
            }};
        }
        macro_rules! call {
            ($w:expr, $($x:ident $i:literal),+) => {{
                let w = $w;
                push_frame!(2);
                pass!(word!(0), code::a(w), $($x $i),+);
                jump!(code::imm(w));
                // Nearly all functions begin like this.
                let w = word!(0);
                if code::op(w) == Op::Enter {
                    skip!(1);
                    enter!(w);
                }
            }};
        }
        // Most functions begin with a switch: then it is done here. A jump to the instruction that
        // follows is one that the processor must guess, and loops are made of few instructions.
        macro_rules! tail_call {
            ($w:expr, $($x:ident $i:literal),+) => {{
                self.rewrites += 1;
                pass!(word!(0), 0, $($x $i),+);
                jump!(code::imm($w));
                let w = word!(0);
                if code::op(w) == Op::EnterSwitch {
                    skip!(1);
                    enter!(w);
                    let w = word!(0);
                    skip!(1);
                    switch!(w);
                    argument!();
                }
            }};
        }
        // The instruction that most cases of a switch begin with, if it comes next.
        macro_rules! argument {
            () => {{
                let w = word!(0);
                if code::op(w) == Op::Arg1 {
                    skip!(1);
                    set!(code::a(w), self.heap.arg(reg!(code::b(w)), code::c(w)));
                }
            }};
        }
        macro_rules! ret {
            ($value:expr) => {{
                set!(0, $value);
                let frame = self.frames.pop().expect("halt is the last frame");
                jump!(frame.ret);
                regs = self.registers(frame.base as usize);
            }};
        }
        macro_rules! test {
            ($w:expr, $holds:expr) => {{
                if $holds {
                    skip!(1);
                } else {
                    jump!(code::imm($w));
                }
            }};
        }
        // `$compute` of two small naturals gives a term if the result is one as well.
        macro_rules! arithmetic {
            ($w:expr, $compute:expr) => {{
                let w = $w;
                let (x, y) = (reg!(code::b(w)), reg!(code::c(w)));
                if x.is_small()
                    && y.is_small()
                    && let Some(t) = $compute(x.payload(), y.payload())
                {
                    self.rewrites += 1;
                    set!(code::a(w), t);
                    jump!(word!(0));
                } else {
                    skip!(1);
                }
            }};
        }
        macro_rules! arithmetic_imm {
            ($w:expr, $count:expr, $compute:expr) => {{
                let w = $w;
                let x = reg!(code::b(w));
                if x.is_small()
                    && let Some(t) = $compute(x.payload(), code::c(w) as u32)
                {
                    self.rewrites += $count;
                    set!(code::a(w), t);
                    jump!(word!(0));
                } else {
                    skip!(1);
                }
            }};
        }
        // Goes to one of the two places in the next word.
        macro_rules! decide {
            ($w:expr, $holds:expr) => {{
                let holds: bool = $holds;
                self.rewrites += 1 + code::n($w) as u64;
                let places = word!(0);
                jump!(if holds { places } else { places >> 32 });
            }};
        }
        macro_rules! compare {
            ($w:expr, $test:expr) => {{
                let w = $w;
                let (x, y) = (reg!(code::b(w)), reg!(code::c(w)));
                if x.is_small() && y.is_small() {
                    decide!(w, $test(x.0, y.0));
                } else {
                    skip!(1);
                }
            }};
        }
        macro_rules! compare_imm {
            ($w:expr, $test:expr) => {{
                let w = $w;
                let x = reg!(code::b(w));
                if x.is_small() {
                    decide!(w, $test(x.payload(), code::c(w) as u32));
                } else {
                    skip!(1);
                }
            }};
        }
        // The end of a TailBuild: `$node` has a hole at argument `$hole`; `$list` are the callee's
        // arguments, at most two unless `$wide`.
        macro_rules! tail_build {
            ($w:expr, $node:expr, $hole:expr, $list:expr, $wide:literal) => {{
                let w = $w;
                let (node, hole, list): (Term, usize, u64) = ($node, $hole, $list);
                let (x, y) = (reg!(code::packed(list, 0)), reg!(code::packed(list, 1)));
                let (z, u) =
                    if $wide { (reg!(code::packed(list, 2)), reg!(code::packed(list, 3))) } else { (x, y) };
                let range = Term::small((word!(0) >> 48) as u32);
                let stub = theory.stubs.fill_last(hole);
                debug_assert!(!self.frames.is_empty());
                // SAFETY: the halting frame is always there.
                let top = unsafe { *self.frames.get_unchecked(self.frames.len() - 1) };
                if top.ret == stub {
                    // The caller is itself waiting to fill such a hole: our node goes there, and
                    // our hole is filled in its stead.
                    debug_assert_eq!(top.base as usize + 3, base!());
                    // SAFETY: the frame of the hole is the three words below this one.
                    unsafe {
                        let last = *regs.sub(2);
                        self.heap.set_word(last.at() + 1 + hole, node);
                        *regs.sub(2) = node;
                        *regs.sub(1) = range;
                    }
                } else {
                    self.frames.push(Frame { ret: stub, base: base!() as u32 });
                    set!(0, node);
                    set!(1, node);
                    set!(2, range);
                    shift!(3);
                }
                set!(0, x);
                set!(1, y);
                if $wide {
                    set!(2, z);
                    set!(3, u);
                }
                jump!(code::imm(w));
            }};
        }
        macro_rules! enter {
            ($w:expr) => {{
                let w = $w;
                let top = regs.cast_const().wrapping_add(code::a(w) + 1);
                if top > end || self.heap.is_full() || self.cancel.is_raised() || self.is_stressed() {
                    let base = base!();
                    self.enter_slowly(base, code::a(w), code::n(w))?;
                    regs = self.registers(base);
                    end = self.stack.as_ptr_range().end;
                }
            }};
        }
        macro_rules! switch {
            ($w:expr) => {{
                let w = $w;
                let t = reg!(code::a(w));
                let key = if t.is_node() { code::switch_key(header_sym(self.heap.header(t))) } else { t.0 };
                // There are two cases or more, so that the third word is a case or the default.
                let (first, second, third) = (word!(0), word!(1), word!(2));
                if (first >> 32) as u32 == key {
                    jump!(first);
                } else if (second >> 32) as u32 == key {
                    jump!(second);
                } else if code::imm(w) == 2 || (third >> 32) as u32 == key {
                    jump!(third);
                } else {
                    // SAFETY: that many words and the default follow.
                    let table = unsafe { std::slice::from_raw_parts(pc, code::imm(w) as usize + 1) };
                    jump!(switch(table, key));
                }
            }};
        }

        loop {
            let w = word!(0);
            skip!(1);
            match code::op(w) {
                Op::Enter => enter!(w),
                Op::EnterSwitch => {
                    enter!(w);
                    let w = word!(0);
                    skip!(1);
                    switch!(w);
                    argument!();
                }
                Op::EnterBig => {
                    let base = base!();
                    self.enter_slowly(base, code::a(w), code::n(w))?;
                    regs = self.registers(base);
                    end = self.stack.as_ptr_range().end;
                }
                Op::BagCheck => {
                    let holds = self.bag_check(reg!(code::a(w)), word!(0));
                    test!(w, holds);
                }
                Op::BagKeys => {
                    // SAFETY: that many words follow.
                    let checks = unsafe { std::slice::from_raw_parts(pc, code::n(w)) };
                    if self.bag_keys(reg!(code::a(w)), checks) {
                        skip!(code::n(w));
                    } else {
                        jump!(code::imm(w));
                    }
                }
                Op::BagFirst => {
                    let (spec, filter, bag) = (word!(1), word!(2), (word!(3) >> 32) as u32);
                    let (subject, key) = (reg!(code::packed(spec, 0)), reg!(code::packed(filter, 2)));
                    if let Some((element, place)) = self.find_near(subject, bag, filter as u32, key) {
                        set!(code::a(w), Term::small(place + 1));
                        set!(code::packed(spec, 1), element);
                        skip!(5);
                    } else {
                        set!(code::a(w), Term::small(0));
                    }
                }
                Op::BagNext => {
                    let specs = [word!(0), word!(1), word!(2), word!(3)];
                    if self.bag_next(code::a(w), specs, base!()) {
                        skip!(4);
                    } else {
                        jump!(code::imm(w));
                    }
                }
                Op::BagFind => {
                    let specs = [word!(0), word!(1), word!(2)];
                    if self.bag_find(code::a(w), specs, base!()) {
                        skip!(3);
                    } else {
                        jump!(code::imm(w));
                    }
                }
                Op::BagRest => {
                    let specs = [word!(0), word!(1), word!(2)];
                    skip!(3);
                    let t = self.bag_rest(sy, code::imm(w) == 1, specs, base!());
                    set!(code::a(w), t);
                }
                Op::BagRepeated => {
                    let t = reg!(code::a(w));
                    if let Some((value, rest)) = self.heap.bag_repeated(sy, t, code::n(w) as u32) {
                        let slots = word!(0);
                        set!(code::packed(slots, 0), value);
                        set!(code::packed(slots, 1), rest);
                        skip!(1);
                    } else {
                        jump!(code::imm(w));
                    }
                }
                Op::Join => {
                    let words = self.join(sy, w, word!(0), base!());
                    skip!(1 + words);
                }
                Op::BagEdit => {
                    let specs = [word!(0), word!(1), word!(2)];
                    skip!(3);
                    let (base, a) = (base!(), code::a(w));
                    let t = self.bag_edit(sy, specs, base + a..base + a + code::n(w), base);
                    set!(a, t);
                }
                Op::Move => set!(code::a(w), reg!(code::b(w))),
                Op::LoadImm => set!(code::a(w), Term(code::imm(w))),
                Op::LoadConst => set!(code::a(w), self.heap.consts[code::imm(w) as usize]),
                Op::Arg1 => set!(code::a(w), self.heap.arg(reg!(code::b(w)), code::c(w))),
                Op::Arg2 => {
                    let node = reg!(code::b(w));
                    let (x, y) = (self.heap.arg(node, 0), self.heap.arg(node, 1));
                    set!(code::a(w), x);
                    set!(code::a(w) + 1, y);
                }
                Op::Arg3 => {
                    let node = reg!(code::b(w));
                    let (x, y, z) = (self.heap.arg(node, 0), self.heap.arg(node, 1), self.heap.arg(node, 2));
                    set!(code::a(w), x);
                    set!(code::a(w) + 1, y);
                    set!(code::a(w) + 2, z);
                }
                Op::Jump => jump!(code::imm(w)),
                Op::Switch => switch!(w),
                Op::TestImm => test!(w, reg!(code::a(w)).0 == word!(0) as u32),
                Op::TestCount => {
                    let holds = reg!(code::a(w)).0 == word!(0) as u32;
                    self.rewrites += u64::from(holds);
                    test!(w, holds);
                }
                Op::TestSym => {
                    let t = reg!(code::a(w));
                    test!(w, t.is_node() && header_sym(self.heap.header(t)) == word!(0) as u32);
                }
                Op::Pred => {
                    let operands = word!(0);
                    let (source, count) = (operands as u16 as usize, (operands >> 32) as u32);
                    let t = reg!(source);
                    if t.is_small() {
                        if t.payload() >= count {
                            set!(code::a(w), Term::small(t.payload() - count));
                            skip!(1);
                        } else {
                            jump!(code::imm(w));
                        }
                    } else if let Some(value) = self.predecessor(t, count) {
                        set!(code::a(w), value);
                        skip!(1);
                    } else {
                        jump!(code::imm(w));
                    }
                }
                Op::Sort => {
                    let sort = self.heap.sort(sy, reg!(code::a(w)));
                    test!(w, word!(0) >> sort & 1 != 0);
                }
                Op::Equal => {
                    let (x, y) = (reg!(code::a(w)), reg!(word!(0) as usize));
                    test!(w, x == y || self.heap.equal(sy, x, y));
                }
                Op::Equality => {
                    let (x, y) = (reg!(code::b(w)), reg!(code::c(w)));
                    let terms = word!(0);
                    skip!(1);
                    self.rewrites += 1;
                    let same = x == y || self.heap.equal(sy, x, y);
                    set!(code::a(w), Term(if same { terms as u32 } else { (terms >> 32) as u32 }));
                }
                Op::Build => {
                    let (a, n) = (base!() + code::a(w), code::n(w));
                    let t = self.heap.alloc_header(code::imm(w), &self.stack[a..a + n]);
                    set!(code::a(w), t);
                }
                Op::Build1 => {
                    let t = self.heap.alloc1(word!(0) as u32, reg!(code::b(w)));
                    skip!(1);
                    set!(code::a(w), t);
                }
                Op::Build2 => {
                    let t = self.heap.alloc2(word!(0) as u32, reg!(code::b(w)), reg!(code::c(w)));
                    skip!(1);
                    set!(code::a(w), t);
                }
                Op::BuildSort1 => {
                    let (sym, x) = (word!(0) as u32, reg!(code::b(w)));
                    skip!(1);
                    let sort = sy.info[sym as usize].diagram.sort([self.heap.sort(sy, x)]);
                    set!(code::a(w), self.heap.alloc1(header(sym, 1, sort), x));
                }
                Op::BuildSort2 => {
                    let (sym, x, y) = (word!(0) as u32, reg!(code::b(w)), reg!(code::c(w)));
                    skip!(1);
                    let diagram = &sy.info[sym as usize].diagram;
                    let sort = diagram.binary(self.heap.sort(sy, x), self.heap.sort(sy, y));
                    set!(code::a(w), self.heap.alloc2(header(sym, 2, sort), x, y));
                }
                Op::Call => {
                    push_frame!(1);
                    shift!(code::a(w));
                    jump!(code::imm(w));
                }
                Op::CallTop => {
                    if self.heap.is_top(sy, reg!(code::a(w)), word!(0) as u32) {
                        push_frame!(2);
                        shift!(code::a(w));
                        jump!(code::imm(w));
                    } else {
                        skip!(2);
                    }
                }
                Op::TailCall => {
                    self.rewrites += 1;
                    let base = base!();
                    let (from, n) = (base + code::a(w), code::n(w));
                    self.stack.copy_within(from..from + n, base);
                    jump!(code::imm(w));
                }
                Op::TailTop => {
                    self.rewrites += 1;
                    let t = reg!(code::a(w));
                    if self.heap.is_top(sy, t, word!(0) as u32) {
                        set!(0, t);
                        jump!(code::imm(w));
                    } else {
                        ret!(t);
                    }
                }
                Op::Return => ret!(reg!(code::a(w))),
                Op::ReturnRw => {
                    self.rewrites += 1;
                    ret!(reg!(code::a(w)));
                }
                Op::ReturnImm => {
                    self.rewrites += 1;
                    ret!(Term(code::imm(w)));
                }
                Op::ReturnBuild1 => {
                    self.rewrites += 1;
                    ret!(self.heap.alloc1(word!(0) as u32, reg!(code::b(w))));
                }
                Op::ReturnBuild2 => {
                    self.rewrites += 1;
                    ret!(self.heap.alloc2(word!(0) as u32, reg!(code::b(w)), reg!(code::c(w))));
                }
                Op::Call1 => call!(w, x 0),
                Op::Call2 => call!(w, x 0, y 1),
                Op::Lookup2 => {
                    // SAFETY: the assembler has seen that the callee has these words.
                    let [filter, bag, arg] =
                        code::LOOKUP.map(|i| unsafe { *code.add(code::imm(w) as usize + i) });
                    let list = word!(0);
                    let (subject, key) = (reg!(code::packed(list, 2)), reg!(code::packed(list, 3)));
                    match self.find_near(subject, (bag >> 32) as u32, filter as u32, key) {
                        Some((element, _)) => {
                            self.rewrites += 1;
                            set!(code::a(w), self.heap.arg(element, code::c(arg)));
                            skip!(2);
                        }
                        None => call!(w, x 0, y 1),
                    }
                }
                Op::Call3 => call!(w, x 0, y 1, z 2),
                Op::Call4 => call!(w, x 0, y 1, z 2, u 3),
                Op::TailCall1 => tail_call!(w, x 0),
                Op::TailCall2 => tail_call!(w, x 0, y 1),
                Op::TailCall3 => tail_call!(w, x 0, y 1, z 2),
                Op::TailCall4 => tail_call!(w, x 0, y 1, z 2, u 3),
                Op::TailBuild1 => {
                    self.rewrites += 1;
                    let node = self.heap.alloc1(word!(0) as u32, Term::small(0));
                    tail_build!(w, node, 0, word!(1), false);
                }
                Op::TailBuild2 => {
                    self.rewrites += 1;
                    let node = self.heap.alloc2(word!(0) as u32, reg!(code::a(w)), Term::small(0));
                    tail_build!(w, node, 1, word!(1), false);
                }
                Op::TailBuild3 => {
                    self.rewrites += 1;
                    let (spec, list) = (word!(0), word!(2));
                    let hole = (spec >> 32 & 7) as usize;
                    let args = [0, 1, 2].map(|i| reg!(code::packed(list, i)));
                    let mut head = spec as u32;
                    let arity = header_layout(head) as usize;
                    if spec >> 40 & 1 != 0 {
                        let range = (spec >> 48) as u32;
                        let sort = |i: usize| if i == hole { range } else { self.heap.sort(sy, args[i]) };
                        let sort = sy.info[header_sym(head) as usize].diagram.sort((0..arity).map(sort));
                        head = header(header_sym(head), arity as u32, sort);
                    }
                    let node = match arity {
                        1 => self.heap.alloc1(head, args[0]),
                        2 => self.heap.alloc2(head, args[0], args[1]),
                        _ => self.heap.alloc3(head, args[0], args[1], args[2]),
                    };
                    self.heap.set_word(node.at() + 1 + hole, Term::small(0));
                    tail_build!(w, node, hole, word!(1), true);
                }
                Op::Build3 => {
                    let list = word!(1);
                    let [x, y, z] = [0, 1, 2].map(|i| reg!(code::packed(list, i)));
                    set!(code::a(w), self.heap.alloc3(word!(0) as u32, x, y, z));
                    skip!(2);
                }
                Op::BuildSort3 => {
                    let (sym, list) = (word!(0) as u32, word!(1));
                    let args = [0, 1, 2].map(|i| reg!(code::packed(list, i)));
                    let sort = sy.info[sym as usize].diagram.sort(args.map(|t| self.heap.sort(sy, t)));
                    set!(code::a(w), self.heap.alloc3(header(sym, 3, sort), args[0], args[1], args[2]));
                    skip!(2);
                }
                Op::FillLast => {
                    let (head, last, range, value) = (reg!(0), reg!(1), reg!(2), reg!(3));
                    let hole = code::n(w);
                    self.heap.set_word(last.at() + 1 + hole, value);
                    if self.heap.sort(sy, value) != range.payload() {
                        self.correct_sorts(head, last, hole);
                    }
                    ret!(head);
                }
                Op::Add => arithmetic!(w, small_add),
                Op::Sub => arithmetic!(w, small_sub),
                Op::Mul => arithmetic!(w, small_mul),
                Op::Quo => arithmetic!(w, small_quo),
                Op::Rem => arithmetic!(w, small_rem),
                Op::Difference => arithmetic!(w, small_difference),
                Op::AddImm => arithmetic_imm!(w, 1, small_add),
                Op::SubImm => arithmetic_imm!(w, 1, small_sub),
                Op::MulImm => arithmetic_imm!(w, 1, small_mul),
                Op::QuoImm => arithmetic_imm!(w, 1, small_quo),
                Op::RemImm => arithmetic_imm!(w, 1, small_rem),
                Op::DifferenceImm => arithmetic_imm!(w, 1, small_difference),
                Op::Succ => arithmetic_imm!(w, 0, small_add),
                Op::IfLt => compare!(w, |x, y| x < y),
                Op::IfLe => compare!(w, |x, y| x <= y),
                Op::IfLtImm => compare_imm!(w, |x, y| x < y),
                Op::IfLeImm => compare_imm!(w, |x, y| x <= y),
                Op::IfGtImm => compare_imm!(w, |x, y| x > y),
                Op::IfGeImm => compare_imm!(w, |x, y| x >= y),
                Op::IfEq => {
                    let (x, y) = (reg!(code::b(w)), reg!(code::c(w)));
                    decide!(w, x == y || x.is_node() && y.is_node() && self.heap.equal(sy, x, y));
                }
                Op::IfEqImm => decide!(w, reg!(code::b(w)) == Term::small(code::c(w) as u32)),
                rare!() => {
                    // SAFETY: both point into the code.
                    let at = unsafe { pc.offset_from(code) as usize - 1 };
                    return Ok((at, base!()));
                }
            }
        }
    }
}

/// Search in the cases of a switch; the last word is the default.
#[inline(never)]
fn switch(table: &[u64], key: u32) -> u32 {
    let (default, cases) = table.split_last().expect("a switch has a default");
    match cases.binary_search_by_key(&key, |case| (case >> 32) as u32) {
        Ok(place) => cases[place] as u32,
        Err(_) => *default as u32,
    }
}

#[inline(always)]
fn small(n: u64) -> Option<Term> {
    (n < u64::from(SMALL_MAX)).then(|| Term::small(n as u32))
}
#[inline(always)]
fn small_add(x: u32, y: u32) -> Option<Term> {
    small(u64::from(x) + u64::from(y))
}
#[inline(always)]
fn small_sub(x: u32, y: u32) -> Option<Term> {
    (x >= y).then(|| Term::small(x - y))
}
#[inline(always)]
fn small_mul(x: u32, y: u32) -> Option<Term> {
    small(u64::from(x) * u64::from(y))
}
#[inline(always)]
fn small_quo(x: u32, y: u32) -> Option<Term> {
    (y != 0).then(|| Term::small(x / y))
}
#[inline(always)]
fn small_rem(x: u32, y: u32) -> Option<Term> {
    (y != 0).then(|| Term::small(x % y))
}
#[inline(always)]
fn small_difference(x: u32, y: u32) -> Option<Term> {
    Some(Term::small(x.abs_diff(y)))
}

//! The instructions of the rewriting machine, packed into 64-bit words, and an assembler.
//!
//! A word is `op:8 | n:8 | a:16 | imm:32`, where `imm` may be split as `b:16 | c:16`. Registers
//! are places of the current frame on the value stack. A call's arguments stand in consecutive
//! registers; they become the first registers of the callee, whose result replaces the first.
//! Some instructions are followed by further words, as noted.

/// Operation codes.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Op {
    /// Stop the machine; the result is in register 0.
    Halt,
    /// `n` arguments, frame of `a` registers: checks stack, heap and interrupts. Frames of more
    /// than 63 registers have EnterBig.
    Enter,
    Move,
    LoadImm,
    /// `a <- constants[imm]`
    LoadConst,
    /// `a <- a copy of the literal constants[imm]`, to which memberships will be applied
    LoadCopy,
    /// `a <- argument c of b`
    Arg,
    Jump,
    /// On the operator of `a`: `imm` words `key << 32 | target` ascending, then the default target.
    /// See [`switch_key`].
    Switch,
    /// Is `a` the immediate in the next word? Else go to `imm`.
    TestImm,
    /// Is `a` a node of the operator in the next word? Else go to `imm`.
    TestSym,
    /// Next word `source | count << 32`: `a <- source - count`, or go to `imm`.
    Pred,
    /// Is the sort of `a` in the bit set of the next word? Else go to `imm`.
    Sort,
    /// The same with a table: next word = index of the set.
    SortBig,
    /// Are `a` and (next word) equal terms? Else go to `imm`.
    Equal,
    /// Next word `pattern | choice << 32`: match `a`, or go to `imm`.
    Match,
    /// Next word `pattern`: the next solution of choice register `a`, or go to `imm`.
    Next,
    /// Forget the matchers from choice register `a` on.
    Release,
    /// `a <- node with header imm over registers a..a+n`
    Build,
    /// `a <- node with header (next word) over register b`
    Build1,
    /// `a <- node with header (next word) over registers b, c`
    Build2,
    /// As Build with the sort computed; `imm` is the operator.
    BuildSort,
    /// `a <- imm applied to registers a..`, normalized modulo axioms; next word: how many.
    Join,
    /// Call code at `imm` with `n` arguments from `a`; next word: mask of registers alive after.
    Call,
    /// Next words operator, mask: call only if `a` is a node of that operator.
    CallTop,
    /// The last action of an equation: move `n` arguments from `a` down and jump to `imm`.
    TailCall,
    /// As CallTop, as the last action of an equation; next word: operator.
    TailTop,
    /// Tail recursion modulo constructor. Arguments of the callee at `a..a+n`, code at `imm`; next
    /// word `header | hole << 32 | dynamic << 40 | range << 48`: the node's other arguments follow
    /// at `a+n..`; with `dynamic` its sort is computed as if the hole had sort `range`.
    TailBuild,
    /// Where a callee of TailBuild returns to.
    FillHole,
    /// Return register `a`.
    Return,
    /// The same, as the last action of an equation.
    ReturnRw,
    /// Return immediate, as the last action of an equation.
    ReturnImm,
    /// `a <- b op c` on small naturals, then go to (next word); falls through otherwise. `n`: which.
    Fast,
    /// Built-in `imm` on registers `0..n`: returns if it computes, falls through otherwise.
    Builtin,
    /// The same for the multiset in register 0.
    BuiltinBag,
    /// Operator `imm` on registers `0..n`, computed by a layer above: likewise.
    Foreign,
    /// `a <- (b == c)`; next word `equal | unequal << 32`.
    Equality,
    /// `a <- (sort of b in set c)`; next word `true | false << 32`.
    SortTest,
    /// If the sort of `b` is not in set `c`, try its memberships once more, with a frame at `a`; next
    /// word: mask.
    Resort,
    /// Reduce register `a` if it is not reduced; next word: mask.
    Eval,
    /// `a <- b`, or a copy of it to evaluate if it is not reduced.
    Fresh,
    /// `a <- imm applied to registers a..`, marked as not reduced; next word: how many.
    Thunk,
    /// Memoized operator `imm` with `n` arguments.
    Memo,
    /// Where a memoized operator returns to.
    MemoReturn,
    /// Continue evaluating the arguments of a term that is not reduced.
    Walk,
    /// Remember the result of a term that was not reduced.
    Update,
    /// Set the sort of the node in register `a` to `imm`.
    SetSort,
    /// The memberships of the constant in the next word are tried; if that is under way already go
    /// to `imm`.
    TrialStart,
    /// That is done.
    TrialEnd,
    /// Equation or membership `imm` is about to be applied (tracing code only).
    Trace,
    /// As Builtin, traced: `n` arguments of operator `imm`; next word: the built-in.
    TraceBuiltin,
    /// As BuiltinBag, likewise.
    TraceBuiltinBag,
    /// The redex of a special operator `imm` with `n` arguments (tracing code only).
    TraceRedex,
    /// What it is replaced by: register `a`.
    TraceResult,
    /// `a, a+1 <- what the extension of the matcher in register b left`
    LoadRest,
    /// Go to `imm` if nothing was left in `a, a+1`.
    IfWhole,
    /// `a <- operator (next word) over a and what is left in b, b+1`, marked as not reduced if the
    /// field n is 1.
    WithRest,
    /// `a, a+1, a+2 <- all arguments of b`, which has three.
    Arg3,
    /// Split the multiset in register `a` into what is `n` times in it and what is left; to `imm` if
    /// nothing is. Next word: where both go.
    BagRepeated,
    /// `a <- f^n(a)`: operator `imm`, next word `n`; marked as not reduced if the field n is 1.
    Iterate,
    /// As Build1 with the sort computed; next word: operator.
    BuildSort1,
    /// As Build2 with the sort computed; next word: operator.
    BuildSort2,
    /// As TestImm, and counts a rewrite on success.
    TestCount,
    /// Next word `operator | right << 32 | mode << 40 | first << 48`: the list in `a` has `n`
    /// elements, a middle and `right` elements; they go to the registers from `first` on, the
    /// middle last. Mode 0: no middle; 1: at least one element; 2: any. Or go to `imm`.
    ListSplit,
    /// Next word `operator | least << 32 | exact << 56`: does the multiset in `a` have that many
    /// elements? Or go to `imm`.
    BagCheck,
    /// Stands before a `BagNext` that looks for one element with a known first argument, and no loops are
    /// around it: if that is where one would guess, goes on behind it; else `a <- 0`.
    BagFirst,
    /// A loop over the elements of a multiset, counter in `a`; go to `imm` at its end. Next words:
    /// `subject | element << 16 | copies << 32 | earlier << 40 | filter << 48`, the filter (1:
    /// operator, 2: sort set, 3: `operator | register << 32` of the first
    /// argument, 5: `operator | number of an argument << 16 | its value << 32`), `counter of
    /// the first loop | operator of the multiset << 32`, and the copies that earlier loops took.
    /// The counters of all loops over one multiset stand two apart; copies are a byte each.
    BagNext,
    /// The same for an element that is known, in the register where the loop puts it; no filter.
    BagFind,
    /// `a <- the multiset without what loops took`. Next words: `subject | operator << 32`, the
    /// counter of the first loop, the copies to take out. `imm` 1: no term if nothing is left.
    BagRest,

    /// As Enter for frames of more than 63 registers, whose last ones must all hold terms.
    EnterBig,

    /// Are the elements of the multiset in `a` with certain operators told apart by their first
    /// arguments, or are they the only ones? Else go to `imm`. Next `n` words: `operator | only one
    /// << 32`.
    BagKeys,
    /// `a <- the multiset without what loops took, with the elements in a..a+n`. Next words as for
    /// BagRest.
    BagEdit,

    // Rules.
    /// Stops the machine with the result in register `a`; `imm`: size of the frame. Next word:
    /// mask of registers alive when it is resumed.
    Yield,
    /// `a <- the value of a function of n arguments`, if it is remembered from another try of a rule
    /// on the same state, and go to `imm`. Next words: packed registers, operator.
    Recall,
    /// Remembers the value in `a` for the `Recall` before it.
    Remember,
    /// Starts to explore what the term in register `a` rewrites to, and puts the number of the
    /// exploration there.
    Explore,
    /// `a + 1 <- the next state of exploration a`, or go to `imm`. Next word: mask.
    NextState,

    // Arguments from any registers: a word with up to four 16-bit register numbers.
    /// As Arg, in theories without terms that are not reduced.
    Arg1,
    /// `a, a+1 <- the arguments 0, 1 of b`, likewise.
    Arg2,
    /// Call code at `imm` with a frame at `a`; next words: packed registers of the arguments,
    /// mask of registers alive after. One operation per number of arguments.
    Call1,
    Call2,
    Call3,
    Call4,
    /// The last action of an equation: jump to `imm`; next word: packed registers.
    TailCall1,
    TailCall2,
    TailCall3,
    TailCall4,
    /// As TailBuild for a constructor over one argument, the hole, whose sort is known. Callee
    /// at `imm` with at most two arguments; next words `header | range << 48`, packed registers.
    TailBuild1,
    /// The same over two arguments: register `a` and the hole, which is second.
    TailBuild2,
    /// The same over up to three arguments with the hole at any of them, for callees with up to
    /// four arguments. Next words as for TailBuild, packed registers of the callee's arguments and
    /// of the node's own (anything for the hole).
    TailBuild3,
    /// Where the callee of TailBuild1, 2 or 3 returns to: `n` is the hole.
    FillLast,
    /// Return the node with header (next word) over register b, as the last action.
    ReturnBuild1,
    /// The same over registers b, c.
    ReturnBuild2,

    /// `a <- node with header (next word) over three registers (packed in the word after)`
    Build3,
    /// As Build3 with the sort computed; next word: operator.
    BuildSort3,
    /// Enter, followed by a Switch.
    EnterSwitch,
    /// As Call2 for code that does no more than to look for an element with a known first argument, and to
    /// return another argument of it ([`lookup`]): if the element is where one would guess, this is done on
    /// the spot. The list of arguments goes on with the registers of the multiset and the key.
    Lookup2,

    // Small naturals. Each falls through to general code (at +2) if an operand is not small.
    /// `a <- b op c`, one rewrite, then go to (next word).
    Add,
    Sub,
    Mul,
    Quo,
    Rem,
    Difference,
    /// The same where `c` is the number itself.
    AddImm,
    SubImm,
    MulImm,
    QuoImm,
    RemImm,
    DifferenceImm,
    /// `a <- b + c`, no rewrite: `c` successors.
    Succ,
    /// If `b op c` go to the lower half of the next word, else to its upper half; counts
    /// `1 + n` rewrites.
    IfLt,
    IfLe,
    /// The same where `c` is the number itself.
    IfLtImm,
    IfLeImm,
    IfGtImm,
    IfGeImm,
    /// If `b` and `c` are equal terms go to the lower half of the next word, else to its upper
    /// half; counts `1 + n` rewrites.
    IfEq,
    /// The same where `c` is a small natural.
    IfEqImm,
}

const LAST: u8 = Op::IfEqImm as u8;

/// If this code, of a function of two arguments, does no more than `Lookup2` would: which of them are the multiset
/// and the key.
fn lookup(code: &[u64]) -> Option<[usize; 2]> {
    let &[enter, first, _, spec, filter, _, _, arg, end, ..] = code else { return None };
    let ops = [Op::Enter, Op::BagFirst, Op::Arg1, Op::ReturnRw];
    let is_it = [enter, first, arg, end].iter().zip(ops).all(|(&word, op)| word as u8 == op as u8);
    let arguments = [packed(spec, 0), packed(filter, 2)];
    let is_it = is_it && arguments.iter().all(|&argument| argument < 2);
    (is_it && packed(spec, 1) == b(arg) && a(arg) == a(end)).then_some(arguments)
}

/// Where a lookup has the filter, the operator of the multiset (in the upper half), and the instruction that takes
/// the argument.
pub const LOOKUP: [usize; 3] = [4, 5, 7];

/// Decodes an operation code.
#[inline(always)]
pub fn op(word: u64) -> Op {
    debug_assert!(word as u8 <= LAST);
    // SAFETY: words are made only by `inst`, from an `Op`.
    unsafe { std::mem::transmute::<u8, Op>(word as u8) }
}

#[inline(always)]
pub const fn n(word: u64) -> usize {
    (word >> 8 & 0xFF) as usize
}
#[inline(always)]
pub const fn a(word: u64) -> usize {
    (word >> 16 & 0xFFFF) as usize
}
#[inline(always)]
pub const fn b(word: u64) -> usize {
    (word >> 32 & 0xFFFF) as usize
}
#[inline(always)]
pub const fn c(word: u64) -> usize {
    (word >> 48) as usize
}
#[inline(always)]
pub const fn imm(word: u64) -> u32 {
    (word >> 32) as u32
}

/// A word with a 32-bit operand.
pub fn inst(op: Op, n: usize, a: Reg, imm: u32) -> u64 {
    debug_assert!(n < 256);
    op as u64 | (n as u64) << 8 | u64::from(a) << 16 | u64::from(imm) << 32
}

/// What a switch compares: the immediate itself, or a node's operator with the tag of nodes.
#[inline(always)]
pub const fn switch_key(sym: u32) -> u32 {
    sym << 2
}

/// Up to four registers in one word.
pub fn pack(regs: &[Reg]) -> u64 {
    debug_assert!(regs.len() <= PACKED_MAX);
    regs.iter().rev().fold(0, |word, &reg| word << 16 | u64::from(reg))
}

/// How many registers fit in a word.
pub const PACKED_MAX: usize = 4;

/// Register `i` of a packed word.
#[inline(always)]
pub const fn packed(word: u64, i: usize) -> usize {
    (word >> (16 * i) & 0xFFFF) as usize
}

/// A word with three registers.
pub fn inst3(op: Op, n: usize, a: Reg, b: Reg, c: u16) -> u64 {
    inst(op, n, a, u32::from(b) | u32::from(c) << 16)
}

/// A place of the current frame.
pub type Reg = u16;

/// A place in the code that may not be known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(pub(super) u32);

/// Code under construction: words, labels, and the places where labels are used.
#[derive(Debug, Default)]
pub struct Assembler {
    pub words: Vec<u64>,
    places: Vec<u32>,
    uses: Vec<(usize, Label)>,
    /// Where functions of two arguments are called.
    calls: Vec<usize>,
}

const UNPLACED: u32 = u32::MAX;

impl Assembler {
    pub fn label(&mut self) -> Label {
        self.places.push(UNPLACED);
        Label(self.places.len() as u32 - 1)
    }

    /// The label stands here.
    pub fn place(&mut self, label: Label) {
        self.places[label.0 as usize] = self.words.len() as u32;
    }

    /// A label for this very place.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    pub fn emit(&mut self, word: u64) {
        self.words.push(word);
    }

    /// A word whose upper half is the place of a label.
    pub fn emit_to(&mut self, op: Op, n: usize, a: Reg, label: Label) {
        self.uses.push((self.words.len(), label));
        if op == Op::Call2 {
            self.calls.push(self.words.len());
        }
        self.words.push(inst(op, n, a, 0));
    }

    /// A data word `high << 32 | place of label`... with the label in the lower half.
    pub fn emit_case(&mut self, high: u32, label: Label) {
        self.uses.push((self.words.len() | LOW_HALF, label));
        self.words.push(u64::from(high) << 32);
    }

    /// A data word with one label in the lower half and one in the upper half.
    pub fn emit_pair(&mut self, low: Label, high: Label) {
        self.uses.push((self.words.len() | LOW_HALF, low));
        self.uses.push((self.words.len(), high));
        self.words.push(0);
    }

    /// Fills in all labels.
    pub fn finish(mut self) -> (Vec<u64>, Vec<u32>) {
        for (at, label) in self.uses {
            let place = self.places[label.0 as usize];
            assert_ne!(place, UNPLACED, "every label is placed");
            if at & LOW_HALF != 0 {
                self.words[at & !LOW_HALF] |= u64::from(place);
            } else {
                self.words[at] |= u64::from(place) << 32;
            }
        }
        for at in self.calls {
            let call = self.words[at];
            if let Some([subject, key]) = lookup(&self.words[imm(call) as usize..]) {
                self.words[at] = inst(Op::Lookup2, n(call), a(call) as Reg, imm(call));
                let list = self.words[at + 1];
                self.words[at + 1] = pack(&[0, 1, subject, key].map(|i| packed(list, i) as Reg));
            }
        }
        (self.words, self.places)
    }

    /// The places of the labels that were made first.
    pub fn first_places(&self, count: usize) -> &[u32] {
        &self.places[..count]
    }

    /// Takes over finished code, in which the first labels have these places.
    pub fn go_on(&mut self, words: &[u64], places: &[u32]) {
        self.words.extend_from_slice(words);
        self.places[..places.len()].copy_from_slice(places);
    }

    pub fn resolve(places: &[u32], label: Label) -> u32 {
        places[label.0 as usize]
    }
}

const LOW_HALF: usize = 1 << 62;

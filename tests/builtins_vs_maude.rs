//! Built-in operators against Maude itself: random applications to literals of all sizes, the
//! results compared as text with their sorts, and what stays unevaluated.
//!
//! The modules are built by hand from the declarations below, so that this test needs no parser.
//! It does nothing where Maude is not installed. `SEED=n` repeats a run.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use num_bigint::{BigInt, BigUint};
use rwl::base::{Name, Span, literal};
use rwl::builtin::{Builtin, BuiltinState, Cx};
use rwl::sorts::{
    Axioms, Hooks, KindId, Node, OpDecl, OpId, Operator, Signature, SortId, SortPoset, Special, Tree,
};
use rwl::term::{Class, Heap, Layout, Symbols, Term};

const MAUDE: &str = "/usr/bin/maude";

#[test]
fn naturals() {
    differential("NAT", NAT, |random, cases| {
        for _ in 0..700 {
            let op = random.pick(&["_+_", "_*_", "gcd", "lcm", "min", "max", "_xor_", "_&_", "_|_"]);
            let mut args = random.several(2, 4, Random::natural);
            if random.below(3) == 0 {
                args.push(random.alien());
            }
            cases.push(op, args);
            let op = random.pick(&["sd", "_quo_", "_rem_", "_<_", "_<=_", "_>_", "_>=_", "_divides_"]);
            cases.push(op, random.several(2, 2, Random::natural));
        }
        for _ in 0..200 {
            powers(random, cases, Random::natural);
            let modulus = random.positive();
            cases.push("modExp", vec![random.natural(), random.natural(), modulus]);
        }
        for index in [0, 1, 623, 624, 5000, 3] {
            cases.push("random", vec![Arg::Int(index.into())]);
        }
    });
}

#[test]
fn integers() {
    differential("INT", &[NAT, INT].concat(), |random, cases| {
        for _ in 0..1000 {
            let op = random.pick(&["_+_", "_*_", "gcd", "lcm", "min", "max", "_xor_", "_&_", "_|_"]);
            let mut args = random.several(2, 4, Random::integer);
            if random.below(3) == 0 {
                args.push(random.alien());
                args.push(random.alien());
            }
            cases.push(op, args);
            let op = random.pick(&["_-_", "_quo_", "_rem_", "_<_", "_<=_", "_>_", "_>=_", "_divides_", "sd"]);
            cases.push(op, random.several(2, 2, Random::integer));
            cases.push(random.pick(&["-_", "~_", "abs"]), random.several(1, 1, Random::integer));
        }
        for _ in 0..200 {
            powers(random, cases, Random::integer);
        }
        let args = random.several(3, 3, |random| Arg::Int(-random.positive().int()));
        cases.push("modExp", args);
        cases.push("random", vec![Arg::Int((-1).into())]);
    });
}

#[test]
fn long_numbers() {
    differential("CONVERSION", &[NAT, INT, RAT, FLOAT, STRING, CONVERSION].concat(), |random, cases| {
        for _ in 0..150 {
            let op = random.pick(&["_+_", "_*_", "gcd", "lcm", "min", "max", "_xor_", "_&_", "_|_"]);
            cases.push(op, random.several(2, 2, Random::long));
            let op = random.pick(&["_-_", "_quo_", "_rem_", "_<_", "_<=_", "_divides_"]);
            cases.push(op, random.several(2, 2, Random::long));
            let op = random.pick(&["_quo_", "_rem_", "_divides_"]);
            let (long, short) = (random.long(), random.integer());
            cases.push(op, vec![long.clone(), short.clone()]);
            cases.push(random.pick(&["_+_", "_*_", "gcd", "_-_", "_<_"]), vec![short, long.clone()]);
            cases.push(random.pick(&["-_", "~_", "abs"]), vec![long]);
            // A common divisor.
            let common = random.long().int();
            let top = random.long().int() * &common;
            let bottom = random.positive().int() * BigInt::from(common.magnitude().clone());
            if top != BigInt::from(0) && bottom != BigInt::from(0) {
                cases.push("gcd", vec![Arg::Int(top.clone()), Arg::Int(bottom.clone())]);
                cases.push("_/_", vec![Arg::Int(top), Arg::Int(bottom)]);
            }
            let base = Arg::Int(random.pick(&[2, 10, 36]).into());
            cases.push("string", vec![random.long(), base]);
        }
        for _ in 0..30 {
            let natural = |random: &mut Random| Arg::Int(random.long().int().magnitude().clone().into());
            let base = Arg::Int(random.pick(&[2, 3, 1_000_000]).into());
            let base = if random.below(2) == 0 { base } else { natural(random) };
            let modulus = natural(random).int() << random.pick(&[0, 1, 70]);
            let exponent = random.natural();
            cases.push("modExp", vec![base, exponent, Arg::Int(modulus + 1 + random.below(2))]);
        }
    });
}

#[test]
fn fractions_floats_and_conversions() {
    let module = &[NAT, INT, RAT, FLOAT, STRING, CONVERSION].concat();
    differential("CONVERSION", module, |random, cases| {
        for _ in 0..300 {
            // Signs in the denominator and zeros are left to equations.
            let numerator = random.integer();
            if numerator.int() != BigInt::from(0) {
                cases.push("_/_", vec![numerator, random.positive()]);
            }
            cases.push("float", vec![random.rational()]);
            cases.push("rat", vec![random.float()]);
            cases.push("string", vec![random.float()]);
            let base = random.below(40);
            cases.push("string", vec![random.rational(), Arg::Int(base.into())]);
            let text = random.rational_text();
            cases.push("rat", vec![text, Arg::Int(random.pick(&[10, 2, 16, 36, base]).into())]);
            cases.push("float", vec![random.float_text()]);
            let digits = random.pick(&[0, 1, 2, 3, 17, 30, 2000]);
            cases.push("decFloat", vec![random.float(), Arg::Int(digits.into())]);
        }
        for _ in 0..1000 {
            let op = random.pick(&[
                "-_", "abs", "floor", "ceiling", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos",
                "atan",
            ]);
            cases.push(op, vec![random.float()]);
            let op = random.pick(&[
                "_+_", "_-_", "_*_", "_/_", "_rem_", "_^_", "min", "max", "atan", "_<_", "_<=_", "_>_",
                "_>=_",
            ]);
            cases.push(op, random.several(2, 2, Random::float));
        }
    });
}

#[test]
fn strings_and_identifiers() {
    differential("LEXICAL", &[NAT, STRING, QID, LEXICAL].concat(), |random, cases| {
        for _ in 0..500 {
            let op = random.pick(&["ascii", "length", "upperCase", "lowerCase", "qid"]);
            cases.push(op, vec![random.string(8)]);
            cases.push("qid", vec![random.string(5)]);
            let op = random.pick(&["_+_", "_<_", "_<=_", "_>_", "_>=_"]);
            cases.push(op, random.several(2, 2, |random| random.string(3)));
            let (text, pattern) = (random.text(12, b"ab"), random.text(3, b"ab"));
            let start = random.position();
            let op = random.pick(&["find", "rfind"]);
            cases.push(op, vec![Arg::Str(text.clone()), Arg::Str(pattern), start.clone()]);
            let length = random.position();
            cases.push("substr", vec![Arg::Str(text), start, length]);
        }
        for _ in 0..500 {
            let tokens: Vec<String> = (0..random.below(6))
                .map(|_| {
                    random
                        .pick(&[
                            "a", "`(", "`)", "`,", "`[", "`}", "\\n", "\\s", "\\r", "f`(", "_", "1", ".", "",
                        ])
                        .to_owned()
                })
                .collect();
            cases.push("printTokens", vec![Arg::Qids(tokens)]);
            let text = random.text(8, b"ab_ `\"\\(,\n\t\x01\x7f'");
            cases.push("tokenize", vec![Arg::Str(text)]);
        }
        for code in 0..258 {
            cases.push("char", vec![Arg::Int(code.into())]);
        }
        for name in ["abc", "a`,b", "`[foo`]", "a\\b", "a\"b\""] {
            cases.push("string", vec![Arg::Qid(name.to_owned())]);
        }
    });
}

/// Cases whose results are too long to print, or which Maude does not survive.
#[test]
fn limits() {
    let mut world = World::new(&[NAT, INT].concat());
    let mut steps = |op: &str, args: &[i64]| {
        let args: Vec<Arg> = args.iter().map(|&n| Arg::Int(n.into())).collect();
        world.reduce(op, &args).0
    };
    assert_eq!(steps("_^_", &[2, 1_000_000]), 1);
    assert_eq!(steps("_^_", &[2, 1_000_001]), 0);
    assert_eq!(steps("_^_", &[-1, 1_000_001]), 1);
    assert_eq!(steps("_<<_", &[3, 1_000_000]), 1);
    assert_eq!(steps("_<<_", &[3, 1_000_001]), 0);
    assert_eq!(steps("_<<_", &[0, 1_000_001]), 1);
    assert_eq!(steps("modExp", &[2, 3, 0]), 0);
    assert_eq!(steps("modExp", &[2, 0, 1]), 1);
}

fn powers(random: &mut Random, cases: &mut Cases, base: fn(&mut Random) -> Arg) {
    let exponent = Arg::Int(random.below(70).into());
    cases.push("_^_", vec![base(random), exponent.clone()]);
    cases.push("_<<_", vec![base(random), exponent]);
    let shift = random.natural();
    cases.push("_>>_", vec![base(random), shift]);
    let small = Arg::Int(random.below(70).into());
    cases.push("_>>_", vec![base(random), small]);
    let tiny = base(random).int() % BigInt::from(3);
    let large = Arg::Int(BigInt::from(1_000_001) + random.natural().int());
    if tiny != BigInt::from(0) {
        cases.push("_^_", vec![Arg::Int(tiny.clone()), large.clone()]);
    }
    cases.push("_<<_", vec![Arg::Int(tiny), large]);
}

// Declarations: `sort A B`, `subsort A B < C`, or `op name : domain -> range | hook data | hooks`.

const NAT: &str = "
sort Bool
sort Zero NzNat Nat
subsort Zero NzNat < Nat
op true : -> Bool | SystemTrue
op false : -> Bool | SystemFalse
op 0 : -> Zero
op s_ : Nat -> NzNat | SuccSymbol | zeroTerm=0
op _+_ : NzNat Nat -> NzNat | ACU_NumberOpSymbol + | succSymbol
op _+_ : Nat Nat -> Nat
op sd : Nat Nat -> Nat | CUI_NumberOpSymbol sd | succSymbol
op _*_ : NzNat NzNat -> NzNat | ACU_NumberOpSymbol * | succSymbol
op _*_ : Nat Nat -> Nat
op _quo_ : Nat NzNat -> Nat | NumberOpSymbol quo | succSymbol
op _rem_ : Nat NzNat -> Nat | NumberOpSymbol rem | succSymbol
op _^_ : Nat Nat -> Nat | NumberOpSymbol ^ | succSymbol
op _^_ : NzNat Nat -> NzNat
op modExp : [Nat] [Nat] [Nat] -> [Nat] | NumberOpSymbol modExp | succSymbol
op gcd : NzNat Nat -> NzNat | ACU_NumberOpSymbol gcd | succSymbol
op gcd : Nat Nat -> Nat
op lcm : NzNat NzNat -> NzNat | ACU_NumberOpSymbol lcm | succSymbol
op lcm : Nat Nat -> Nat
op min : NzNat NzNat -> NzNat | ACU_NumberOpSymbol min | succSymbol
op min : Nat Nat -> Nat
op max : NzNat Nat -> NzNat | ACU_NumberOpSymbol max | succSymbol
op max : Nat Nat -> Nat
op _xor_ : Nat Nat -> Nat | ACU_NumberOpSymbol xor | succSymbol
op _&_ : Nat Nat -> Nat | ACU_NumberOpSymbol & | succSymbol
op _|_ : NzNat Nat -> NzNat | ACU_NumberOpSymbol | | succSymbol
op _|_ : Nat Nat -> Nat
op _>>_ : Nat Nat -> Nat | NumberOpSymbol >> | succSymbol
op _<<_ : Nat Nat -> Nat | NumberOpSymbol << | succSymbol
op _<_ : Nat Nat -> Bool | NumberOpSymbol < | succSymbol truth
op _<=_ : Nat Nat -> Bool | NumberOpSymbol <= | succSymbol truth
op _>_ : Nat Nat -> Bool | NumberOpSymbol > | succSymbol truth
op _>=_ : Nat Nat -> Bool | NumberOpSymbol >= | succSymbol truth
op _divides_ : NzNat Nat -> Bool | NumberOpSymbol divides | succSymbol truth
op random : Nat -> Nat | RandomOpSymbol | succSymbol
op a : -> Nat
op b : -> Nat
";

const INT: &str = "
sort NzInt Int
subsort NzNat < NzInt
subsort NzInt Nat < Int
op -_ : NzNat -> NzInt | MinusSymbol | succSymbol minusSymbol
op -_ : NzInt -> NzInt
op -_ : Int -> Int
op _+_ : Int Int -> Int | ACU_NumberOpSymbol + | minusSymbol
op _-_ : Int Int -> Int | NumberOpSymbol - | succSymbol minusSymbol
op _*_ : NzInt NzInt -> NzInt | ACU_NumberOpSymbol * | minusSymbol
op _*_ : Int Int -> Int
op _quo_ : Int NzInt -> Int | NumberOpSymbol quo | minusSymbol
op _rem_ : Int NzInt -> Int | NumberOpSymbol rem | minusSymbol
op _^_ : Int Nat -> Int | NumberOpSymbol ^ | minusSymbol
op _^_ : NzInt Nat -> NzInt
op abs : NzInt -> NzNat | NumberOpSymbol abs | succSymbol minusSymbol
op abs : Int -> Nat
op gcd : NzInt Int -> NzNat | ACU_NumberOpSymbol gcd | minusSymbol
op gcd : Int Int -> Nat
op lcm : NzInt NzInt -> NzNat | ACU_NumberOpSymbol lcm | minusSymbol
op lcm : Int Int -> Nat
op min : NzInt NzInt -> NzInt | ACU_NumberOpSymbol min | minusSymbol
op min : Int Int -> Int
op max : NzInt NzInt -> NzInt | ACU_NumberOpSymbol max | minusSymbol
op max : Int Int -> Int
op max : NzNat Int -> NzNat
op max : Nat Int -> Nat
op ~_ : Int -> Int | NumberOpSymbol ~ | succSymbol minusSymbol
op _xor_ : Int Int -> Int | ACU_NumberOpSymbol xor | minusSymbol
op _&_ : Nat Int -> Nat | ACU_NumberOpSymbol & | minusSymbol
op _&_ : Int Int -> Int
op _|_ : NzInt Int -> NzInt | ACU_NumberOpSymbol | | minusSymbol
op _|_ : Int Int -> Int
op _>>_ : Int Nat -> Int | NumberOpSymbol >> | minusSymbol
op _<<_ : Int Nat -> Int | NumberOpSymbol << | minusSymbol
op _<_ : Int Int -> Bool | NumberOpSymbol < | minusSymbol
op _<=_ : Int Int -> Bool | NumberOpSymbol <= | minusSymbol
op _>_ : Int Int -> Bool | NumberOpSymbol > | minusSymbol
op _>=_ : Int Int -> Bool | NumberOpSymbol >= | minusSymbol
op _divides_ : NzInt Int -> Bool | NumberOpSymbol divides | minusSymbol
";

const RAT: &str = "
sort PosRat NzRat Rat
subsort NzInt < NzRat
subsort NzRat Int < Rat
subsort NzNat < PosRat
subsort PosRat < NzRat
op _/_ : NzInt NzNat -> NzRat | DivisionSymbol | succSymbol minusSymbol
op _/_ : NzNat NzNat -> PosRat
op _/_ : PosRat PosRat -> PosRat
op _/_ : NzRat NzRat -> NzRat
op _/_ : Rat NzRat -> Rat
";

const FLOAT: &str = "
sort FiniteFloat Float
subsort FiniteFloat < Float
op <Floats> : -> FiniteFloat | FloatSymbol
op <Floats> : -> Float
op -_ : Float -> Float | FloatOpSymbol - | floatSymbol
op -_ : FiniteFloat -> FiniteFloat
op _+_ : Float Float -> Float | FloatOpSymbol + | floatSymbol
op _-_ : Float Float -> Float | FloatOpSymbol - | floatSymbol
op _*_ : Float Float -> Float | FloatOpSymbol * | floatSymbol
op _/_ : [Float] [Float] -> [Float] | FloatOpSymbol / | floatSymbol
op _rem_ : [Float] [Float] -> [Float] | FloatOpSymbol rem | floatSymbol
op _^_ : [Float] [Float] -> [Float] | FloatOpSymbol ^ | floatSymbol
op abs : Float -> Float | FloatOpSymbol abs | floatSymbol
op abs : FiniteFloat -> FiniteFloat
op floor : Float -> Float | FloatOpSymbol floor | floatSymbol
op ceiling : Float -> Float | FloatOpSymbol ceiling | floatSymbol
op min : Float Float -> Float | FloatOpSymbol min | floatSymbol
op max : Float Float -> Float | FloatOpSymbol max | floatSymbol
op sqrt : [Float] -> [Float] | FloatOpSymbol sqrt | floatSymbol
op exp : Float -> Float | FloatOpSymbol exp | floatSymbol
op log : [Float] -> [Float] | FloatOpSymbol log | floatSymbol
op sin : Float -> Float | FloatOpSymbol sin | floatSymbol
op cos : Float -> Float | FloatOpSymbol cos | floatSymbol
op tan : Float -> Float | FloatOpSymbol tan | floatSymbol
op asin : [Float] -> [Float] | FloatOpSymbol asin | floatSymbol
op acos : [Float] -> [Float] | FloatOpSymbol acos | floatSymbol
op atan : Float -> Float | FloatOpSymbol atan | floatSymbol
op atan : Float Float -> Float | FloatOpSymbol atan | floatSymbol
op _<_ : Float Float -> Bool | FloatOpSymbol < | floatSymbol truth
op _<=_ : Float Float -> Bool | FloatOpSymbol <= | floatSymbol truth
op _>_ : Float Float -> Bool | FloatOpSymbol > | floatSymbol truth
op _>=_ : Float Float -> Bool | FloatOpSymbol >= | floatSymbol truth
";

const STRING: &str = "
sort String Char FindResult
subsort Char < String
subsort Nat < FindResult
op <Strings> : -> Char | StringSymbol
op <Strings> : -> String
op notFound : -> FindResult
op ascii : Char -> Nat | StringOpSymbol ascii | stringSymbol succSymbol
op char : [Nat] -> [Char] | StringOpSymbol char | stringSymbol succSymbol
op _+_ : String String -> String | StringOpSymbol + | stringSymbol
op length : String -> Nat | StringOpSymbol length | stringSymbol succSymbol
op substr : String Nat Nat -> String | StringOpSymbol substr | stringSymbol succSymbol
op find : String String Nat -> FindResult | StringOpSymbol find | stringSymbol succSymbol notFoundTerm=notFound
op rfind : String String Nat -> FindResult | StringOpSymbol rfind | stringSymbol succSymbol notFoundTerm=notFound
op _<_ : String String -> Bool | StringOpSymbol < | stringSymbol truth
op _<=_ : String String -> Bool | StringOpSymbol <= | stringSymbol truth
op _>_ : String String -> Bool | StringOpSymbol > | stringSymbol truth
op _>=_ : String String -> Bool | StringOpSymbol >= | stringSymbol truth
op upperCase : String -> String | StringOpSymbol upperCase | stringSymbol
op lowerCase : String -> String | StringOpSymbol lowerCase | stringSymbol
";

const CONVERSION: &str = "
sort DecFloat
op <_`,_`,_> : Int String Int -> DecFloat
op float : Rat -> Float | FloatOpSymbol float | floatSymbol succSymbol minusSymbol divisionSymbol
op rat : FiniteFloat -> Rat | FloatOpSymbol rat | floatSymbol succSymbol minusSymbol divisionSymbol
op string : [Rat] [Nat] -> [String] | StringOpSymbol string | stringSymbol succSymbol minusSymbol divisionSymbol
op rat : [String] [Nat] -> [Rat] | StringOpSymbol rat | stringSymbol succSymbol minusSymbol divisionSymbol
op string : Float -> String | StringOpSymbol string | stringSymbol floatSymbol
op float : [String] -> [Float] | StringOpSymbol float | stringSymbol floatSymbol
op decFloat : Float Nat -> DecFloat | StringOpSymbol decFloat | stringSymbol floatSymbol succSymbol minusSymbol decFloatSymbol
";

const QID: &str = "
sort Qid
op <Qids> : -> Qid | QuotedIdentifierSymbol
op string : Qid -> String | QuotedIdentifierOpSymbol string | quotedIdentifierSymbol stringSymbol
op qid : [String] -> [Qid] | QuotedIdentifierOpSymbol qid | quotedIdentifierSymbol stringSymbol
";

const LEXICAL: &str = "
sort NeQidList QidList
subsort Qid < NeQidList
subsort NeQidList < QidList
op nil : -> QidList
op __ : QidList QidList -> QidList
op __ : NeQidList QidList -> NeQidList
op __ : QidList NeQidList -> NeQidList
op printTokens : QidList -> String | QuotedIdentifierOpSymbol printTokens | quotedIdentifierSymbol stringSymbol nilQidListSymbol qidListSymbol
op tokenize : String -> QidList | QuotedIdentifierOpSymbol tokenize | quotedIdentifierSymbol stringSymbol nilQidListSymbol qidListSymbol
";

/// A module with its operators and a heap of its terms.
struct World {
    sig: Signature,
    sy: Symbols,
    heap: Heap,
    state: BuiltinState,
}

impl World {
    fn new(module: &str) -> World {
        let lines = || module.lines().filter_map(|line| line.split_once(' '));
        let mut sorts = SortPoset::default();
        for (_, names) in lines().filter(|l| l.0 == "sort") {
            names.split(' ').for_each(|name| {
                sorts.declare(Name::new(name));
            });
        }
        for (_, rest) in lines().filter(|l| l.0 == "subsort") {
            let (subs, sup) = rest.split_once(" < ").unwrap();
            let sup = sorts.find(Name::new(sup)).unwrap();
            for sub in subs.split(' ') {
                sorts.declare_subsort(sorts.find(Name::new(sub)).unwrap(), sup);
            }
        }
        sorts.close().unwrap();
        let mut sig = Signature::new(sorts);
        for (_, rest) in lines().filter(|l| l.0 == "op") {
            World::declare(&mut sig, rest);
        }
        let sy = Symbols::new(&sig);
        World { sig, sy, heap: Heap::new(), state: BuiltinState::new(0) }
    }

    fn declare(sig: &mut Signature, line: &str) {
        let (name, rest) = line.split_once(" : ").unwrap();
        let (profile, special) = rest.split_once(" | ").map_or((rest, None), |(p, s)| (p, Some(s)));
        let (domain, range) = profile.split_once("-> ").unwrap();
        let find = |name: &str| match name.strip_prefix('[') {
            Some(sort) => {
                let sort = sig.sorts.find(Name::new(sort.trim_end_matches(']'))).unwrap();
                sig.sorts.kind(sig.sorts.kind_of(sort)).error()
            }
            None => sig.sorts.find(Name::new(name)).unwrap(),
        };
        let domain: Vec<SortId> = domain.split_whitespace().map(find).collect();
        let range = find(range);
        let kinds: Vec<KindId> = domain.iter().map(|&s| sig.sorts.kind_of(s)).collect();
        let decl = OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() };
        let name = Name::new(name);
        let range = sig.sorts.kind_of(range);
        let id = match sig.find(name, &kinds, range) {
            Some(id) => {
                sig.op_mut(id).decls.push(decl);
                id
            }
            None => sig.add(Operator {
                name,
                domain: kinds,
                range,
                decls: vec![decl],
                axioms: Axioms { assoc: name.as_str() == "__", ..Axioms::default() },
                prec: None,
                gather: None,
                format: None,
                strat: None,
                memo: false,
                frozen: Vec::new(),
                special: None,
                poly: None,
                hooks: Hooks::default(),
                own: true,
            }),
        };
        let Some(special) = special else { return };
        // The operator `_|_` is its own separator.
        let (hook, hooks) = special.rsplit_once(" | ").unwrap_or((special, ""));
        let mut words = hook.split(' ');
        let hook = Name::new(words.next().unwrap());
        let (mut ops, mut terms) = (Vec::new(), Vec::new());
        let constant = |sig: &Signature, name: &str| {
            let op = sig.named(Name::new(name))[0];
            Tree::leaf(Node::App { op, arity: 0 }, Span::default())
        };
        for item in hooks.split_whitespace() {
            if item == "truth" {
                terms.push((Name::new("trueTerm"), constant(sig, "true")));
                terms.push((Name::new("falseTerm"), constant(sig, "false")));
            } else if let Some((name, value)) = item.split_once('=') {
                terms.push((Name::new(name), constant(sig, value)));
            } else {
                let target = match item {
                    "succSymbol" => "SuccSymbol",
                    "minusSymbol" => "MinusSymbol",
                    "divisionSymbol" => "DivisionSymbol",
                    "floatSymbol" => "FloatSymbol",
                    "stringSymbol" => "StringSymbol",
                    "quotedIdentifierSymbol" => "QuotedIdentifierSymbol",
                    _ => "",
                };
                let op = match item {
                    "decFloatSymbol" => sig.named(Name::new("<_`,_`,_>")).first().copied(),
                    "nilQidListSymbol" => sig.named(Name::new("nil")).first().copied(),
                    "qidListSymbol" => sig.named(Name::new("__")).first().copied(),
                    "minusSymbol" if hook.as_str() == "MinusSymbol" => Some(id),
                    _ => sig.with_hook(target),
                };
                ops.push((Name::new(item), op.expect("hooked operators are declared before")));
            }
        }
        let op = sig.op_mut(id);
        match hook.as_str() {
            "ACU_NumberOpSymbol" => (op.axioms.assoc, op.axioms.comm) = (true, true),
            "CUI_NumberOpSymbol" => op.axioms.comm = true,
            "SuccSymbol" => op.axioms.iter = true,
            _ => {}
        }
        match &mut op.special {
            Some(special) => {
                special.ops.extend(ops);
                special.terms.extend(terms);
            }
            None => {
                let data = words.map(Name::new).collect();
                op.special = Some(Special { hook, data, more: Vec::new(), ops, terms });
            }
        }
    }

    fn term(&mut self, arg: &Arg) -> Term {
        match arg {
            Arg::Int(n) => self.heap.int(&self.sy, n).expect("a number of this module"),
            Arg::Rat(n, d) => {
                let n = self.heap.int(&self.sy, n).unwrap();
                let d = self.heap.nat(&self.sy, d);
                let division = self.sig.with_hook("DivisionSymbol").unwrap();
                self.heap.apply(&self.sy, division.0, &[n, d])
            }
            Arg::Float(x) => self.heap.float(&self.sy, *x),
            Arg::Str(text) => self.heap.string(&self.sy, text),
            Arg::Qid(name) => self.heap.qid(&self.sy, Name::new(name)),
            Arg::Qids(names) => {
                let qids: Vec<Term> =
                    names.iter().map(|name| self.heap.qid(&self.sy, Name::new(name))).collect();
                let constant = |name: &str| self.sig.named(Name::new(name))[0].0;
                match qids.is_empty() {
                    true => Term::constant(constant("nil")),
                    false => self.heap.list(&self.sy, constant("__"), &qids),
                }
            }
            Arg::Alien(count, name) => {
                let base = Term::constant(self.sig.named(Name::new(name))[0].0);
                let count = rwl::term::Int::Small(*count);
                self.heap.iterate(&self.sy, self.sy.numbers.succ, &count, base)
            }
        }
    }

    /// Evaluates as an engine would: until nothing changes. Gives the number of steps.
    fn reduce(&mut self, op: &str, args: &[Arg]) -> (usize, Term) {
        let args: Vec<Term> = args.iter().map(|arg| self.term(arg)).collect();
        let kind = |t: Term| {
            let sym = self.heap.sym(&self.sy, t);
            self.sy.info[sym as usize].kind
        };
        let fits = |&&id: &&OpId| {
            let op = self.sig.op(id);
            op.domain.first() == args.first().map(|&t| kind(t)).as_ref()
                && (op.axioms.assoc || op.arity() == args.len())
        };
        let id = *self.sig.named(Name::new(op)).iter().find(fits).expect("an operator for these arguments");
        let builtin = Builtin::new(&self.sig, &self.sy, id).expect("a built-in");
        let mut cx = Cx { heap: &mut self.heap, sy: &self.sy, state: &mut self.state };
        let first = if self.sy.class(id.0) == Class::AssocComm {
            let mut pairs: Vec<(Term, u32)> = args.iter().map(|&t| (t, 1)).collect();
            cx.heap.normalize_pairs(cx.sy, &mut pairs);
            let bag = builtin.eval_bag(&mut cx, &pairs);
            let list = builtin.eval(&mut cx, &args);
            match (bag, list) {
                (Some(bag), Some(list)) => {
                    assert!(cx.heap.equal(cx.sy, bag, list), "{op} as list and as bag")
                }
                (bag, list) => assert_eq!(bag, list, "{op} as list and as bag"),
            }
            bag
        } else {
            builtin.eval(&mut cx, &args)
        };
        let Some(mut result) = first else {
            return (0, self.heap.apply(&self.sy, id.0, &args));
        };
        let mut steps = 1;
        while result.is_node()
            && self.heap.layout(result) == 2
            && self.sy.class(self.heap.sym(&self.sy, result)) == Class::Free
        {
            let top = OpId(self.heap.sym(&self.sy, result));
            let args = self.heap.args(result).to_vec();
            let mut cx = Cx { heap: &mut self.heap, sy: &self.sy, state: &mut self.state };
            let next = Builtin::new(&self.sig, &self.sy, top).and_then(|b| b.eval(&mut cx, &args));
            let Some(next) = next else { break };
            result = next;
            steps += 1;
        }
        (steps, result)
    }

    /// `Sort: term`, without mixfix syntax.
    fn print(&self, t: Term) -> String {
        let sym = self.heap.sym(&self.sy, t);
        let kind = self.sy.info[sym as usize].kind;
        let sort = self.sig.sorts.at(kind, self.heap.sort(&self.sy, t));
        let mut text = format!("{}: ", self.sig.sorts.name(sort));
        self.print_term(t, &mut text);
        text
    }

    fn print_term(&self, t: Term, text: &mut String) {
        if let Some(n) = self.heap.to_int(&self.sy, t) {
            return write!(text, "{n}").unwrap();
        }
        let sym = self.heap.sym(&self.sy, t);
        if t.is_node() && self.heap.layout(t) == Layout::Raw as u32 {
            return match sym {
                _ if sym == self.sy.string => text.push_str(&literal::escape(self.heap.bytes(t))),
                _ if sym == self.sy.float => text.push_str(&literal::print_float(self.heap.float_value(t))),
                _ => write!(text, "'{}", self.heap.qid_name(t)).unwrap(),
            };
        }
        let op = self.sig.op(OpId(sym));
        let mut args = Vec::new();
        match self.sy.class(sym) {
            _ if t.is_constant() => return text.push_str(op.name.as_str()),
            Class::AssocComm => {
                let mut pairs = Vec::new();
                self.heap.bag_pairs(t, &mut pairs);
                pairs.iter().for_each(|&(t, m)| args.extend((0..m).map(|_| t)));
                text.push_str(op.name.as_str());
            }
            Class::Iter => {
                let (count, base) = self.heap.iter_parts(t);
                let count = count.to_big();
                args.push(base);
                match count.to_string().as_str() {
                    "1" => text.push_str("s_"),
                    count => write!(text, "s_^{count}").unwrap(),
                }
            }
            _ => {
                args.extend(self.heap.args(t));
                if op.special.as_ref().is_some_and(|s| s.hook.as_str() == "DivisionSymbol") {
                    self.print_term(args[0], text);
                    text.push('/');
                    return self.print_term(args[1], text);
                }
                text.push_str(op.name.as_str());
            }
        }
        text.push('(');
        for (i, &arg) in args.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { ", " });
            self.print_term(arg, text);
        }
        text.push(')');
    }
}

/// An argument as Maude and we read it.
#[derive(Clone, Debug)]
enum Arg {
    Int(BigInt),
    Rat(BigInt, BigUint),
    Float(f64),
    Str(Vec<u8>),
    Qid(String),
    Qids(Vec<String>),
    /// `s_^n(c)` for a constant `c` that no equation defines.
    Alien(u32, &'static str),
}

impl Arg {
    fn int(&self) -> BigInt {
        match self {
            Arg::Int(n) => n.clone(),
            _ => panic!("not an integer"),
        }
    }

    fn text(&self) -> String {
        match self {
            Arg::Int(n) => n.to_string(),
            Arg::Rat(n, d) => format!("{n}/{d}"),
            Arg::Float(x) => literal::print_float(*x),
            Arg::Str(text) => literal::escape(text),
            Arg::Qid(name) => format!("'{name}"),
            Arg::Qids(names) if names.is_empty() => "nil".to_owned(),
            Arg::Qids(names) => names.iter().map(|name| format!("'{name}")).collect::<Vec<_>>().join(" "),
            Arg::Alien(0, name) => (*name).to_owned(),
            Arg::Alien(n, name) => format!("s_^{n}({name})"),
        }
    }
}

#[derive(Default)]
struct Cases(Vec<(String, Vec<Arg>)>);

impl Cases {
    fn push(&mut self, op: &str, args: Vec<Arg>) {
        self.0.push((op.to_owned(), args));
    }
}

/// Runs random cases of one module through Maude and through the built-ins.
fn differential(imported: &str, module: &str, fill: impl FnOnce(&mut Random, &mut Cases)) {
    if !std::path::Path::new(MAUDE).exists() {
        eprintln!("skipped: no {MAUDE}");
        return;
    }
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_240_229);
    println!("SEED={seed}");
    let mut cases = Cases::default();
    fill(&mut Random(seed), &mut cases);
    let calls: Vec<String> = cases
        .0
        .iter()
        .map(|(op, args)| {
            let args: Vec<String> = args.iter().map(Arg::text).collect();
            format!("{op}({})", args.join(", "))
        })
        .collect();
    let mut script = format!(
        "set show timing off .\nset show advisories off .\nset print mixfix off .\n\
         fmod TEST is pr {imported} . pr RANDOM . ops a b : -> Nat . endfm\n"
    );
    for call in &calls {
        writeln!(script, "red {call} .").unwrap();
    }
    let answers = maude(&script);
    assert_eq!(answers.len(), calls.len(), "Maude answered {} of {} commands", answers.len(), calls.len());
    let mut world = World::new(module);
    let mut wrong = Vec::new();
    for ((call, (op, args)), (steps, answer)) in calls.iter().zip(&cases.0).zip(&answers) {
        let (our_steps, result) = world.reduce(op, args);
        let ours = world.print(result);
        if our_steps != *steps || ours != *answer {
            wrong.push(format!("{call}\n  Maude {steps} {answer}\n  ours  {our_steps} {ours}"));
        }
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{shown}", wrong.len(), calls.len());
}

/// The rewrites and the result line (`Sort: term`) of each command.
fn maude(script: &str) -> Vec<(usize, String)> {
    let mut child = Command::new(MAUDE)
        .args(["-no-banner", "-no-wrap", "-no-advise", "-batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Maude starts");
    let mut stdin = child.stdin.take().unwrap();
    let script = script.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().expect("Maude ends");
    let _ = writer.join();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut answers = Vec::new();
    let mut steps = 0;
    for line in text.lines() {
        if let Some(count) = line.strip_prefix("rewrites: ") {
            steps = count.parse().unwrap();
        } else if let Some(result) = line.strip_prefix("result ") {
            answers.push((steps, result.to_owned()));
        }
    }
    answers
}

/// xorshift64*, and arguments made with it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn several(&mut self, min: u64, max: u64, make: impl Fn(&mut Random) -> Arg) -> Vec<Arg> {
        let count = min + self.below(max - min + 1);
        (0..count).map(|_| make(self)).collect()
    }

    fn natural(&mut self) -> Arg {
        let near = |random: &mut Random, bits: u64| {
            let offset = random.below(5);
            (BigInt::from(1) << bits) + offset - 2
        };
        Arg::Int(match self.below(8) {
            0..3 => self.below(12).into(),
            3 => self.below(1 << 31).into(),
            4 => {
                let bits = 28 + self.below(6);
                near(self, bits)
            }
            5 => {
                let bits = 60 + self.below(8);
                near(self, bits)
            }
            6 => near(self, 127),
            _ => {
                let words: Vec<u32> = (0..self.below(7)).map(|_| self.next() as u32).collect();
                BigUint::new(words).into()
            }
        })
    }

    fn positive(&mut self) -> Arg {
        loop {
            let n = self.natural();
            if n.int() != BigInt::from(0) {
                return n;
            }
        }
    }

    fn integer(&mut self) -> Arg {
        let n = self.natural().int();
        Arg::Int(if self.below(2) == 0 { -n } else { n })
    }

    /// An integer of up to some thousand digits.
    fn long(&mut self) -> Arg {
        let length = self.pick(&[1, 2, 3, 5, 9, 17, 40, 63, 64, 65, 66, 140, 530]) + self.below(3);
        let words: Vec<u32> = (0..length)
            .map(|_| match self.below(6) {
                0 => 0,
                1 => u32::MAX,
                _ => self.next() as u32,
            })
            .collect();
        let n = BigInt::from(BigUint::new(words));
        Arg::Int(if self.below(3) == 0 { -n } else { n })
    }

    /// An integer or a fraction in lowest terms.
    fn rational(&mut self) -> Arg {
        use num_integer::Integer as _;
        let (n, d) = (self.integer().int(), self.positive().int());
        let common = n.gcd(&d);
        let (n, d) = (n / &common, d / &common);
        if n == BigInt::from(0) || d == BigInt::from(1) {
            return Arg::Int(n);
        }
        Arg::Rat(n, d.magnitude().clone())
    }

    fn alien(&mut self) -> Arg {
        Arg::Alien(self.pick(&[0, 0, 2, 7]), self.pick(&["a", "b"]))
    }

    fn float(&mut self) -> Arg {
        let specials = [
            0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.0,
            3.0,
            -3.0,
            1.5,
            10.0,
            1e-5,
            100.0,
            1e16,
            1e22,
            -1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            f64::INFINITY,
            f64::NEG_INFINITY,
            std::f64::consts::PI,
            std::f64::consts::FRAC_PI_2,
            9_007_199_254_740_991.0,
            9_007_199_254_740_994.0,
        ];
        Arg::Float(match self.below(4) {
            0 => self.pick(&specials),
            1 => self.below(2000) as f64 / 100.0 - 10.0,
            2 => self.below(1 << 53) as f64 / (1u64 << 53) as f64,
            _ => loop {
                let x = f64::from_bits(self.next());
                if !x.is_nan() && x != 0.0 {
                    break x;
                }
            },
        })
    }

    fn text(&mut self, max: u64, alphabet: &[u8]) -> Vec<u8> {
        let length = self.below(max + 1);
        (0..length).map(|_| self.pick(alphabet)).collect()
    }

    fn string(&mut self, max: u64) -> Arg {
        if self.below(4) == 0 {
            let length = self.below(max + 1);
            return Arg::Str((0..length).map(|_| self.next() as u8).collect());
        }
        Arg::Str(self.text(max, b"abAZ09 \"\\\n\t\x00\x01\x7f\x80\xc3\xa9`(){}[],_'.;"))
    }

    fn rational_text(&mut self) -> Arg {
        match self.below(3) {
            0 => Arg::Str(self.rational().text().into_bytes()),
            1 => Arg::Str(self.text(5, b"01f-/ ")),
            _ => Arg::Str(self.text(8, b"1234567890abcZ/-")),
        }
    }

    fn float_text(&mut self) -> Arg {
        match self.below(3) {
            0 => Arg::Str(self.float().text().into_bytes()),
            1 => Arg::Str(self.text(8, b"0123456789.e+-")),
            _ => {
                let decimals = self.text(25, b"0123456789");
                let exponent = self.below(700) as i64 - 350;
                Arg::Str(format!("1{}.5e{exponent}", String::from_utf8(decimals).unwrap()).into_bytes())
            }
        }
    }

    fn position(&mut self) -> Arg {
        Arg::Int(match self.below(6) {
            0 => BigInt::from(1) << 32,
            1 => BigInt::from(1) << 70,
            _ => self.below(15).into(),
        })
    }
}

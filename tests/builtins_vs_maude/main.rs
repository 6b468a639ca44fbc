//! Built-in operators against Maude itself: random applications to literals of all sizes, the
//! results compared as text with their sorts, and what stays unevaluated.
//!
//! The modules are built by hand from the declarations below, so that this test needs no parser.
//! It does nothing where Maude is not installed. `SEED=n` repeats a run.

mod arguments;
mod declarations;
mod maude;
mod world;

use num_bigint::BigInt;

use arguments::{Arg, Random};
use declarations::*;
use maude::{Cases, differential};
use world::World;

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

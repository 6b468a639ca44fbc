//! Random patterns with subjects that they are likely to match.

use crate::world::{T, World};

/// A small generator (xorshift), so that a seed gives the same cases everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, X>(&mut self, items: &'a [X]) -> &'a X {
        &items[self.below(items.len())]
    }
}

/// What cases look like.
#[derive(Clone, Copy)]
pub struct Class {
    pub name: &'static str,
    /// Operators that may stand on top of the pattern.
    pub tops: &'static [&'static str],
    /// Percentages for an argument: a variable; of these an element sort first; ground.
    pub vars: usize,
    pub ground: usize,
    /// Percentage of repeating an earlier variable.
    pub repeat: usize,
    /// May aliens be of other theories?
    pub nested: bool,
    pub extension: bool,
    pub args_max: usize,
    /// More than a hundred different elements?
    pub large: bool,
}

const BASE: Class = Class {
    name: "",
    tops: &["ac"],
    vars: 50,
    ground: 15,
    repeat: 0,
    nested: false,
    extension: false,
    args_max: 4,
    large: false,
};

pub const CLASSES: &[Class] = &[
    Class { name: "ac", ..BASE },
    Class { name: "acu", tops: &["acu"], ..BASE },
    Class { name: "ac vars", vars: 95, ..BASE },
    Class { name: "acu vars", tops: &["acu"], vars: 95, args_max: 3, ..BASE },
    Class { name: "ac non-linear", repeat: 50, ..BASE },
    Class { name: "acu non-linear", tops: &["acu"], repeat: 50, ..BASE },
    Class { name: "ac aliens", vars: 0, ground: 20, repeat: 30, ..BASE },
    Class { name: "ac extension", extension: true, args_max: 3, ..BASE },
    Class { name: "acu extension", tops: &["acu"], extension: true, args_max: 3, ..BASE },
    Class { name: "as", tops: &["as"], ..BASE },
    Class { name: "au", tops: &["au"], ..BASE },
    Class { name: "as non-linear", tops: &["as", "au"], repeat: 40, ..BASE },
    Class { name: "as extension", tops: &["as"], extension: true, args_max: 3, ..BASE },
    Class { name: "au extension", tops: &["au"], extension: true, args_max: 3, ..BASE },
    Class { name: "comm", tops: &["cm"], nested: true, repeat: 20, ..BASE },
    Class { name: "free nested", tops: &["g"], nested: true, vars: 20, repeat: 20, args_max: 3, ..BASE },
    Class { name: "nested", tops: &["ac", "acu", "as", "au"], nested: true, repeat: 20, args_max: 3, ..BASE },
    Class {
        name: "nested extension",
        tops: &["ac", "acu", "as", "au"],
        nested: true,
        extension: true,
        repeat: 20,
        args_max: 3,
        ..BASE
    },
];

pub const LARGE: &[Class] = &[
    Class { name: "large ac", tops: &["ac", "acu"], vars: 35, ground: 25, args_max: 3, large: true, ..BASE },
    Class {
        name: "large ac extension",
        tops: &["ac", "acu"],
        vars: 20,
        ground: 25,
        args_max: 3,
        large: true,
        extension: true,
        ..BASE
    },
    Class { name: "large as", tops: &["as", "au"], vars: 50, ground: 25, args_max: 3, large: true, ..BASE },
];

pub const STRANGE: &[Class] = &[
    Class {
        name: "cui",
        tops: &["ci", "cu", "cui", "id", "ul", "ur", "uu"],
        nested: true,
        repeat: 20,
        ..BASE
    },
    Class { name: "one-sided", tops: &["al", "ar"], repeat: 10, args_max: 3, ..BASE },
    Class {
        name: "abstraction",
        tops: &["acu", "acv", "au", "av", "ac", "as"],
        nested: true,
        args_max: 3,
        ..BASE
    },
    Class { name: "iter", tops: &["it"], nested: true, ..BASE },
    Class {
        name: "strange extension",
        tops: &["acu", "acv", "au", "av", "ac", "as", "it"],
        nested: true,
        extension: true,
        args_max: 3,
        ..BASE
    },
];

/// Here Maude also finds parts that do not stand in the subject, such as `al(a, e)` in `al(a, b)`.
pub const ONE_SIDED: &[Class] = &[Class {
    name: "one-sided extension",
    tops: &["al", "ar"],
    repeat: 10,
    extension: true,
    args_max: 3,
    ..BASE
}];

pub struct Case {
    pub pattern: T,
    pub subject: T,
    pub extension: bool,
    /// Some number, for further choices.
    pub choice: usize,
}

impl Case {
    /// For statements, whose top is always matched with extension: the same below an operator
    /// without.
    pub fn into_statement(mut self, world: &World) -> Case {
        if !self.extension {
            let wrap = |t: T| T::App(world.op("w"), vec![t]);
            (self.pattern, self.subject) = (wrap(self.pattern), wrap(self.subject));
            self.extension = true;
        }
        self
    }
}

pub struct Generator<'w> {
    pub world: &'w World,
    pub random: Random,
    used: Vec<usize>,
}

impl<'w> Generator<'w> {
    pub fn new(world: &'w World, seed: u64) -> Generator<'w> {
        Generator { world, random: Random::new(seed), used: Vec::new() }
    }

    pub fn case(&mut self, class: &Class) -> Case {
        self.used.clear();
        let name: &str = self.random.pick::<&str>(class.tops);
        let top = self.world.op(name);
        let pattern = self.application(class, top, 0);
        let mut subject = if self.random.chance(85) {
            let mut values: Vec<Option<T>> = vec![None; self.world.vars.len()];
            self.instance(&pattern, &mut values)
        } else {
            let n = 2 + self.random.below(3);
            self.ground_application(top, n, 1)
        };
        if class.large
            && let T::App(op, args) = &mut subject
            && *op == top
        {
            let small: Vec<T> = ["a", "b", "c"]
                .iter()
                .flat_map(|name| {
                    let constant = T::App(self.world.op(name), vec![]);
                    let wrap = |f: &str| T::App(self.world.op(f), vec![constant.clone()]);
                    [constant.clone(), wrap("f"), wrap("h"), wrap("it")]
                })
                .collect();
            for x in &small {
                for y in &small {
                    if self.random.chance(85) {
                        let element = T::App(self.world.op("g"), vec![x.clone(), y.clone()]);
                        args.insert(self.random.below(args.len() + 1), element);
                    }
                }
            }
        }
        if class.extension
            && self.world.is_assoc(top)
            && let T::App(op, args) = &mut subject
            && *op == top
        {
            for _ in 0..self.random.below(3) {
                let element = ground(self.world, &mut self.random, 0);
                args.insert(self.random.below(args.len() + 1), element);
            }
        }
        if class.extension && self.world.ops[top].attrs == "iter" {
            subject = T::App(top, vec![subject]);
        }
        Case {
            pattern,
            subject: self.settled(subject),
            extension: class.extension,
            choice: self.random.below(1000),
        }
    }

    /// Without identities below operators with one-sided identity: those depend on the place.
    fn settled(&self, t: T) -> T {
        let T::App(op, args) = t else { return t };
        let mut args: Vec<T> = args.into_iter().map(|arg| self.settled(arg)).collect();
        if matches!(self.world.ops[op].name, "al" | "ar") {
            args.retain(|arg| *arg != T::App(self.world.op("e"), vec![]));
            if args.len() < 2 {
                return args.pop().unwrap_or(T::App(self.world.op("e"), vec![]));
            }
        }
        flat(self.world, op, args)
    }

    fn application(&mut self, class: &Class, op: usize, depth: usize) -> T {
        let arity = self.world.arity(op);
        let n = if self.world.is_assoc(op) { 2 + self.random.below(class.args_max - 1) } else { arity };
        let args = (0..n).map(|_| self.argument(class, op, depth)).collect();
        T::App(op, args)
    }

    fn argument(&mut self, class: &Class, parent: usize, depth: usize) -> T {
        let roll = self.random.below(100);
        if roll < class.vars || depth > 2 {
            return T::Var(self.variable(class));
        }
        if roll < class.vars + class.ground {
            return ground(self.world, &mut self.random, 1);
        }
        let free = ["f", "h", "g"];
        let other: Vec<usize> = (0..self.world.ops.len())
            .filter(|&op| {
                let o = &self.world.ops[op];
                op != parent && self.world.arity(op) > 0 && !o.name.starts_with('r') && o.name != "w"
            })
            .collect();
        let op = if class.nested && self.random.chance(60) {
            *self.random.pick(&other)
        } else {
            let name = self.random.pick(&free);
            self.world.ops.iter().position(|op| op.name == *name).unwrap_or_else(|| self.world.op("f"))
        };
        let inner = Class { vars: 75, args_max: 3, ..*class };
        self.application(&inner, op, depth + 1)
    }

    fn variable(&mut self, class: &Class) -> usize {
        if !self.used.is_empty() && self.random.chance(class.repeat) {
            return *self.random.pick(&self.used);
        }
        for _ in 0..20 {
            let v = self.random.below(self.world.vars.len());
            if !self.used.contains(&v) {
                if self.used.len() == 6 {
                    break;
                }
                self.used.push(v);
                return v;
            }
        }
        *self.random.pick(&self.used)
    }

    fn ground_application(&mut self, op: usize, n: usize, depth: usize) -> T {
        let n = if self.world.is_assoc(op) { n } else { self.world.arity(op) };
        T::App(op, (0..n).map(|_| ground(self.world, &mut self.random, depth)).collect())
    }

    fn instance(&mut self, t: &T, values: &mut Vec<Option<T>>) -> T {
        match t {
            T::App(op, args) => {
                let args = args.iter().map(|arg| self.instance(arg, values)).collect();
                flat(self.world, *op, args)
            }
            T::Var(v) => {
                if values[*v].is_none() {
                    values[*v] = Some(self.value(*v));
                }
                values[*v].clone().expect("just set")
            }
        }
    }

    /// A random term of a variable's sort.
    fn value(&mut self, v: usize) -> T {
        let world = self.world;
        let sort = world.var(v).sort;
        let mut heap = world.heap();
        for _ in 0..60 {
            let t = if self.random.chance(60) {
                ground(world, &mut self.random, 1)
            } else {
                let lists: Vec<usize> = (0..world.ops.len()).filter(|&op| world.is_assoc(op)).collect();
                let op = *self.random.pick(&lists);
                let n = 2 + self.random.below(2);
                self.ground_application(op, n, 0)
            };
            let term = world.build(&mut heap, &t);
            let index = heap.sort(&world.sy, term);
            let kind = world.sig.sorts.kind(world.sig.sorts.kind_of(sort));
            if kind.leq(index, world.sig.sorts.get(sort).index) {
                return t;
            }
        }
        T::App(world.op("a"), vec![])
    }
}

/// A random ground term.
fn ground(world: &World, random: &mut Random, depth: usize) -> T {
    let constants: Vec<usize> =
        (0..world.ops.len()).filter(|&op| world.arity(op) == 0 && world.ops[op].name != "r0").collect();
    if depth == 0 || random.chance(60) {
        return T::App(*random.pick(&constants), vec![]);
    }
    let unary: Vec<usize> =
        (0..world.ops.len()).filter(|&op| matches!(world.ops[op].name, "f" | "h" | "g" | "it")).collect();
    let op = *random.pick(&unary);
    T::App(op, (0..world.arity(op)).map(|_| ground(world, random, depth - 1)).collect())
}

/// An application, flattened as far as Maude's parser needs: nothing else is normalized.
fn flat(world: &World, op: usize, args: Vec<T>) -> T {
    if !world.is_assoc(op) {
        return T::App(op, args);
    }
    let mut all = Vec::new();
    for arg in args {
        match arg {
            T::App(inner, more) if inner == op => all.extend(more),
            other => all.push(other),
        }
    }
    T::App(op, all)
}

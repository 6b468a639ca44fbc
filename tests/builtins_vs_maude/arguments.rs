//! Arguments of built-in operators, and random ones of all sizes.

use num_bigint::{BigInt, BigUint};
use rwl::base::literal;

/// An argument as Maude and we read it.
#[derive(Clone, Debug)]
pub enum Arg {
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
    pub fn int(&self) -> BigInt {
        match self {
            Arg::Int(n) => n.clone(),
            _ => panic!("not an integer"),
        }
    }

    pub fn text(&self) -> String {
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

/// xorshift64*, and arguments made with it.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub fn several(&mut self, min: u64, max: u64, make: impl Fn(&mut Random) -> Arg) -> Vec<Arg> {
        let count = min + self.below(max - min + 1);
        (0..count).map(|_| make(self)).collect()
    }

    pub fn natural(&mut self) -> Arg {
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

    pub fn positive(&mut self) -> Arg {
        loop {
            let n = self.natural();
            if n.int() != BigInt::from(0) {
                return n;
            }
        }
    }

    pub fn integer(&mut self) -> Arg {
        let n = self.natural().int();
        Arg::Int(if self.below(2) == 0 { -n } else { n })
    }

    /// An integer of up to some thousand digits.
    pub fn long(&mut self) -> Arg {
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
    pub fn rational(&mut self) -> Arg {
        use num_integer::Integer as _;
        let (n, d) = (self.integer().int(), self.positive().int());
        let common = n.gcd(&d);
        let (n, d) = (n / &common, d / &common);
        if n == BigInt::from(0) || d == BigInt::from(1) {
            return Arg::Int(n);
        }
        Arg::Rat(n, d.magnitude().clone())
    }

    pub fn alien(&mut self) -> Arg {
        Arg::Alien(self.pick(&[0, 0, 2, 7]), self.pick(&["a", "b"]))
    }

    pub fn float(&mut self) -> Arg {
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

    pub fn text(&mut self, max: u64, alphabet: &[u8]) -> Vec<u8> {
        let length = self.below(max + 1);
        (0..length).map(|_| self.pick(alphabet)).collect()
    }

    pub fn string(&mut self, max: u64) -> Arg {
        if self.below(4) == 0 {
            let length = self.below(max + 1);
            return Arg::Str((0..length).map(|_| self.next() as u8).collect());
        }
        Arg::Str(self.text(max, b"abAZ09 \"\\\n\t\x00\x01\x7f\x80\xc3\xa9`(){}[],_'.;"))
    }

    pub fn rational_text(&mut self) -> Arg {
        match self.below(3) {
            0 => Arg::Str(self.rational().text().into_bytes()),
            1 => Arg::Str(self.text(5, b"01f-/ ")),
            _ => Arg::Str(self.text(8, b"1234567890abcZ/-")),
        }
    }

    pub fn float_text(&mut self) -> Arg {
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

    pub fn position(&mut self) -> Arg {
        Arg::Int(match self.below(6) {
            0 => BigInt::from(1) << 32,
            1 => BigInt::from(1) << 70,
            _ => self.below(15).into(),
        })
    }
}

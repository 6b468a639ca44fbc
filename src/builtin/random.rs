//! `random`: numbers 0, 1, 2 ... of the Mersenne Twister MT19937 (Matsumoto and Nishimura 1998)
//! from one seed, so that `random(n)` is a function.

use super::Cx;
use super::integer::Integer;
use crate::base::Cancel;
use crate::term::Term;

/// The value of `random(args[0])`.
pub(super) fn eval(cx: &mut Cx, args: &[Term]) -> Option<Term> {
    let index = Integer::natural(cx.heap, cx.sy, *args.first()?)?;
    // Numbers beyond that would take longer than anybody waits.
    let value = cx.state.random.get(index.to_u64().unwrap_or(u64::MAX))?;
    Some(cx.heap.nat_u64(cx.sy, value.into()))
}

const N: usize = 624;
const M: usize = 397;

/// A generator that remembers the last number it gave: asking for ascending numbers is fast.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u32,
    /// Nothing before the first number.
    state: Vec<u32>,
    /// The next word of `state` to use; `N` asks for new ones.
    next: usize,
    /// The number of `current` in the sequence.
    index: u64,
    current: u32,
    /// Raised when a long wait shall end.
    pub cancel: Cancel,
}

impl Default for Random {
    fn default() -> Random {
        Random::new(0)
    }
}

impl Random {
    pub fn new(seed: u32) -> Random {
        // Most never give a number, so they start when they are asked.
        Random { seed, state: Vec::new(), next: N, index: 0, current: 0, cancel: Cancel::default() }
    }

    fn restart(&mut self) {
        self.state.resize(N, 0);
        self.state[0] = self.seed;
        for i in 1..N {
            let before = self.state[i - 1];
            self.state[i] = (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        self.next = N;
        self.index = 0;
        self.current = self.step();
    }

    /// The number with this index; `None` if the wait was cancelled.
    pub fn get(&mut self, index: u64) -> Option<u32> {
        if index < self.index || self.state.is_empty() {
            self.restart();
        }
        while self.index < index {
            self.index += 1;
            self.current = self.step();
            if self.index.is_multiple_of(1 << 20) && self.cancel.is_raised() {
                return None;
            }
        }
        Some(self.current)
    }

    fn step(&mut self) -> u32 {
        if self.next == N {
            for i in 0..N {
                let word = self.state[i] & 1 << 31 | self.state[(i + 1) % N] & !(1 << 31);
                let twist = if word & 1 != 0 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + M) % N] ^ word >> 1 ^ twist;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_maudes() {
        let mut random = Random::new(0);
        for (index, value) in [
            (0, 2_357_136_044),
            (1, 2_546_248_239),
            (5, 3_684_848_379),
            (1000, 1_333_075_495),
            (0, 2_357_136_044),
        ] {
            assert_eq!(random.get(index), Some(value));
        }
        // The reference implementation's first number and the 10000th of C++'s `mt19937`.
        let mut random = Random::new(5489);
        assert_eq!(random.get(0), Some(3_499_211_612));
        assert_eq!(random.get(9999), Some(4_123_659_995));
    }
}

//! Free operators: the skeleton is checked by a loop, so depth is no limit; subpatterns of
//! other theories follow in the sequence that the compiler found.

use super::pattern::{Free, Step};
use super::run::{Run, Sub};
use crate::term::{Term, header_sym};

impl Run<'_, '_> {
    pub fn match_free(&mut self, free: &Free, subject: Term, out: &mut Vec<Sub>) -> bool {
        let base = self.state.registers.len();
        self.state.registers.push(subject);
        let found = self.match_skeleton(free, base)
            && free.aliens.iter().all(|&(register, node)| {
                let subject = self.state.registers[base + register as usize];
                self.match_node(node, subject, false, out)
            });
        self.state.registers.truncate(base);
        found
    }

    fn match_skeleton(&mut self, free: &Free, base: usize) -> bool {
        for step in &free.steps {
            let fits = match step {
                Step::Open { register, sym } => {
                    let t = self.state.registers[base + *register as usize];
                    let heap = &*self.cx.heap;
                    let fits = t.is_node() && header_sym(heap.header(t)) == *sym;
                    if fits {
                        self.state.registers.extend_from_slice(heap.args(t));
                    }
                    fits
                }
                Step::Var { register, var } => {
                    let t = self.state.registers[base + *register as usize];
                    self.match_var(var, t)
                }
                Step::Ground { register, term } => {
                    self.is_fixed(*term, self.state.registers[base + *register as usize])
                }
            };
            if !fits {
                return false;
            }
        }
        true
    }
}

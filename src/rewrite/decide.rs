//! Memberships on small naturals, decided by machines of their own.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::machine::Machine;
use crate::base::Cancel;
use crate::term::NumberSorts;
use crate::theory::Theory;

/// Decisions that may wait for one another before smaller numbers are decided in order.
const DEPTH: usize = 40;
/// Where a decision that waits for itself, for ever larger numbers, ends.
const DEPTH_MAX: usize = 400;

/// The sorts of small naturals in a theory that has memberships on them. Rewrites are counted in
/// `rewrites`.
pub(super) fn number_sorts(
    theory: &Arc<Theory>,
    cancel: &Cancel,
    rewrites: &Arc<AtomicU64>,
) -> Arc<NumberSorts> {
    let sorts = Arc::new(NumberSorts::default());
    let (theory, cancel, rewrites) = (theory.clone(), cancel.clone(), rewrites.clone());
    let weak = Arc::downgrade(&sorts);
    let pool: Mutex<Vec<Machine>> = Mutex::new(Vec::new());
    let depth = AtomicUsize::new(0);
    let decided_below = AtomicU32::new(0);
    sorts.decide_by(Box::new(move |n| {
        let Some(sorts) = weak.upgrade() else { return };
        let waiting = depth.fetch_add(1, Ordering::Relaxed);
        if waiting > DEPTH && waiting <= DEPTH_MAX {
            // Towers of memberships such as `mb s s E : Even`: from below, none waits long.
            let start = decided_below.load(Ordering::Relaxed);
            let start = if start <= n && sorts.is_known(start.saturating_sub(1)) { start } else { 0 };
            for smaller in start..n {
                if cancel.is_raised() {
                    break;
                }
                sorts.sort(smaller, theory.symbols.numbers.sort_of(smaller));
                decided_below.store(smaller + 1, Ordering::Relaxed);
            }
        }
        if waiting <= DEPTH_MAX {
            let spare = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut machine = spare.unwrap_or_else(|| Machine::new(theory.clone(), cancel.clone()));
            machine.heap.number_sorts = Some(sorts.clone());
            machine.rewrites = 0;
            machine.decide_number(n);
            rewrites.fetch_add(machine.rewrites, Ordering::Relaxed);
            // One that is kept must not keep these sorts alive, which keep it.
            machine.heap.number_sorts = None;
            pool.lock().unwrap_or_else(PoisonError::into_inner).push(machine);
        }
        depth.fetch_sub(1, Ordering::Relaxed);
    }));
    sorts
}

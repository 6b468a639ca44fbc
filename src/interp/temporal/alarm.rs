//! A part of the time for each of several formulas: one that does not come to its end leaves the rest to others.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::base::Cancel;

/// Stops the work after a while, unless it is switched off before. What it has stopped goes on if nobody asks.
pub struct Alarm {
    off: Sender<()>,
    thread: Option<JoinHandle<()>>,
    /// Has it been this alarm that stopped the work?
    rang: Arc<Cancel>,
    cancel: Cancel,
}

impl Alarm {
    /// Nothing where there are no more threads; then there are only the limits of the whole.
    pub fn after(time: Duration, cancel: &Cancel) -> Option<Alarm> {
        let (off, is_off) = channel();
        let (rang, own) = (Arc::new(Cancel::default()), cancel.clone());
        let rings = rang.clone();
        let work = move || {
            // Somebody else may have stopped the work already, for another reason.
            if is_off.recv_timeout(time) == Err(RecvTimeoutError::Timeout) && !own.is_raised() {
                rings.raise();
                own.raise();
            }
        };
        let thread = std::thread::Builder::new().name("alarm".to_owned()).spawn(work).ok()?;
        Some(Alarm { off, thread: Some(thread), rang, cancel: cancel.clone() })
    }

    /// Switches it off. Did it ring?
    pub fn stop(mut self) -> bool {
        self.switch_off()
    }

    fn switch_off(&mut self) -> bool {
        let Some(thread) = self.thread.take() else { return false };
        // It hears nothing where it has rung.
        let _ = self.off.send(());
        let _ = thread.join();
        self.rang.is_raised()
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if self.switch_off() {
            self.cancel.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_only_in_time() {
        let cancel = Cancel::default();
        assert!(!Alarm::after(Duration::from_secs(3600), &cancel).unwrap().stop());
        assert!(!cancel.is_raised());
        let alarm = Alarm::after(Duration::ZERO, &cancel).unwrap();
        while !cancel.is_raised() {
            std::thread::yield_now();
        }
        assert!(alarm.stop());
        // Whoever is stopped already is not stopped by the alarm.
        let late = Alarm::after(Duration::ZERO, &cancel).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert!(!late.stop());
        // Where the work ends by unwinding, nothing of it remains.
        cancel.clear();
        let dropped = Alarm::after(Duration::ZERO, &cancel).unwrap();
        while !cancel.is_raised() {
            std::thread::yield_now();
        }
        drop(dropped);
        assert!(!cancel.is_raised());
    }
}

//! Flight recorders of real systems, and the ills that they show. A program of its own: it sends
//! signals to itself and panics, which each recorder of a process hears.

mod ills;
mod recorder;
mod watched;

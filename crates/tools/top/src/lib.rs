//! Looks at running programs in a terminal: what the command `actinium top` does.
//!
//! | module | what it is |
//! |---|---|
//! | `target` | which program: one of this user's, or one at an address |
//! | `client` | asks it |
//! | `rates` | what happened between two looks |
//! | `grid` | figures as tables of text |
//! | `closer` | one actor, likewise |
//! | `view` | what is shown, and what keys do |
//! | `draw` | draws that |
//! | `plain` | one look as plain text |
//! | `fetch` | the thread that asks |
//! | `signals` | what ends the process leaves the terminal as it was |
//! | `terminal` | the loop over keys and looks |
//!
//! ```
//! use actinium_actor::System;
//! use actinium_monitor::Monitored;
//! use actinium_monitor::socket::{Folder, ServeOnSocket};
//! use actinium_top::{Client, Target, plain};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = Folder::at(temporary.path().join("actinium"));
//! let system = System::builder().workers(1).observer(ServeOnSocket::at(folder.clone())).build()?;
//! let target = Target::choose(None, &folder)?;
//! let client = Client::new(target, None);
//! let seen = client.snapshot()?;
//! assert!(plain(None, &seen).contains("workers"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod closer;
mod draw;
mod fetch;
mod grid;
mod plain;
mod rates;
mod signals;
mod target;
mod terminal;
mod view;

pub use client::{Client, ClientError};
pub use plain::plain;
pub use target::{Target, TargetError};
pub use terminal::{Settings, run};

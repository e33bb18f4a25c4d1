//! A socket by which programs of the same user look at a system: `actinium top` does.
//!
//! | file | what it is |
//! |---|---|
//! | `folder.rs` | where sockets are, and which of them belong to living programs |
//! | `server.rs` | the thread that answers at a socket |
//! | `request.rs` | a request is read, within bounds |
//! | `answer.rs` | what is answered |
//!
//! The protocol is HTTP/1.1, one request for each connection, with the paths of the live page:
//! `/api/snapshot`, `/api/actors`, `/api/actor/NUMBER` and `/api/family`.

mod answer;
mod folder;
mod request;
mod server;

pub use folder::{Folder, FolderError, Program};
pub use server::ServeOnSocket;

//! What real clients get: by sockets, and in a real browser.

mod api;
mod browser;
mod chromium;
mod client;
mod environment;
mod nodes;

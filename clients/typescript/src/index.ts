/** Talks to Actinium's actors through their gateway. `actinium wire typescript` makes what a program uses: a class with a method per message. */
export { Client, type Options } from "./client.js";
export { Fault, type Described } from "./fault.js";
export { post, type CallOptions } from "./post.js";
export { Monitor, Violation, type Protocol } from "./protocol.js";
export { decode, encode, type Encoding } from "./encoding.js";

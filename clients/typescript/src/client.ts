/**
 * A conversation by WebSocket. The protocol's monitor stands at this end, too: what the state does not allow is an error here, and is not sent.
 *
 * While a request is open nothing else may be said, so what is said meanwhile waits its turn. A `stream` that was on its way when this end left
 * its state is passed over.
 */
import { decode, encode, type Encoding } from "./encoding.js";
import { Fault } from "./fault.js";
import { Monitor, type Protocol, Violation } from "./protocol.js";

/** What of WebSocket is used: the browser's, Node's (from 22 on), or that of the package `ws`. */
export interface Socket {
  binaryType: string;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
}

export interface Options {
  /** `json` for people, `msgpack` (if it is not said) for production. */
  encoding?: Encoding;
  /** Who asks. */
  token?: string;
  /** What opens a socket, where there is no `WebSocket`. */
  webSocket?: new (url: string, protocols: string[]) => unknown;
}

interface Asked {
  number: number;
  undo: () => void;
  resolve: (data: unknown) => void;
  reject: (error: Error) => void;
}

export class Client {
  readonly #protocol: Protocol;
  readonly #monitor: Monitor;
  readonly #encoding: Encoding;
  readonly #socket: Socket;
  readonly #handlers = new Map<string, (data: unknown) => void>();
  #other: (message: unknown) => void = () => {};
  #onEnd: (fault: Fault | undefined) => void = () => {};
  /** Messages sent. */
  #count = 0;
  /** What takes the last message back. */
  #undo: () => void = () => {};
  #asked: Asked | undefined;
  /** Whoever wants to say something waits for this. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Why it has ended. */
  #fault: Fault | undefined;
  #hasEnded = false;
  readonly #opened: Promise<void>;

  constructor(protocol: Protocol, url: string, { encoding = "msgpack", token, webSocket }: Options = {}) {
    this.#protocol = protocol;
    this.#monitor = new Monitor(protocol);
    this.#encoding = encoding;
    const { name, version } = protocol.schema;
    const offered = [`${name}.${version}.${encoding}`];
    if (token !== undefined) offered.push(`bearer.${token}`);
    const WebSocket = webSocket ?? (globalThis as { WebSocket?: Options["webSocket"] }).WebSocket;
    if (!WebSocket) throw new Fault({ code: "network", text: "there is no WebSocket here: give one as options.webSocket" });
    this.#socket = new WebSocket(url, offered) as Socket;
    this.#socket.binaryType = "arraybuffer";
    this.#opened = new Promise((resolve, reject) => {
      this.#socket.onopen = () => resolve();
      this.#socket.onerror = () => reject(new Fault({ code: "network", text: `${url}: the socket does not open, or fails` }));
    });
    this.#opened.catch(() => {});
    this.#socket.onmessage = (event: { data: string | ArrayBuffer }) => this.#received(event.data);
    this.#socket.onclose = (event: { code: number }) => this.#closed(event.code);
  }

  /** Waits until a client is open. */
  static async open<C extends Client>(client: C): Promise<C> {
    await (client as Client).#opened;
    return client;
  }

  /** The state's name. */
  get state(): string {
    return this.#monitor.state.name;
  }

  /** Ends the conversation without saying so. */
  close(): void {
    this.#socket.close(1000);
  }

  /** Calls `heard` when it has ended: with why, if not as the protocol says. */
  onEnd(heard: (fault: Fault | undefined) => void): void {
    this.#onEnd = heard;
    if (this.#hasEnded) heard(this.#fault);
  }

  /** Calls `heard` for each message of this name. */
  protected on(word: string, heard: (data: unknown) => void): void {
    this.#handlers.set(word, heard);
  }

  /** Calls `heard` for messages without a handler. */
  protected onOther(heard: (message: unknown) => void): void {
    this.#other = heard;
  }

  /** Says something that has no answer. */
  protected say(word: string, data?: unknown): Promise<void> {
    return this.#inTurn(async () => {
      this.#send(word, data);
    });
  }

  /** Says something, and waits for the answer. */
  protected ask(word: string, data?: unknown): Promise<unknown> {
    return this.#inTurn(
      () =>
        new Promise((resolve, reject) => {
          const undo = this.#send(word, data);
          this.#asked = { number: this.#count, undo, resolve, reject };
        }),
    );
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => {});
    return result;
  }

  #send(word: string, data: unknown): () => void {
    if (this.#hasEnded) throw this.#fault ?? new Fault({ code: "closed", text: "the conversation has ended" });
    const undo = this.#monitor.step(word, 0);
    try {
      const message = data === undefined ? word : { [word]: data };
      this.#socket.send(encode(this.#protocol, message, this.#encoding));
    } catch (error) {
      undo();
      throw error;
    }
    this.#count += 1;
    this.#undo = undo;
    return undo;
  }

  #received(data: string | ArrayBuffer): void {
    try {
      const message = decode(this.#protocol, typeof data === "string" ? data : new Uint8Array(data), this.#encoding);
      if (message instanceof Fault) this.#refused(message);
      else this.#heard(message);
    } catch (error) {
      this.#fail(new Fault({ code: error instanceof Violation ? "state" : "decode", text: (error as Error).message }));
    }
  }

  #heard(message: unknown): void {
    const word = typeof message === "string" ? message : Object.keys(message as object)[0]!;
    const data = typeof message === "string" ? undefined : (message as Record<string, unknown>)[word];
    const asked = this.#asked;
    const wasAsked = this.#monitor.state.asked;
    if (!this.#isAllowed(word)) {
      // On its way when this end went on: of a stream, one knows that.
      if (this.#isStream(word)) return;
    }
    this.#monitor.step(word, 1);
    if (wasAsked && asked) {
      this.#asked = undefined;
      asked.resolve(data);
      return;
    }
    const handler = this.#handlers.get(word);
    if (handler) handler(data);
    else this.#other(message);
  }

  #isAllowed(word: string): boolean {
    const index = this.#protocol.words.findIndex((one) => one.name === word && one.from === 1);
    return this.#monitor.state.next[index] != null;
  }

  /** Whether it is said by the other end in a state that it does not leave. */
  #isStream(word: string): boolean {
    const index = this.#protocol.words.findIndex((one) => one.name === word && one.from === 1);
    return this.#protocol.states.some((state, number) => state.next[index] === number);
  }

  /** A message was refused; where the gateway goes on, so does this end, as if it had not been said. */
  #refused(fault: Fault): void {
    const goesOn = ["decode", "encoding", "state"].includes(fault.code) && fault.number === this.#count;
    if (!goesOn) return this.#fail(fault);
    this.#undo();
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) asked.reject(fault);
    else this.#fail(fault);
  }

  #fail(fault: Fault): void {
    this.#fault ??= fault;
    this.#end();
    this.#socket.close(1000);
  }

  #closed(code: number): void {
    if (!this.#monitor.hasEnded && !this.#hasEnded) {
      this.#fault ??= new Fault({ code: "closed", text: `state '${this.state}': the socket was closed with code ${code}` });
    }
    this.#end();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const fault = this.#fault;
    this.#asked?.reject(fault ?? new Fault({ code: "closed", text: "the conversation has ended" }));
    this.#asked = undefined;
    this.#onEnd(fault);
  }
}

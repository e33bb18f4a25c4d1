/** A protocol as data, and where a conversation is in it. */

/** A type, as `actinium_wire::schema::Type` says it. */
export type Type =
  | string
  | { numbers: Type }
  | { option: Type }
  | { list: Type }
  | { map: [Type, Type] }
  | { tuple: Type[] }
  | { named: string };

export interface Field {
  name: string;
  default?: boolean;
  of: Type;
}

export type Shape =
  | "unit"
  | { newtype: Type }
  | { tuple: Type[] }
  | { struct: Field[] }
  | { enum: Variant[] };

export interface Variant {
  name: string;
  shape: Shape;
}

export interface Schema {
  name: string;
  version: number;
  root: Type;
  types: { name: string; shape: Shape }[];
}

export interface State {
  name: string;
  within_ms: number | null;
  asked: boolean;
  next: (number | null)[];
}

/** What is said, by whom (the client is 0), and when: what a generated module has as `PROTOCOL`. */
export interface Protocol {
  schema: Schema;
  parties: [string, string];
  states: State[];
  words: { name: string; from: number }[];
}

/** A message that the state does not allow; it was not sent. */
export class Violation extends Error {
  constructor(protocol: Protocol, state: State, found: string, from: number) {
    const { words, parties, schema } = protocol;
    const fits = words.filter((word, index) => word.from === from && state.next[index] != null);
    const allowed = fits.map((word) => word.name).join(", ") || "nothing";
    super(`${schema.name}, state '${state.name}': expected ${allowed} from the ${parties[from]}, found ${found}`);
    this.name = "Violation";
  }
}

/** Where a conversation is. */
export class Monitor {
  #state = 0;

  constructor(readonly protocol: Protocol) {}

  /** The state. */
  get state(): State {
    return this.protocol.states[this.#state]!;
  }

  get hasEnded(): boolean {
    return this.#state + 1 === this.protocol.states.length;
  }

  /** Goes on by a message; an error, if the state does not allow it. Gives what takes it back. */
  step(word: string, from: number): () => void {
    const index = this.protocol.words.findIndex((one) => one.name === word && one.from === from);
    const next = this.state.next[index];
    if (next == null) throw new Violation(this.protocol, this.state, word, from);
    const before = this.#state;
    this.#state = next;
    return () => {
      this.#state = before;
    };
  }
}

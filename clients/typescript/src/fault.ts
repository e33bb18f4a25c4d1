/** What the gateway says when something is wrong. */

export interface Described {
  code: string;
  text: string;
  message?: number | null;
}

/** Something was wrong, as the gateway saw it, or (`closed`, `network`) as this end did. */
export class Fault extends Error {
  readonly code: string;
  /** Which of this end's messages is to blame: the first is 1. */
  readonly number: number | undefined;

  constructor({ code, text, message }: Described) {
    super(text);
    this.name = "Fault";
    this.code = code;
    this.number = message ?? undefined;
  }

  /** The fault that a value is, if it is one. */
  static of(value: unknown): Fault | undefined {
    const error = (value as { error?: Described } | null)?.error;
    return typeof error?.code === "string" && typeof error.text === "string" ? new Fault(error) : undefined;
  }
}

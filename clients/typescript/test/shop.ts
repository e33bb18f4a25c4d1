// The protocol Shop, version 2: made by `actinium wire typescript`. Do not edit.

import { type CallOptions, Client, type Options, type Protocol, post as postMessage } from "actinium-client";

export type Message =
  | { Place: Order }
  | { Billed: Bill }
  | { Mirror: Sample }
  | { Mirrored: Sample }
  | { Watch: string }
  | "Bye"
  | { Price: number }
  | "Stop";

export interface Order {
  customer: string;
  items: Array<Item>;
  wish: Wish;
  note?: string | null;
}

export interface Item {
  article: string;
  count: number;
}

export type Wish =
  | "Nothing"
  | { Discount: number }
  | { Between: { from: number; to: number } }
  | { Gift: [string, number] };

export interface Bill {
  number: number;
  lines: Record<string, number>;
  total: number;
}

export interface Sample {
  values: Float64Array;
  small: Int16Array;
  raw: Uint8Array;
  letter: string;
  pair: [number, number];
  good: boolean;
  names: Record<string, number>;
  more: Array<number | null>;
}

/** The protocol as data. */
export const PROTOCOL: Protocol = {
  "schema": {
    "name": "Shop",
    "version": 2,
    "root": {
      "named": "Message"
    },
    "types": [
      {
        "name": "Message",
        "shape": {
          "enum": [
            {
              "name": "Place",
              "shape": {
                "newtype": {
                  "named": "Order"
                }
              }
            },
            {
              "name": "Billed",
              "shape": {
                "newtype": {
                  "named": "Bill"
                }
              }
            },
            {
              "name": "Mirror",
              "shape": {
                "newtype": {
                  "named": "Sample"
                }
              }
            },
            {
              "name": "Mirrored",
              "shape": {
                "newtype": {
                  "named": "Sample"
                }
              }
            },
            {
              "name": "Watch",
              "shape": {
                "newtype": "string"
              }
            },
            {
              "name": "Bye",
              "shape": "unit"
            },
            {
              "name": "Price",
              "shape": {
                "newtype": "f64"
              }
            },
            {
              "name": "Stop",
              "shape": "unit"
            }
          ]
        }
      },
      {
        "name": "Order",
        "shape": {
          "struct": [
            {
              "name": "customer",
              "default": false,
              "of": "string"
            },
            {
              "name": "items",
              "default": false,
              "of": {
                "list": {
                  "named": "Item"
                }
              }
            },
            {
              "name": "wish",
              "default": false,
              "of": {
                "named": "Wish"
              }
            },
            {
              "name": "note",
              "default": true,
              "of": {
                "option": "string"
              }
            }
          ]
        }
      },
      {
        "name": "Item",
        "shape": {
          "struct": [
            {
              "name": "article",
              "default": false,
              "of": "string"
            },
            {
              "name": "count",
              "default": false,
              "of": "u32"
            }
          ]
        }
      },
      {
        "name": "Wish",
        "shape": {
          "enum": [
            {
              "name": "Nothing",
              "shape": "unit"
            },
            {
              "name": "Discount",
              "shape": {
                "newtype": "f64"
              }
            },
            {
              "name": "Between",
              "shape": {
                "struct": [
                  {
                    "name": "from",
                    "default": false,
                    "of": "u8"
                  },
                  {
                    "name": "to",
                    "default": false,
                    "of": "u8"
                  }
                ]
              }
            },
            {
              "name": "Gift",
              "shape": {
                "tuple": [
                  "string",
                  "u16"
                ]
              }
            }
          ]
        }
      },
      {
        "name": "Bill",
        "shape": {
          "struct": [
            {
              "name": "number",
              "default": false,
              "of": "u64"
            },
            {
              "name": "lines",
              "default": false,
              "of": {
                "map": [
                  "string",
                  "f64"
                ]
              }
            },
            {
              "name": "total",
              "default": false,
              "of": "f64"
            }
          ]
        }
      },
      {
        "name": "Sample",
        "shape": {
          "struct": [
            {
              "name": "values",
              "default": false,
              "of": {
                "numbers": "f64"
              }
            },
            {
              "name": "small",
              "default": false,
              "of": {
                "numbers": "i16"
              }
            },
            {
              "name": "raw",
              "default": false,
              "of": "bytes"
            },
            {
              "name": "letter",
              "default": false,
              "of": "char"
            },
            {
              "name": "pair",
              "default": false,
              "of": {
                "tuple": [
                  "i64",
                  "f32"
                ]
              }
            },
            {
              "name": "good",
              "default": false,
              "of": "bool"
            },
            {
              "name": "names",
              "default": false,
              "of": {
                "map": [
                  "string",
                  "i8"
                ]
              }
            },
            {
              "name": "more",
              "default": false,
              "of": {
                "list": {
                  "option": "f64"
                }
              }
            }
          ]
        }
      }
    ]
  },
  "parties": [
    "client",
    "server"
  ],
  "states": [
    {
      "name": "Idle",
      "within_ms": null,
      "asked": false,
      "next": [
        2,
        null,
        3,
        null,
        1,
        4,
        null,
        null
      ]
    },
    {
      "name": "Watching",
      "within_ms": null,
      "asked": false,
      "next": [
        null,
        null,
        null,
        null,
        null,
        null,
        1,
        0
      ]
    },
    {
      "name": "Idle, Place asked",
      "within_ms": null,
      "asked": true,
      "next": [
        null,
        0,
        null,
        null,
        null,
        null,
        null,
        null
      ]
    },
    {
      "name": "Idle, Mirror asked",
      "within_ms": null,
      "asked": true,
      "next": [
        null,
        null,
        null,
        0,
        null,
        null,
        null,
        null
      ]
    },
    {
      "name": "end",
      "within_ms": null,
      "asked": false,
      "next": [
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null
      ]
    }
  ],
  "words": [
    {
      "name": "Place",
      "from": 0
    },
    {
      "name": "Billed",
      "from": 1
    },
    {
      "name": "Mirror",
      "from": 0
    },
    {
      "name": "Mirrored",
      "from": 1
    },
    {
      "name": "Watch",
      "from": 0
    },
    {
      "name": "Bye",
      "from": 0
    },
    {
      "name": "Price",
      "from": 1
    },
    {
      "name": "Stop",
      "from": 0
    }
  ]
};

/** The client's end of Shop, by WebSocket. */
export class Shop extends Client {
  /** Opens a conversation with the server. */
  static connect(url: string, options?: Options): Promise<Shop> {
    return Client.open(new Shop(PROTOCOL, url, options));
  }

  /** Calls `heard` for what the server says that is no answer and has no other handler. */
  onMessage(heard: (message: Message) => void): void {
    this.onOther(heard as (message: unknown) => void);
  }

  /** Asks `Place`, and waits for `Billed`. */
  place(data: Order): Promise<Bill> {
    return this.ask("Place", data) as Promise<Bill>;
  }

  /** Asks `Mirror`, and waits for `Mirrored`. */
  mirror(data: Sample): Promise<Sample> {
    return this.ask("Mirror", data) as Promise<Sample>;
  }

  /** Says `Watch`. */
  watch(data: string): Promise<void> {
    return this.say("Watch", data);
  }

  /** Says `Bye`. */
  bye(): Promise<void> {
    return this.say("Bye");
  }

  /** Calls `heard` for each `Price`. */
  onPrice(heard: (data: number) => void): void {
    this.on("Price", heard as (data: unknown) => void);
  }

  /** Says `Stop`. */
  stop(): Promise<void> {
    return this.say("Stop");
  }
}

/** Says one message by HTTP, from the first state; gives the answer, if it is a request. */
export async function post(url: string, message: Message, options?: CallOptions): Promise<Message | undefined> {
  return (await postMessage(PROTOCOL, url, message, options)) as Message | undefined;
}

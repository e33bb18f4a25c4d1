/**
 * How bytes stand for a message: JSON, or MessagePack. Both go by the protocol's types, because neither JSON nor JavaScript tells all of them apart:
 * bytes are hexadecimal digits in JSON, NaN and the infinities are strings there, and 64-bit integers are not all of JavaScript's numbers.
 */
import { decode as unpack, encode as pack } from "@msgpack/msgpack";
import { Fault } from "./fault.js";
import type { Field, Protocol, Schema, Shape, Type } from "./protocol.js";

export type Encoding = "json" | "msgpack";

/** A message as a frame of a socket, or the body of a request. */
export function encode(protocol: Protocol, message: unknown, encoding: Encoding): string | Uint8Array<ArrayBuffer> {
  const walk = new Walk(protocol.schema, encoding, "out");
  const plain = walk.value(message, protocol.schema.root, "message");
  return encoding === "json" ? JSON.stringify(plain) : new Uint8Array(pack(plain, { ignoreUndefined: true }));
}

/** The message that a frame or a body is; a fault, if it is one. */
export function decode(protocol: Protocol, data: string | Uint8Array, encoding: Encoding): unknown {
  let plain: unknown;
  if (encoding === "json") {
    plain = JSON.parse(typeof data === "string" ? data : new TextDecoder("utf-8", { fatal: true }).decode(data));
  } else if (typeof data === "string") {
    throw new TypeError("expected a binary frame, found a text frame");
  } else {
    plain = unpack(data);
  }
  return Fault.of(plain) ?? new Walk(protocol.schema, encoding, "in").value(plain, protocol.schema.root, "message");
}

const ARRAYS = {
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;
type Scalar = keyof typeof ARRAYS;

const RANGES: Record<string, [number, number]> = {
  i8: [-(2 ** 7), 2 ** 7 - 1],
  i16: [-(2 ** 15), 2 ** 15 - 1],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  u8: [0, 2 ** 8 - 1],
  u16: [0, 2 ** 16 - 1],
  u32: [0, 2 ** 32 - 1],
  u64: [0, Number.MAX_SAFE_INTEGER],
};

/** Walks along a value and its type, from JavaScript's values to those that the encoding has, or back. */
class Walk {
  constructor(
    readonly schema: Schema,
    readonly encoding: Encoding,
    readonly way: "in" | "out",
  ) {}

  value(value: unknown, of: Type, place: string): unknown {
    if (typeof of === "string") return this.#plain(value, of, place);
    if ("option" in of) return value == null ? null : this.value(value, of.option, place);
    if ("list" in of) return list(value, place).map((one, index) => this.value(one, of.list, `${place}[${index}]`));
    if ("tuple" in of) return this.#tuple(value, of.tuple, place);
    if ("map" in of) {
      const entries = Object.entries(object(value, place));
      return fromEntries(entries.map(([key, one]) => [key, this.value(one, of.map[1], `${place}.${key}`)]));
    }
    if ("numbers" in of) return this.#numbers(value, of.numbers as Scalar, place);
    const named = this.schema.types.find((one) => one.name === of.named);
    if (!named) throw new TypeError(`${place}: the protocol has no type ${of.named}`);
    return this.#shape(value, named.shape, place);
  }

  #shape(value: unknown, shape: Shape, place: string): unknown {
    if (shape === "unit") return null;
    if ("newtype" in shape) return this.value(value, shape.newtype, place);
    if ("tuple" in shape) return this.#tuple(value, shape.tuple, place);
    if ("struct" in shape) return this.#struct(value, shape.struct, place);
    const isWord = typeof value === "string";
    const name = isWord ? value : Object.keys(object(value, place))[0];
    const variant = shape.enum.find((one) => one.name === name);
    if (!variant || isWord !== (variant.shape === "unit")) {
      const allowed = shape.enum.map((one) => (one.shape === "unit" ? `"${one.name}"` : `{ ${one.name} }`));
      throw wrong(place, allowed.join(" or "), value);
    }
    if (isWord) return value;
    return { [variant.name]: this.#shape((value as Record<string, unknown>)[variant.name], variant.shape, `${place}.${name}`) };
  }

  #struct(value: unknown, fields: Field[], place: string): unknown {
    const found = object(value, place);
    const entries: [string, unknown][] = [];
    for (const field of fields) {
      const one = Object.hasOwn(found, field.name) ? found[field.name] : undefined;
      const isOption = typeof field.of === "object" && "option" in field.of;
      if (one === undefined && (field.default || isOption)) continue;
      entries.push([field.name, this.value(one, field.of, `${place}.${field.name}`)]);
    }
    return fromEntries(entries);
  }

  #tuple(value: unknown, types: Type[], place: string): unknown {
    const found = list(value, place);
    if (found.length !== types.length) throw wrong(place, `${types.length} values`, value);
    return types.map((of, index) => this.value(found[index], of, `${place}[${index}]`));
  }

  #plain(value: unknown, of: string, place: string): unknown {
    const range = RANGES[of];
    if (range) {
      const fits = Number.isInteger(value) && (value as number) >= range[0] && (value as number) <= range[1];
      if (!fits) throw wrong(place, `an integer from ${range[0]} to ${range[1]}`, value);
      return value;
    }
    switch (of) {
      case "f32":
      case "f64":
        return this.#float(value, place);
      case "bool":
        if (typeof value !== "boolean") throw wrong(place, "true or false", value);
        return value;
      case "char":
        if (typeof value !== "string" || [...value].length !== 1) throw wrong(place, "one character", value);
        return value;
      case "string":
        if (typeof value !== "string") throw wrong(place, "a string", value);
        return value;
      case "unit":
        return null;
      case "bytes":
        return this.#bytes(value, place);
      default:
        throw new TypeError(`${place}: the type ${of} is not known here`);
    }
  }

  #float(value: unknown, place: string): unknown {
    if (this.encoding === "msgpack") {
      if (typeof value !== "number") throw wrong(place, "a number", value);
      return value;
    }
    if (this.way === "out") {
      if (typeof value !== "number") throw wrong(place, "a number", value);
      if (Number.isFinite(value)) return value;
      return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
    }
    const words: Record<string, number> = { NaN: NaN, inf: Infinity, "-inf": -Infinity };
    const found = typeof value === "string" ? words[value] : value;
    if (typeof found !== "number") throw wrong(place, "a number", value);
    return found;
  }

  #bytes(value: unknown, place: string): unknown {
    if (this.encoding === "json" && this.way === "in") {
      if (typeof value !== "string" || value.length % 2 !== 0 || /[^0-9a-f]/i.test(value)) {
        throw wrong(place, "hexadecimal digits, two a byte", value);
      }
      return Uint8Array.from({ length: value.length / 2 }, (_, index) => parseInt(value.slice(2 * index, 2 * index + 2), 16));
    }
    if (!(value instanceof Uint8Array)) throw wrong(place, "a Uint8Array", value);
    if (this.encoding === "msgpack") return value;
    return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  #numbers(value: unknown, of: Scalar, place: string): unknown {
    const Numbers = ARRAYS[of];
    const isBig = of === "i64" || of === "u64";
    if (this.way === "out") {
      if (!(value instanceof Numbers)) throw wrong(place, `a ${Numbers.name}`, value);
      if (this.encoding === "msgpack") {
        return swapped(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), Numbers.BYTES_PER_ELEMENT);
      }
      return Array.from(value as ArrayLike<number | bigint>, (one) => {
        if (!isBig) return this.#float(one, place);
        const number = Number(one);
        if (!Number.isSafeInteger(number)) throw wrong(place, "integers that JSON's numbers hold (use MessagePack)", one);
        return number;
      });
    }
    if (this.encoding === "msgpack") {
      if (!(value instanceof Uint8Array) || value.byteLength % Numbers.BYTES_PER_ELEMENT !== 0) {
        throw wrong(place, `bytes, ${Numbers.BYTES_PER_ELEMENT} a number`, value);
      }
      // A copy, which begins where numbers may begin.
      return new Numbers(swapped(value.slice(), Numbers.BYTES_PER_ELEMENT).buffer as ArrayBuffer);
    }
    const found = list(value, place);
    if (isBig) {
      const big = found.map((one) => {
        if (!Number.isSafeInteger(one)) throw wrong(place, "integers that JSON's numbers hold (use MessagePack)", one);
        return BigInt(one as number);
      });
      return new (Numbers as BigInt64ArrayConstructor)(big);
    }
    const numbers = found.map((one) => this.#float(one, place) as number);
    return new (Numbers as Float64ArrayConstructor)(numbers);
  }
}

const IS_LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Numbers travel in little-endian order. */
function swapped(bytes: Uint8Array, size: number): Uint8Array {
  if (IS_LITTLE || size === 1) return bytes;
  const out = new Uint8Array(bytes.length);
  for (let index = 0; index < bytes.length; index++) {
    out[index] = bytes[index - (index % size) + size - 1 - (index % size)]!;
  }
  return out;
}

function list(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw wrong(place, "a list", value);
  return value;
}

function object(value: unknown, place: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(place, "an object", value);
  return value as Record<string, unknown>;
}

/** Also with a key `__proto__`. */
function fromEntries(entries: [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(entries);
}

function wrong(place: string, expected: string, found: unknown): TypeError {
  let shown: string;
  try {
    shown = typeof found === "bigint" ? `${found}` : (JSON.stringify(found) ?? String(found));
  } catch {
    shown = typeof found;
  }
  return new TypeError(`${place}: expected ${expected}, found ${shown.slice(0, 80)}`);
}

/** One conversation with the shop of the gateway's example: the same in Node and in a browser, in each encoding. */
import { type CallOptions, Fault, type Options, Violation } from "actinium-client";
import { type Order, type Sample, Shop, post } from "./shop.js";

const ORDER: Order = {
  customer: "Ada \u{1F41D}",
  items: [
    { article: "cog", count: 3 },
    { article: "lever", count: 4294967295 },
  ],
  wish: { Discount: 50 },
};

export const SAMPLE: Sample = {
  values: Float64Array.of(0.1, 2.5, 1e300, 5e-324, Infinity, NaN),
  small: Int16Array.of(-32768, 0, 32767),
  raw: Uint8Array.of(0, 1, 254, 255),
  letter: "\u{1F41D}",
  pair: [-9007199254740991, 0.5],
  good: true,
  names: { one: 1, __proto__x: -128 },
  more: [null, 1.5, -Infinity, NaN, 3],
};

function same(found: unknown, expected: unknown, place: string): void {
  if (Object.is(found, expected)) return;
  if (ArrayBuffer.isView(expected) && ArrayBuffer.isView(found)) {
    if (found.constructor !== expected.constructor) throw new Error(`${place}: another kind of array`);
    return same(Array.from(found as Uint8Array), Array.from(expected as Uint8Array), place);
  }
  if (typeof expected === "object" && expected !== null && typeof found === "object" && found !== null) {
    const [a, b] = [found as Record<string, unknown>, expected as Record<string, unknown>];
    same(Object.keys(a).sort().join(), Object.keys(b).sort().join(), `${place}'s keys`);
    for (const key of Object.keys(b)) same(a[key], b[key], `${place}.${key}`);
    return;
  }
  throw new Error(`${place}: expected ${String(expected)}, found ${String(found)}`);
}

async function fails(what: Promise<unknown>, part: string): Promise<Error> {
  try {
    await what;
  } catch (error) {
    if (!(error as Error).message.includes(part)) throw new Error(`expected '${part}' in '${(error as Error).message}'`);
    return error as Error;
  }
  throw new Error(`expected an error with '${part}', found none`);
}

/** Throws, if anything is not as it should be. */
export async function converse(url: string, options: Options & CallOptions): Promise<void> {
  const shop = await Shop.connect(url.replace("http", "ws"), options);
  const ended = new Promise<Fault | undefined>((resolve) => shop.onEnd(resolve));

  const bill = await shop.place(ORDER);
  same(bill.lines, { cog: 9, lever: 5 * 4294967295 }, "the lines");
  same(bill.total, (9 + 5 * 4294967295) / 2, "the total");
  // Two at once: the second waits its turn.
  const [first, second] = await Promise.all([shop.place(ORDER), shop.place({ ...ORDER, note: "soon" })]);
  same(second.number - first.number, 1, "the numbers");

  same(await shop.mirror(SAMPLE), SAMPLE, "the sample");

  // What is not as its type says does not go out, and nothing is changed by it.
  const wrong = { ...ORDER, items: [{ article: "cog", count: -1 }] };
  await fails(shop.place(wrong), "message.Place.items[0].count: expected an integer from 0 to 4294967295, found -1");
  const none = { ...ORDER, wish: { Dicsount: 1 } } as unknown as Order;
  await fails(shop.place(none), 'message.Place.wish: expected "Nothing" or { Discount } or { Between } or { Gift }, found {"Dicsount":1}');
  const early = await fails(shop.stop(), "Shop, state 'Idle': expected Place, Mirror, Watch, Bye from the client, found Stop");
  if (!(early instanceof Violation)) throw new Error("expected a violation");

  const prices: number[] = [];
  const enough = new Promise<void>((resolve) =>
    shop.onPrice((price) => {
      prices.push(price);
      if (prices.length === 500) resolve();
    }),
  );
  await shop.watch("cog");
  await enough;
  same(prices.slice(0, 4).join(), "0,0.25,0.5,0.75", "the prices");
  same(shop.state, "Watching", "the state");
  // Prices that are on their way now are passed over.
  await shop.stop();
  same((await shop.place(ORDER)).total, bill.total, "the total after the prices");
  await shop.bye();
  const end = await ended;
  if (end) throw end;
  await fails(shop.place(ORDER), "the conversation has ended");

  // By HTTP.
  const http = url.replace("ws", "http");
  const answer = await post(http, { Place: ORDER }, options);
  if (typeof answer !== "object" || !("Billed" in answer)) throw new Error("expected a bill");
  same(answer.Billed.total, bill.total, "the total by HTTP");
  same(await post(http, { Watch: "cog" }, options), undefined, "what a signal gives");
  await fails(post(http, "Stop", options), "Shop, state 'Idle': expected");
  await fails(post(http, { Place: ORDER }, { ...options, token: "wrong" }), "the token is not one of those that are allowed");
  await fails(Shop.connect(url.replace("http", "ws"), { ...options, token: "wrong" }), "the socket does not open, or fails");
}

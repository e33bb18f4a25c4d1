/** The client against a real gateway, in Node and in a real browser. `ACTINIUM_SHOP` is the gateway's example program, `ACTINIUM_CHROMIUM` the browser. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Encoding, type Protocol, decode, encode } from "actinium-client";
import { WebSocket } from "ws";
import { SAMPLE, converse } from "./conversation.js";
import { PROTOCOL } from "./shop.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENCODINGS: Encoding[] = ["json", "msgpack"];
const PROGRAM = process.env["ACTINIUM_SHOP"];
const BROWSER = process.env["ACTINIUM_CHROMIUM"];

let shop: ChildProcess | undefined;
let url = "";
let pages: Server;
let origin = "";
let result: (text: string) => void = () => {};

const TYPES: Record<string, string> = { ".js": "text/javascript", ".mjs": "text/javascript" };

/** What the browser runs. */
function page(): string {
  const imports = { "actinium-client": "/dist/src/index.js", "@msgpack/msgpack": "/node_modules/@msgpack/msgpack/dist.esm/index.mjs" };
  return `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script><script type="module">
    let text = "done";
    try {
      const { converse } = await import("/dist/test/conversation.js");
      for (const encoding of ${JSON.stringify(ENCODINGS)}) await converse("${url}", { encoding, token: "s3cret" });
    } catch (error) { text = String(error.stack ?? error); }
    await fetch("/result", { method: "POST", body: text });
  </script>`;
}

before(async () => {
  pages = createServer(async (request, response) => {
    const path = normalize(request.url ?? "/");
    if (path === "/result") {
      let text = "";
      for await (const part of request) text += part;
      response.end();
      return result(text);
    }
    if (path === "/") return response.setHeader("content-type", "text/html").end(page());
    try {
      response.setHeader("content-type", TYPES[extname(path)] ?? "text/plain").end(await readFile(join(ROOT, path)));
    } catch {
      response.writeHead(404).end();
    }
  }).listen(0, "127.0.0.1");
  await once(pages, "listening");
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  if (!PROGRAM) return;
  shop = spawn(PROGRAM, ["127.0.0.1:0", "--token", "s3cret", "--origin", origin], { stdio: ["pipe", "pipe", "inherit"] });
  [url] = (await once(createInterface(shop.stdout!), "line")) as [string];
});

after(() => {
  // Its standard input ends, and so does it.
  shop?.stdin!.end();
  pages.close();
  pages.closeAllConnections();
});

for (const encoding of ENCODINGS) {
  test(`a conversation in Node, in ${encoding}`, { skip: PROGRAM ? false : "ACTINIUM_SHOP is not set" }, async () => {
    await converse(url, { encoding, token: "s3cret", webSocket: WebSocket });
  });
}

test("a conversation in a browser", { skip: PROGRAM && BROWSER ? false : "ACTINIUM_SHOP and ACTINIUM_CHROMIUM are not set" }, async () => {
  const profile = await mkdtemp(join(tmpdir(), "actinium-client-"));
  const told = new Promise<string>((resolve) => (result = resolve));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${profile}`];
  const browser = spawn(BROWSER!, [...flags, `${origin}/`], { stdio: "ignore" });
  const ended = once(browser, "exit").then(() => "the browser has ended");
  try {
    assert.equal(await Promise.race([told, ended]), "done");
  } finally {
    browser.kill("SIGKILL");
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
});

/** A protocol of one message with this type in it. */
function telling(of: Protocol["schema"]["root"]): Protocol {
  return {
    schema: { name: "Talk", version: 1, root: { named: "Message" }, types: [{ name: "Message", shape: { enum: [{ name: "Tell", shape: { newtype: of } }] } }] },
    parties: ["client", "server"],
    states: [{ name: "Open", within_ms: null, asked: false, next: [0] }],
    words: [{ name: "Tell", from: 0 }],
  };
}

test("what JSON says", () => {
  const text = encode(PROTOCOL, { Mirror: SAMPLE }, "json");
  assert.equal(
    text,
    '{"Mirror":{"values":[0.1,2.5,1e+300,5e-324,"inf","NaN"],"small":[-32768,0,32767],"raw":"0001feff","letter":"\u{1F41D}",' +
      '"pair":[-9007199254740991,0.5],"good":true,"names":{"one":1,"__proto__x":-128},"more":[null,1.5,"-inf","NaN",3]}}',
  );
});

test("big integers keep their digits or are refused", () => {
  const protocol = telling({ numbers: "u64" });
  const most = BigUint64Array.of(2n ** 64n - 1n, 1n);
  assert.deepEqual(decode(protocol, encode(protocol, { Tell: most }, "msgpack"), "msgpack"), { Tell: most });
  assert.throws(() => encode(protocol, { Tell: most }, "json"), /integers that JSON's numbers hold \(use MessagePack\), found 18446744073709551615/);
  const small = BigUint64Array.of(2n ** 53n - 1n);
  assert.deepEqual(decode(protocol, encode(protocol, { Tell: small }, "json"), "json"), { Tell: small });
  assert.throws(() => decode(telling("u64"), '{"Tell":9007199254740993}', "json"), /message\.Tell: expected an integer from 0 to 9007199254740991/);
});

test("what is no message is an error with its place", () => {
  for (const [of, text, expected] of [
    ["f64", '{"Tell":"nan"}', 'message.Tell: expected a number, found "nan"'],
    ["bytes", '{"Tell":"0x"}', "message.Tell: expected hexadecimal digits, two a byte"],
    ["char", '{"Tell":"ab"}', "message.Tell: expected one character"],
    [{ tuple: ["bool", "bool"] }, '{"Tell":[true]}', "message.Tell: expected 2 values, found [true]"],
    [{ list: "bool" }, '{"Tell":[true,1]}', "message.Tell[1]: expected true or false, found 1"],
    ["bool", '{"Told":true}', "message: expected { Tell }"],
    ["bool", "[]", "message: expected an object, found []"],
  ] as [Protocol["schema"]["root"], string, string][]) {
    assert.throws(() => decode(telling(of), text, "json"), (error: Error) => error.message.startsWith(expected));
  }
  assert.throws(() => decode(telling({ numbers: "f64" }), encode(telling("bytes"), { Tell: new Uint8Array(7) }, "msgpack"), "msgpack"), /bytes, 8 a number/);
});

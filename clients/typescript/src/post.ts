/** One message by HTTP. */
import { decode, encode, type Encoding } from "./encoding.js";
import { Fault } from "./fault.js";
import { Monitor, type Protocol } from "./protocol.js";

export interface CallOptions {
  /** `msgpack`, if it is not said. */
  encoding?: Encoding;
  /** Who asks. */
  token?: string;
  signal?: AbortSignal;
}

const TYPES = { json: "application/json", msgpack: "application/msgpack" };

/** Says a message from the protocol's first state; gives the answer, if it is a request. */
export async function post(
  protocol: Protocol,
  url: string,
  message: unknown,
  { encoding = "msgpack", token, signal }: CallOptions = {},
): Promise<unknown> {
  const monitor = new Monitor(protocol);
  monitor.step(typeof message === "string" ? message : (Object.keys(message as object)[0] ?? "nothing"), 0);
  const headers: Record<string, string> = { "content-type": TYPES[encoding] };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  const body = encode(protocol, message, encoding);
  const response = await fetch(url, { method: "POST", headers, body, ...(signal && { signal }) });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.ok && bytes.length === 0) return undefined;
  const kind = response.headers.get("content-type") ?? "";
  const found = Object.entries(TYPES).find(([, type]) => kind.startsWith(type))?.[0] as Encoding | undefined;
  if (!found) throw new Fault({ code: "network", text: `${url}: ${response.status} ${new TextDecoder().decode(bytes)}` });
  const answer = decode(protocol, bytes, found);
  if (answer instanceof Fault) throw answer;
  return answer;
}

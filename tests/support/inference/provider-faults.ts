import { breakOff, openStream, type Script, sendJson, trickle } from "./scripted-provider.ts";

/** A whole answer of status 200. */
export type WholeAnswer = { readonly contentType: string; readonly body: Buffer | string };

/** A fault of a provider that does not depend on the format of its answer. */
type ProviderFault = {
  readonly name: string;
  /** The misbehaving provider; `sound` is the answer that it should give. */
  script(sound: WholeAnswer): Script;
  /** The most calls that the provider may receive. */
  readonly calls?: number;
};

const JSON_TYPE = "application/json";

/** A whole answer in JSON. */
export function jsonAnswer(value: unknown): WholeAnswer {
  return { contentType: JSON_TYPE, body: JSON.stringify(value) };
}

/** Sends a whole answer. */
export function sendWhole({ contentType, body }: WholeAnswer, status = 200, headers = {}): Script {
  return (_, response) =>
    void response.writeHead(status, { "content-type": contentType, ...headers }).end(body);
}

const status =
  (code: number, body: unknown = { error: { message: "no" } }, headers = {}) =>
  (): Script =>
  (_, response) =>
    sendJson(response, code, body, headers);
const raw = (text: string) => (): Script => (_, response) => void response.socket?.end(text);
const page = (code: number) => () => sendWhole({ contentType: "text/html", body: "<h1>hello</h1>" }, code);

/** The request fails by each of these before any of its answer is delivered: another provider is tried. */
export const PROVIDER_FAULTS: readonly ProviderFault[] = [
  { name: "resets the connection", script: () => (_, response) => void response.socket?.resetAndDestroy() },
  { name: "closes without an answer", script: () => (_, response) => void response.destroy() },
  { name: "never answers", script: () => () => {}, calls: 1 },
  {
    name: "sends only the head of its answer",
    script:
      ({ contentType }) =>
      (call, response) => {
        if (call.body.stream) openStream(response).flushHeaders();
        else response.writeHead(200, { "content-type": contentType }).flushHeaders();
      },
    calls: 1,
  },
  { name: "does not speak HTTP", script: raw("SSH-2.0-OpenSSH_9.6\r\n") },
  {
    name: "sends a broken chunk",
    script: raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n"),
  },
  {
    name: "sends 60 KiB of headers",
    script: (sound) => sendWhole(sound, 200, { "x-padding": "x".repeat(61_440) }),
  },
  {
    name: "sends two different lengths",
    script: raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
  },
  { name: "fails with 500", script: status(500), calls: 1 },
  { name: "fails with 502 and a page", script: page(502) },
  { name: "is unavailable", script: status(503) },
  { name: "is overloaded, 529", script: status(529) },
  { name: "is busy and sends Retry-After", script: status(429, {}, { "retry-after": "30" }), calls: 1 },
  { name: "is busy and sends an invalid Retry-After", script: status(429, {}, { "retry-after": "soon" }) },
  { name: "refuses our credential", script: status(401) },
  { name: "is out of funds", script: status(402) },
  { name: "forbids", script: status(403) },
  { name: "does not know the path", script: status(404), calls: 1 },
  {
    name: "does not know the model",
    script: status(400, { error: { message: "no such model", code: "model_not_found" } }),
  },
  { name: "reports a timeout of its own", script: status(408) },
  {
    name: "redirects to metadata",
    script: status(302, {}, { location: "http://169.254.169.254/latest/meta-data" }),
    calls: 1,
  },
  {
    name: "redirects to itself",
    script: () => (call, response) => sendJson(response, 307, {}, { location: call.path }),
    calls: 1,
  },
  { name: "answers 204", script: () => (_, response) => void response.writeHead(204).end() },
  { name: "answers 206", script: (sound) => sendWhole(sound, 206) },
  { name: "answers a page with 200", script: page(200) },
  {
    name: "answers 200 with an empty body",
    script: () => sendWhole({ contentType: JSON_TYPE, body: "" }),
  },
  { name: "answers null", script: status(200, null) },
  { name: "answers a list", script: status(200, [{ id: "1" }]) },
  { name: "answers an error with 200", script: status(200, { error: { message: "overloaded" } }) },
  {
    name: "answers compressed bytes",
    script: (sound) => sendWhole(sound, 200, { "content-encoding": "gzip" }),
  },
  {
    name: "answers truncated JSON",
    script: () => sendWhole({ contentType: JSON_TYPE, body: '{"choices":[{"mess' }),
  },
  {
    name: "announces more bytes than it sends",
    script:
      ({ contentType, body }) =>
      async (_, response) => {
        response.writeHead(200, { "content-type": contentType, "content-length": "500000" });
        await trickle(response, [body]);
        await breakOff(response);
      },
  },
];

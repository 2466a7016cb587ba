import { parseArgs } from "node:util";
import { type Check, checkResuming } from "./resume/checks.ts";
import { TRANSPORTS, type Transport } from "./resume/transports.ts";

/**
 * `npm run contract:resume -- URL`: checks the promises of docs/resumable-subscriptions.md against a server. The
 * defaults are those of zerograph, with a key that may create keys: `--header "authorization: Bearer mk-..."`.
 */
const USAGE = `npm run contract:resume -- URL [--header "name: value"]... [--transports websocket,sse,multipart]
  [--websocket URL] [--sse URL] [--subscription TEXT] [--cause TEXT] [--position TEXT] [--expired-cursor CURSOR]`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    header: { type: "string", multiple: true, default: [] },
    transports: { type: "string", default: TRANSPORTS.join(",") },
    websocket: { type: "string" },
    sse: { type: "string" },
    subscription: {
      type: "string",
      default: "subscription ($after: Cursor) { keyChanged(after: $after) { id cursor } }",
    },
    cause: { type: "string", default: 'mutation { createApiKey(input: { name: "{n}" }) { __typename } }' },
    position: { type: "string", default: "{ eventCursor }" },
    "expired-cursor": { type: "string" },
  },
});
const [url] = positionals;
if (url === undefined) {
  console.error(USAGE);
  process.exit(2);
}
const transports = values.transports.split(",").map((name) => {
  if (!TRANSPORTS.includes(name as Transport)) throw new Error(`${name} is not one of ${TRANSPORTS}`);
  return name as Transport;
});
const checks = await checkResuming({
  url,
  websocketUrl: values.websocket,
  sseUrl: values.sse,
  headers: Object.fromEntries(values.header.map((line) => line.split(/: */, 2))),
  subscription: values.subscription,
  cause: values.cause,
  position: values.position || undefined,
  expiredCursor: values["expired-cursor"],
  transports,
});
for (const check of checks) console.log(toLine(check));
process.exit(checks.some(({ failure }) => failure !== undefined) ? 1 : 0);

function toLine({ promise, transport, failure }: Check): string {
  return `${failure === undefined ? "kept  " : "BROKEN"} ${transport.padEnd(9)} ${promise}${failure === undefined ? "" : `: ${failure}`}`;
}

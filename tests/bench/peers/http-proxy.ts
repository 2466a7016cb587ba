import { once } from "node:events";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { type Dispatcher, Pool } from "undici";

/** The minimal proxy on Node: node:http and undici's `dispatch`, one bearer, bytes passed on unchanged. */
const { PROVIDER_URL = "", BEARER = "" } = process.env;
const pool = new Pool(PROVIDER_URL, { connections: 256 });
const headers = { authorization: `Bearer ${BEARER}`, "content-type": "application/json" };
const path = "/v1/proxy/chat/completions";

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => void parts.push(part));
  request.on("end", () => {
    const [first = Buffer.alloc(0)] = parts;
    const body = parts.length === 1 ? first : Buffer.concat(parts);
    pool.dispatch({ method: "POST", path, headers, body }, passOn(response));
  });
}).listen(0, "127.0.0.1");

function passOn(response: ServerResponse<IncomingMessage>): Dispatcher.DispatchHandler {
  return {
    onRequestStart() {},
    onResponseStart(_, status, { "content-type": type = "", "content-length": length }) {
      const known = length === undefined ? {} : { "content-length": length };
      response.writeHead(status, { "content-type": type, ...known } as OutgoingHttpHeaders);
    },
    onResponseData(_, chunk) {
      response.write(chunk);
    },
    onResponseEnd() {
      response.end();
    },
    onResponseError() {
      response.destroy();
    },
  };
}

await once(server, "listening");
const address = server.address();
if (address === null || typeof address === "string") throw new Error("no port");
console.log(`ready at http://127.0.0.1:${address.port}`);

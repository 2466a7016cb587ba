import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";

/** A provider, in its own thread, whose streams never end: many small events, as fast as they are taken. */
const choices = [{ index: 0, delta: { content: "a" }, finish_reason: null }];
const EVENTS = `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
const PART = Buffer.from(EVENTS.repeat(400));

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  const flood = () => {
    let isTaken = true;
    for (let n = 0; n < 8 && isTaken; n++) isTaken = response.write(PART);
    if (isTaken) setImmediate(flood);
  };
  response.on("drain", flood);
  response.on("error", () => {});
  flood();
}).listen(0, "127.0.0.1", () => parentPort?.postMessage((server.address() as AddressInfo).port));

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { OnEnd } from "../servers/database.ts";

/** A delivery as it arrived; `payload` is its body, `text` before it is parsed. */
export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly payload: {
    readonly type: string;
    readonly sequence: number;
    readonly cursor: string;
    readonly account: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
};

/** Answers a delivery; without one the receiver answers 204. */
export type Answering = (received: Received, response: ServerResponse) => void;

/** A receiver on this machine. */
export type Receiver = {
  readonly url: string;
  readonly received: Received[];
  answer: Answering;
  /** The types of the deliveries, in the order in which they arrived. */
  types(): string[];
};

/** Starts a receiver, until the test is finished. */
export async function startReceiver(onEnd: OnEnd, answer: Answering = accept): Promise<Receiver> {
  const received: Received[] = [];
  const receiver: Receiver = {
    url: "",
    received,
    answer,
    types: () => received.map(({ payload }) => payload.type),
  };
  const server = createServer((request, response) => {
    void read(request).then((text) => {
      const delivery = { headers: request.headers, text, payload: JSON.parse(text) };
      received.push(delivery);
      receiver.answer(delivery, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?from=test`,
  });
}

/** Answers 204. */
export const accept: Answering = (_received, response) => void response.writeHead(204).end();

/** Answers with a status. */
export const answerWith =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (_received, response) =>
    void response.writeHead(status, headers).end();

/** Throws unless the official library accepts the delivery with this secret, as of `at`. */
export function verify({ text, headers }: Received, secret: string): void {
  new Webhook(secret).verify(text, headers as Record<string, string>);
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

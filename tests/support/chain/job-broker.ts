import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { OnEnd } from "../servers/database.ts";

/** The broker's record of one of its jobs. */
type BrokerJob = {
  readonly id: string;
  /** The idempotency key of its submission: the product's job and the attempt. */
  readonly key: string;
  readonly body: Buffer;
  polls: number;
};

/** How a broker answers; `n` counts from 0. By default it works: done at the second poll, with one image. */
export type BrokerScript = {
  submission?(n: number, response: ServerResponse, id: string): Reply | "silent" | undefined;
  poll?(n: number, job: BrokerJob): Reply | "silent" | undefined;
};

export type Reply = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The image of every job: one pixel. */
export const PIXEL = "aGVsbG8gd29ybGQ=";

/** A broker of the chain for image jobs: a real HTTP server on 127.0.0.1 that follows its script. */
export type JobBroker = {
  readonly url: string;
  readonly jobs: BrokerJob[];
  /** The paths and headers of submissions, refused ones too. */
  readonly submissions: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** The number of polls over all jobs. */
  polls: number;
  script: BrokerScript;
};

/** Starts a broker on a free port. */
export async function startJobBroker(onEnd: OnEnd, script: BrokerScript = {}): Promise<JobBroker> {
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const path = (request.url ?? "").split("?")[0] ?? "";
      if (request.method === "POST") {
        const n = broker.submissions.length;
        const id = `broker-${n}`;
        broker.submissions.push({ path, headers: request.headers });
        const said = broker.script.submission?.(n, response, id);
        if (said === "silent") return;
        const accepted = {
          status: 202,
          body: { jobId: id, status: "pending" },
          headers: { "retry-after": "0" },
        };
        const reply = said ?? accepted;
        const key = String(request.headers["idempotency-key"]);
        if (reply.status === 202) broker.jobs.push({ id, key, body: Buffer.concat(parts), polls: 0 });
        send(response, reply);
      } else {
        const job = broker.jobs.find(({ id }) => path.endsWith(`/${id}`));
        broker.polls++;
        const n = job ? job.polls++ : 0;
        const said = job
          ? broker.script.poll?.(n, job)
          : { status: 404, body: { error: "Provider: no such job" } };
        if (said !== "silent") send(response, said ?? (n === 0 ? working(0.5) : done()));
      }
    })().catch(() => response.destroy());
  });
  const broker: JobBroker = { url: "", jobs: [], submissions: [], polls: 0, script };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  Object.assign(broker, { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}` });
  onEnd(async () => {
    server.close();
    server.closeAllConnections();
  });
  return broker;
}

/** The answer to a poll of a running job, with its progress. */
export function working(progress?: number, retryAfter = "0"): Reply {
  return { status: 200, body: { status: "processing", progress }, headers: { "retry-after": retryAfter } };
}

/** The answer to a poll of a job that is done, with so many images. */
export function done(images = 1): Reply {
  const data = { created: 7, data: Array.from({ length: images }, () => ({ b64_json: PIXEL })) };
  return { status: 200, body: { status: "completed", data } };
}

function send(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

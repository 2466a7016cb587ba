import { expect } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { IMAGE_PROVIDER, ROUTER_WALLET } from "../../../src/devnet/chain/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../../src/devnet/chain/actors.ts";
import type { JobBroker } from "../../support/chain/job-broker.ts";
import { rest } from "../../support/clients/rest-client.ts";

/** The only image model, and the price of an image. */
export const MODEL = "test-images";
export const PRICE = 100n;

/** Registers a broker as the only provider of images, and funds it from the router's wallet. */
export async function register(rpcUrl: string, { url }: JobBroker): Promise<void> {
  await registerProvider(rpcUrl, {
    providerKey: IMAGE_PROVIDER.privateKey,
    url,
    model: MODEL,
    inputPrice: 0n,
    outputPrice: PRICE,
    serviceType: "text-to-image",
    verifiability: "TeeML",
    additionalInfo: "{}",
    teeSigner: IMAGE_PROVIDER.address,
  });
  await fundRouterWallet(rpcUrl, { routerKey: ROUTER_WALLET.privateKey, provider: IMAGE_PROVIDER.address });
}

/** Requests an image, and returns the id of the job. */
export async function submit(origin: string, secret: string, prompt: string): Promise<string> {
  const body = { model: MODEL, prompt };
  const reply = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBe(202);
  return reply.body.jobId;
}

/** The progress of a job. */
export async function statusOf(origin: string, secret: string, jobId: string): Promise<string> {
  return (await rest<{ status: string }>(origin, `/v1/async/jobs/${jobId}`, secret)).body.status;
}

/** Expects that each of these jobs was charged once, and that its published steps never went back. */
export async function requireOnce(database: Database, jobIds: readonly string[]): Promise<void> {
  for (const id of jobIds) {
    const [paid] = await database.rows<{ times: number; neuron: string }>(
      `select count(*)::int as times, sum(e.amount)::text as neuron
       from job j join ledger_entry e on e.transfer_id = 'settle:' || j.request_id and e.book = 'revenue'
       where j.id = $1::uuid`,
      [id],
    );
    expect(paid).toEqual({ times: 1, neuron: String(PRICE) });
    const steps = await database.rows<{ sequence: number; status: string }>(
      `select (data ->> 'sequence')::int as sequence, data ->> 'status' as status from outbox
       where topic = 'job.progressed' and data ->> 'jobId' = $1::text order by outbox.id`,
      [id],
    );
    expect(steps.map(({ sequence }) => sequence)).toEqual(steps.map((_, n) => n + 1));
    const order = steps.map(({ status }) => ["pending", "processing", "completed"].indexOf(status));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order.at(-1)).toBe(2);
  }
}

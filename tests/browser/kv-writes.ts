import type { Hex } from "viem";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { ask } from "../support/clients/graph-client.ts";
import { until } from "../support/until.ts";

/** A key and its value: a text, or bytes. */
export type KvWrite = { readonly keyText: string; readonly text?: string; readonly base64?: string };

type Prepared = {
  readonly network: { readonly rpcUrls: readonly string[] };
  readonly prepareKvWrite: {
    readonly upload: {
      readonly root: string;
      readonly transaction: { readonly to: Hex; readonly data: Hex; readonly value: string };
    };
    readonly segments: readonly { readonly index: number; readonly data: string; readonly proof: object }[];
  };
};

const PREPARE = `query ($input: PrepareKvWriteInput!) {
  network { rpcUrls }
  prepareKvWrite(input: $input) {
    upload { root transaction { to data value } }
    segments { index data proof { lemma path } }
  }
}`;

/** Writes to a stream as the demo account: prepares the write, sends its transaction and uploads its segments. */
export async function writeKeys(origin: string, streamId: string, writes: readonly KvWrite[]): Promise<void> {
  const input = { from: DEMO_USER.address, writes: writes.map((write) => ({ streamId, ...write })) };
  const { data } = await ask(origin, undefined, PREPARE, { input });
  const { network, prepareKvWrite } = data as Prepared;
  const { upload, segments } = prepareKvWrite;
  const wallet = await connectDevnet(network.rpcUrls[0] ?? "", DEMO_USER.privateKey);
  const { to, data: call, value } = upload.transaction;
  await mined(wallet, await wallet.sendTransaction({ to, data: call, value: BigInt(value) }));
  for (const segment of segments)
    await until(async () => {
      const response = await fetch(`${origin}/file/segment`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ root: upload.root, ...segment }),
      });
      return response.status === 200;
    });
}

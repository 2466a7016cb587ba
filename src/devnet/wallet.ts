import type { Hex } from "../kernel/hex.ts";
import { DEMO_USER } from "./accounts.ts";
import { connectDevnet, mined } from "./chain-client.ts";

/** The demo user's wallet on the development network, for pages that have none of their own. Its key is public. */
export type DemoWallet = {
  readonly address: Hex;
  sign(text: string): Promise<Hex>;
  send(transaction: { to: string; data: string; value: bigint }): Promise<Hex>;
};

/** Opens it. `send` resolves when the transaction is mined. */
export async function openDemoWallet(rpcUrl: string): Promise<DemoWallet> {
  const client = await connectDevnet(rpcUrl, DEMO_USER.privateKey);
  return {
    address: DEMO_USER.address,
    sign: (text) => client.account.signMessage({ message: text }),
    async send({ to, data, value }) {
      const hash = await client.sendTransaction({ to: to as Hex, data: data as Hex, value });
      await mined(client, hash);
      return hash;
    },
  };
}

import { type Hex, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { connectDevnet, mined } from "../../../src/devnet/chain/chain-client.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { ask, type GraphResult } from "../clients/graph-client.ts";
import type { Stack } from "../stack.ts";

type SetBalance = { Method: "anvil_setBalance"; Parameters: [Hex, Hex]; ReturnType: null };

/** A transaction as the graph prepares it. */
export type Prepared = {
  readonly chainId: number;
  readonly from: Hex | null;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: string;
  readonly warnings: readonly string[];
};

const PREPARED = "{ chainId from to data value warnings }";

/** A new wallet with 1,000 tokens, and a key that may read its account. */
export async function newWalletUser({ app, rpcUrl, origin }: Stack) {
  const privateKey = generatePrivateKey();
  const signer = privateKeyToAccount(privateKey);
  const client = await connectDevnet(rpcUrl, privateKey);
  const params: SetBalance["Parameters"] = [signer.address, toHex(1_000n * 10n ** 18n)];
  await client.request<SetBalance>({ method: "anvil_setBalance", params });
  const { secret } = await app.managementKeys.create(signer.address.toLowerCase(), newId(), ["account:read"]);
  const query = (text: string, variables: object = {}): Promise<GraphResult> =>
    ask(origin, secret, text, variables);
  return {
    privateKey,
    signer,
    address: signer.address,
    secret,
    client,
    ask: query,
    /** A field that prepares a transaction, queried in this wallet's name. */
    async prepare(
      field: string,
      from: Hex | null = signer.address,
    ): Promise<GraphResult & { prepared?: Prepared }> {
      const call = from === null ? field : field.replace(/\)$/, `, from: "${from}")`);
      const result = await query(`{ prepared: ${call} ${PREPARED} }`);
      return result.data?.prepared ? { ...result, prepared: result.data.prepared } : result;
    },
    /** Signs and sends the prepared transaction, as a wallet would, and waits until it is mined. */
    async send({ to, data, value, chainId }: Prepared): Promise<Hex> {
      if (chainId !== client.chain.id) throw new Error(`prepared for chain ${chainId}`);
      return mined(client, await client.sendTransaction({ to, data, value: BigInt(value) }));
    },
  };
}

/** The result of `newWalletUser`. */
export type WalletUser = Awaited<ReturnType<typeof newWalletUser>>;

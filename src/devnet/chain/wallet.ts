import { BaseError, ExecutionRevertedError, InsufficientFundsError } from "viem";
import type { TransferProof } from "../../chain/agents/contracts/transfer-proof.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { DEMO_USER } from "./accounts.ts";
import { proveTransfer, RECEIVERS } from "./agent-proofs.ts";
import { connectDevnet, mined } from "./chain-client.ts";

/**
 * The demo user's wallet on the development network, for browsers without a wallet, and the stand-in oracle of agent
 * tokens. Their keys are public.
 */
export type DemoWallet = {
  readonly address: Hex;
  sign(text: string): Promise<Hex>;
  send(transaction: { to: string; data: string; value: bigint }): Promise<Hex>;
  /** The accounts that `prove` makes proofs for. */
  readonly receivers: readonly Hex[];
  /**
   * Both proofs of a transfer to `to`, for each piece of data. One call is carried out at a time, since signatures take
   * the event loop. Throws what `proveTransfer` throws.
   */
  prove(to: string, dataHashes: readonly string[], signal: AbortSignal): Promise<readonly TransferProof[]>;
};

/**
 * Opens the demo wallet. `send` resolves when the transaction is mined. It throws `contract_refused` if the wallet
 * cannot pay for the transaction or the contract reverts, and `chain_error` if the chain fails.
 */
export async function openDemoWallet(rpcUrl: string): Promise<DemoWallet> {
  const client = await connectDevnet(rpcUrl, DEMO_USER.privateKey);
  let previous: Promise<unknown> = Promise.resolve();
  return {
    address: DEMO_USER.address,
    receivers: RECEIVERS.map(({ address }) => address),
    prove(to, dataHashes, signal) {
      const proofs = previous.then(() => proveTransfer(to, dataHashes, { signal }));
      previous = proofs.catch(() => {});
      return proofs;
    },
    sign: (text) => client.account.signMessage({ message: text }),
    async send({ to, data, value }) {
      const hash = await client
        .sendTransaction({ to: to as Hex, data: data as Hex, value })
        .catch((error: unknown) => {
          throw refusal(error);
        });
      await mined(client, hash);
      return hash;
    },
  };
}

function refusal(cause: unknown): unknown {
  if (!(cause instanceof BaseError)) return cause;
  if (cause.walk((error) => error instanceof InsufficientFundsError))
    return new AppError("contract_refused", "The wallet's balance does not cover the amount and the gas.", {
      cause,
    });
  if (cause.walk((error) => error instanceof ExecutionRevertedError))
    return new AppError("contract_refused", "The contract reverted the transaction.", { cause });
  return new AppError("chain_error", "The chain did not accept the transaction. Try again later.", {
    cause,
  });
}

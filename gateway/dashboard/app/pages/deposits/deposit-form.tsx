import { Button, Group } from "@mantine/core";
import { useFormContext, useWatch } from "react-hook-form";
import * as z from "zod";
import { toNeuron, toUsd } from "../../data/amounts.ts";
import { useNetwork, useSession } from "../../data/session/session.tsx";
import { toastSuccess } from "../../data/toast.ts";
import { useUsdPerToken } from "../../data/token-price.tsx";
import { useWallet } from "../../data/wallet/use-wallet.ts";
import type { WalletChain } from "../../data/wallet/wallet-requests.ts";
import { TextField } from "../../parts/form/fields.tsx";
import { GraphForm } from "../../parts/form/form.tsx";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import { depositCall } from "./deposit-call.ts";

const schema = z.object({
  amount: z.string().transform((text, context) => {
    const neuron = toNeuron(text);
    if (neuron && neuron !== "0") return neuron;
    context.addIssue({ code: "custom", message: "The amount must be a number such as 2.5." });
    return z.NEVER;
  }),
});

/** Deposits with the wallet of a development network; says how to deposit on a real one. */
export function DepositForm({ onSent }: { onSent(): void }) {
  const { address } = useSession();
  const network = useNetwork();
  const wallet = useWallet();
  const vault = network.contracts.find(({ name }) => name === "ROUTER_VAULT")?.address;
  if (!vault) return <EmptyState title="This network has no deposit vault." />;
  if (network.networkId !== "devnet")
    return (
      <Section title="Deposit">
        <p>
          Send {network.symbol} to the gateway's vault <code className="selectable">{vault}</code> with the
          call described in the network's own documentation. Deposits to this account appear below
          automatically.
        </p>
      </Section>
    );
  return (
    <Section title="Deposit">
      <GraphForm
        schema={schema}
        defaultValues={{ amount: "" }}
        label={wallet ? `Deposit with ${wallet.name}` : "Looking for a wallet…"}
        disabled={!wallet}
        isCleared
        send={async ({ amount: value }) => {
          if (!wallet || !address) throw new Error("No wallet was found.");
          const chain = network.walletParameters as WalletChain;
          await wallet.send({ to: vault, data: depositCall(address), value, chain });
          toastSuccess("The deposit is sent. It appears below when its block is seen.");
          onSent();
        }}
      >
        <TextField
          label={`Amount in ${network.symbol}`}
          name="amount"
          inputMode="decimal"
          required
          placeholder="1"
        />
        <Presets symbol={network.symbol} />
      </GraphForm>
    </Section>
  );
}

const PRESETS = ["1", "5", "10", "50"];

/** Amounts for the field above, and what the entered one is in dollars. */
function Presets({ symbol }: { symbol: string }) {
  const { setValue } = useFormContext();
  const entered: string = useWatch({ name: "amount" });
  const usdPerToken = useUsdPerToken();
  const neuron = toNeuron(entered);
  return (
    <Group gap="xs" className="quiet">
      {PRESETS.map((amount) => (
        <Button
          key={amount}
          size="compact-sm"
          variant="default"
          onClick={() => setValue("amount", amount, { shouldValidate: true })}
        >
          {amount} {symbol}
        </Button>
      ))}
      {neuron !== undefined && usdPerToken !== undefined && <output>{toUsd(neuron, usdPerToken)}</output>}
    </Group>
  );
}

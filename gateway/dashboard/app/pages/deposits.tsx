import { useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { toNeuron } from "../amounts.ts";
import { depositCall } from "../deposit-call.ts";
import { graphql } from "../graph.ts";
import { useNetwork, useSession } from "../session.tsx";
import { Field, Form } from "../ui/controls.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Card, Figure, Hash, Live, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";
import { useWallet } from "../ui/use-wallet.tsx";
import type { WalletChain } from "../wallet.ts";

const DEPOSITS = graphql(`
  query Deposits($after: Cursor) {
    viewer {
      account {
        balance { deposit credit available held }
        deposits(first: 20, after: $after) {
          nodes { id amount status confirmations requiredConfirmations transactionHash seenAt creditedAt }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
    network { head { number } }
  }
`);
const SEEN = graphql(
  "subscription DepositsSeen($after: Cursor) { depositChanged(after: $after) { cursor status } }",
);

/** The account's deposits, and how to make one. */
export function DepositsPage() {
  const { network } = useSession();
  const pages = usePages();
  const [{ data, error, fetching }, refetch] = useQuery({
    query: DEPOSITS,
    variables: { after: pages.after },
  });
  const liveness = useLive(SEEN, {}, { onEvent: () => refetch({ requestPolicy: "network-only" }) });
  const account = data?.viewer?.account;
  const link = (hash: string) => network?.explorerUrl && `${network.explorerUrl}/tx/${hash}`;
  return (
    <Page title="Deposits" actions={<Live liveness={liveness} />}>
      <dl className="figures">
        <Figure label="Unspent deposits">
          {account?.balance && <Money neuron={account.balance.deposit} />}
        </Figure>
        <Figure label="Credit">{account?.balance && <Money neuron={account.balance.credit} />}</Figure>
        <Figure label="Available">{account?.balance && <Money neuron={account.balance.available} />}</Figure>
      </dl>
      <DepositCard onSent={() => refetch({ requestPolicy: "network-only" })} />
      <Card title="Deposits received">
        <Outcome rows={account?.deposits?.nodes} error={error} fetching={fetching} empty="No deposits yet.">
          {(rows) => (
            <Table label="Deposits" heads={["Seen", "Amount", "State", "Confirmations", "Transaction"]}>
              {rows.map((deposit) => (
                <tr key={deposit.id}>
                  <td>
                    <Time at={deposit.seenAt} />
                  </td>
                  <td>
                    <Money neuron={deposit.amount} />
                  </td>
                  <td>
                    <Badge state={deposit.status} />
                  </td>
                  <td>
                    <Confirmations of={deposit.confirmations} required={deposit.requiredConfirmations} />
                  </td>
                  <td>
                    {link(deposit.transactionHash) ? (
                      <a href={link(deposit.transactionHash) ?? ""} rel="noreferrer" target="_blank">
                        <Hash of={deposit.transactionHash} />
                      </a>
                    ) : (
                      <Hash of={deposit.transactionHash} />
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Outcome>
        {pages.pager(account?.deposits?.pageInfo)}
      </Card>
    </Page>
  );
}

function Confirmations({ of, required }: { of: number; required: number }) {
  if (required === 0) return <span className="quiet">none required</span>;
  const shown = Math.min(of, required);
  return (
    <>
      <progress value={shown} max={required} aria-label="Confirmations" />{" "}
      <span className="number">
        {shown} of {required}
      </span>
    </>
  );
}

function DepositCard({ onSent }: { onSent(): void }) {
  const { address } = useSession();
  const network = useNetwork();
  const wallet = useWallet();
  const vault = network.contracts.find(({ name }) => name === "ROUTER_VAULT")?.address;
  if (!vault) return <p className="empty">This network has no deposit vault.</p>;
  if (network.networkId !== "devnet")
    return (
      <Card title="Deposit">
        <p>
          Send {network.symbol} to the router's vault <code className="selectable">{vault}</code> with the
          call described in the network's own documentation. Deposits to this account appear below
          automatically.
        </p>
      </Card>
    );
  return (
    <Card title="Deposit">
      <Form
        label={wallet ? `Deposit with ${wallet.name}` : "Looking for a wallet…"}
        send={async (form) => {
          const value = toNeuron(String(form.get("amount")));
          if (!value || value === "0") throw new Error("The amount must be a number such as 2.5.");
          if (!wallet || !address) throw new Error("No wallet was found.");
          const chain = network.walletParameters as WalletChain;
          await wallet.send({ to: vault, data: depositCall(address), value, chain });
          onSent();
        }}
      >
        <Field
          label={`Amount in ${network.symbol}`}
          name="amount"
          inputMode="decimal"
          required
          placeholder="1"
        />
      </Form>
    </Card>
  );
}

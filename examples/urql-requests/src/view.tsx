import type { ReactNode } from "react";

/** What the list is filtered by: null for all. */
export type Filter = { readonly statuses: Status[] | null; readonly modelId: string | null };
type Status = (typeof STATUSES)[number];
type Request = {
  readonly requestId: string;
  readonly createdAt: string;
  readonly modelId: string;
  readonly status: string;
  readonly cost: { readonly total: string } | null | undefined;
};

const STATUSES = ["RUNNING", "COMPLETED", "FAILED", "ABORTED"] as const;
export const ALL: Filter = { statuses: null, modelId: null };

/** The form above the list. */
export function FilterForm({ onFilter }: { onFilter(filter: Filter): void }) {
  const apply = (form: FormData) => {
    const status = STATUSES.find((one) => one === form.get("status"));
    onFilter({ statuses: status ? [status] : null, modelId: String(form.get("model")) || null });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply(new FormData(event.currentTarget));
      }}
    >
      <label>
        Status
        <select name="status">
          <option value="">all</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {status.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <label>
        Model
        <input name="model" placeholder="all" />
      </label>
      <button type="submit">Filter</button>
    </form>
  );
}

type TableProps = {
  readonly requests: readonly Request[];
  readonly isLoading: boolean;
  /** Absent on the last page. */
  readonly onMore: (() => void) | undefined;
};

/** A page of requests, and the button for more. */
export function RequestTable({ requests, isLoading, onMore }: TableProps) {
  return (
    <>
      <table aria-busy={isLoading}>
        <thead>
          <tr>
            {["Time", "Model", "Status", "Neuron"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {requests.map(({ requestId, createdAt, modelId, status, cost }) => (
            <tr key={requestId} id={requestId}>
              <td>{new Date(createdAt).toLocaleTimeString()}</td>
              <td>{modelId}</td>
              <td>{status.toLowerCase()}</td>
              <td>{cost?.total}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {onMore && (
        <button type="button" onClick={onMore} disabled={isLoading}>
          Load more
        </button>
      )}
    </>
  );
}

type LiveProps = {
  readonly balance: { readonly available: string; readonly held: string } | null | undefined;
  /** The request of the latest charge. */
  readonly charged: Request | null | undefined;
};

/** The row that follows the account. */
export function LiveRow({ balance, charged }: LiveProps) {
  return (
    <div className="facts">
      <Fact name="Available">{balance?.available}</Fact>
      <Fact name="Held">{balance?.held}</Fact>
      <Fact name="Latest charge">
        {charged ? `${charged.cost?.total} for ${charged.modelId}` : "none yet"}
      </Fact>
    </div>
  );
}

type OnChainProps = {
  /** In the market of agent tokens. */
  readonly market: string | null | undefined;
  /** In the ledger of the direct path. */
  readonly ledger: string | undefined;
};

/** What the account has elsewhere: it is read from the chain, and arrives after the rest of the page. */
export function OnChain({ market, ledger = "0" }: OnChainProps) {
  return <Fact name="On chain">{market ? `${market} in the market, ${ledger} in the ledger` : "…"}</Fact>;
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <p>
      {name} <output aria-label={name}>{children}</output>
    </p>
  );
}

/** Why something is not on the page. */
export function Problem({ error }: { readonly error: Error | null | undefined }) {
  return error && <p role="alert">{error.message}</p>;
}

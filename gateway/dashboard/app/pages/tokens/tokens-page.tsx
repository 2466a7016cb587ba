import { Button, NativeSelect } from "@mantine/core";
import Bot from "lucide-react/icons/bot";
import { useState } from "react";
import { useQuery } from "urql";
import { useFilters, useList } from "../../data/list/use-list.ts";
import { graphql } from "../../data/query/graph.ts";
import { useSession } from "../../data/session/session.tsx";
import { Page, Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { TypedFilter } from "../../parts/table/typed-filter.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { Live, Pill } from "../../parts/value/state-badge.tsx";
import { Account } from "./account.tsx";
import { MintDialog } from "./actions/mint-dialog.tsx";
import { Inbox } from "./inbox.tsx";
import { shortId, TOKENS, type TokenRow, TRANSFERRED } from "./token-queries.ts";
import type { TokensSearch } from "./tokens-url.ts";
import "./tokens.css";

const CONTRACTS = graphql("query AgentContracts { agentContracts { address generation } }");

/** Agent tokens of the account, or of whom the URL says, and the keys sealed for the account, live. */
export function TokensPage() {
  const { address } = useSession();
  const [isMinting, setMinting] = useState(false);
  const [{ data }] = useQuery({ query: CONTRACTS, requestPolicy: "cache-first" });
  if (!address) return null;
  const contracts = data?.agentContracts ?? [];
  const mintable = contracts.flatMap((one) => (one.generation === "AGENT_NFT" ? [one.address] : []));
  return (
    <Page
      title="Agent tokens"
      about="Agent tokens (ERC-7857) own encrypted data, such as the prompts and the memory of an agent. A transfer hands over the keys, too."
      actions={
        mintable.length > 0 && (
          <Button size="xs" onClick={() => setMinting(true)}>
            Mint a token
          </Button>
        )
      }
    >
      <Tokens address={address} contracts={contracts.map((one) => one.address)} />
      <Inbox address={address} />
      {isMinting && <MintDialog address={address} contracts={mintable} onClose={() => setMinting(false)} />}
    </Page>
  );
}

const COLUMNS: readonly Column<TokenRow>[] = [
  { id: "token", name: "Token", cell: ({ tokenId }) => `#${shortId(tokenId)}` },
  { id: "data", name: "Data", cell: (token) => <Data of={token} /> },
  { id: "owner", name: "Owner", cell: ({ owner }) => owner && <Account of={owner.address} /> },
  {
    id: "users",
    name: "May use it",
    cell: ({ authorizedUsers: { length } }) =>
      length === 0 ? (
        <span className="quiet">owner only</span>
      ) : (
        `owner and ${length} ${length === 1 ? "account" : "accounts"}`
      ),
  },
  { id: "block", name: "Acquired in block", isNumber: true, cell: ({ blockNumber }) => blockNumber },
];
/** Where there are several. */
const WITH_CONTRACT: readonly Column<TokenRow>[] = [
  ...COLUMNS,
  { id: "contract", name: "Contract", cell: ({ contract }) => <Hash of={contract} withCopy /> },
];

function Data({ of: { data, movedWithoutKey } }: { of: TokenRow }) {
  const [first, ...rest] = data;
  if (!first) return <span className="quiet">none</span>;
  return (
    <span className="two-lines token-data">
      {first.description || <Hash of={first.dataHash} />}
      {rest.length > 0 && <small>and {rest.length} more</small>}
      {movedWithoutKey && (
        <small>
          <Pill tone="bad">transferred without its key</Pill>
        </small>
      )}
    </span>
  );
}

function Tokens({ address, contracts }: { address: string; contracts: readonly string[] }) {
  const [search, filter] = useFilters<TokensSearch>();
  const owner = search.owner ?? address;
  const { contract } = search;
  const list = useList({
    query: TOKENS,
    variables: { filter: { owner: owner === "any" ? null : owner, contract: contract ?? null } },
    pick: ({ agentTokens }) => agentTokens,
    changes: TRANSFERRED,
    changeVariables: contract ? { contract } : {},
  });
  const isFiltered = search.owner !== undefined || contract !== undefined;
  const whose = search.owner === undefined ? "mine" : search.owner === "any" ? "any" : "other";
  return (
    <Section
      title={whose === "mine" ? "Your agent tokens" : "Agent tokens"}
      actions={list.liveness && <Live liveness={list.liveness} />}
      isFlush
    >
      <ListTable
        label="Agent tokens"
        list={list}
        columns={contracts.length > 1 ? WITH_CONTRACT : COLUMNS}
        keyOf={({ id }) => id}
        link={({ contract: of, tokenId }) => ({
          to: "/tokens/$contract/$id",
          params: { contract: of, id: tokenId },
        })}
        canChoose
        filters={
          <>
            <NativeSelect
              size="xs"
              aria-label="Whose tokens"
              value={whose}
              data={[
                { value: "mine", label: "yours" },
                { value: "any", label: "everyone's" },
                ...(whose === "other" ? [{ value: "other", label: "of one owner" }] : []),
              ]}
              onChange={({ currentTarget: { value } }) =>
                filter({ owner: value === "any" ? "any" : undefined })
              }
            />
            <TypedFilter
              aria-label="Owner"
              placeholder="Owner, 0x…"
              w={190}
              value={whose === "other" ? search.owner : undefined}
              pattern={/^0x[0-9A-Fa-f]{40}$/}
              hint="0x and 40 hexadecimal digits"
              onFilter={(text) => filter({ owner: text })}
            />
            {contracts.length > 1 && (
              <NativeSelect
                size="xs"
                aria-label="Contract"
                value={contract ?? ""}
                data={[
                  { value: "", label: "all contracts" },
                  ...contracts.map((value) => ({ value, label: `${value.slice(0, 8)}…${value.slice(-4)}` })),
                ]}
                onChange={({ currentTarget: { value } }) => filter({ contract: value || undefined })}
              />
            )}
            {isFiltered && (
              <Button
                size="xs"
                variant="subtle"
                onClick={() => filter({ owner: undefined, contract: undefined })}
              >
                Clear filters
              </Button>
            )}
          </>
        }
        empty={
          whose === "mine" && !contract ? (
            <EmptyState icon={<Bot size={20} />} title="This account has no agent tokens.">
              <p>Mint one, or look at everyone's.</p>
            </EmptyState>
          ) : (
            <EmptyState icon={<Bot size={20} />} title="No agent token matches.">
              <p>Change or clear the filters.</p>
            </EmptyState>
          )
        }
      />
    </Section>
  );
}

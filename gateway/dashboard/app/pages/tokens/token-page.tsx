import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import Bot from "lucide-react/icons/bot";
import { useCallback, useState } from "react";
import { useQuery } from "urql";
import { useList } from "../../data/list/use-list.ts";
import { useChange } from "../../data/query/use-change.ts";
import { useSession } from "../../data/session/session.tsx";
import { Columns, Page } from "../../parts/page/page.tsx";
import { EmptyState, Note, Outcome } from "../../parts/page/states.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { type Open, TokenDialogs } from "./actions/token-dialogs.tsx";
import { Timeline } from "./timeline.tsx";
import { TokenAccess, TokenData, TokenFacts } from "./token-facts.tsx";
import { HISTORY, isSame, shortId, TOKEN, type Token } from "./token-queries.ts";
import "./tokens.css";

/** One token: its owner, data and users, what happened to it, and what its owner can do with it. */
export function TokenPage() {
  const { contract, id } = useParams({ from: "/tokens/$contract/$id" });
  const isToken = /^0x[0-9A-Fa-f]{40}$/.test(contract) && /^\d{1,78}$/.test(id);
  if (!isToken)
    return (
      <Page title="Token">
        <EmptyState icon={<Bot size={20} />} title="There is no such token.">
          <p>Its address is a contract and a number.</p>
        </EmptyState>
      </Page>
    );
  return <OneToken key={`${contract} ${id}`} contract={contract} tokenId={id} />;
}

function OneToken({ contract, tokenId }: { contract: string; tokenId: string }) {
  const variables = { contract, tokenId };
  const [{ data, error, fetching }, query] = useQuery({ query: TOKEN, variables });
  const refetch = useCallback(() => query({ requestPolicy: "network-only" }), [query]);
  const list = useList({ query: HISTORY, variables, pick: ({ agentTokenHistory }) => agentTokenHistory });
  const [open, setOpen] = useState<Open>();
  const token = data?.agentToken;
  // What happened is what changes the token: both are read again together.
  const newest = list.rows?.[0];
  useChange(newest && `${newest.blockHash} ${newest.logIndex} ${newest.reverted}`, refetch);
  return (
    <Page
      title={`Token #${shortId(tokenId)}`}
      about={
        <>
          {shortId(tokenId) !== tokenId && `${tokenId}, `}of the contract <Hash of={contract} withCopy />
        </>
      }
      actions={token && <Actions token={token} onOpen={setOpen} />}
    >
      <Outcome
        value={data && (data.agentToken ?? null)}
        error={error}
        fetching={fetching}
        onRetry={refetch}
        empty={
          <EmptyState icon={<Bot size={20} />} title="There is no such token.">
            <p>It was never minted, a reorg reverted its mint, or its contract is not indexed here.</p>
          </EmptyState>
        }
      >
        {(found) => (
          <>
            <TokenFacts token={found} />
            <Columns>
              <TokenData token={found} />
              <TokenAccess token={found} onOpen={setOpen} />
            </Columns>
          </>
        )}
      </Outcome>
      <Timeline list={list} token={variables} />
      {token && open && (
        <TokenDialogs
          token={token}
          open={open}
          onClose={() => setOpen(undefined)}
          onMined={() => {
            refetch();
            list.refetch();
          }}
        />
      )}
    </Page>
  );
}

function Actions({ token, onOpen }: { token: Token; onOpen(open: Open): void }) {
  const { address } = useSession();
  const isOwner = isSame(token.owner?.address, address);
  const mayMove = isOwner || isSame(token.approved?.address, address);
  if (token.owner === null) return null;
  if (!mayMove) return <Note>Only its owner can transfer, clone or share it.</Note>;
  const canProve = token.generation === "AGENT_NFT" && token.data.length > 0;
  return (
    <>
      {isOwner && (
        <Button size="xs" variant="default" onClick={() => onOpen({ kind: "authorize" })}>
          Authorize an account
        </Button>
      )}
      {canProve && (
        <>
          <Button size="xs" variant="default" onClick={() => onOpen({ kind: "clone" })}>
            Clone
          </Button>
          <Button size="xs" onClick={() => onOpen({ kind: "transfer" })}>
            Transfer
          </Button>
        </>
      )}
    </>
  );
}

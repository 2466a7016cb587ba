import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useSession } from "../../data/session/session.tsx";
import { Pair, Pairs, Section, Stat, Stats } from "../../parts/page/page.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { Pill } from "../../parts/value/state-badge.tsx";
import { Account } from "./account.tsx";
import type { Open } from "./actions/token-dialogs.tsx";
import { isSame, shortId, type Token } from "./token-queries.ts";

/** A token at a glance. */
export function TokenFacts({ token }: { token: Token }) {
  const { address } = useSession();
  const { owner, data, authorizedUsers, blockNumber, movedWithoutKey } = token;
  return (
    <Stats>
      <Stat label="Owner" hint={isSame(owner?.address, address) && "you"}>
        {owner ? <Hash of={owner.address} /> : "burned"}
      </Stat>
      <Stat
        label="Pieces of data"
        hint={movedWithoutKey && <Pill tone="bad">transferred without its key</Pill>}
      >
        {data.length}
      </Stat>
      <Stat label="May use it" hint="besides its owner">
        {authorizedUsers.length}
      </Stat>
      <Stat label="Acquired in block">{blockNumber}</Stat>
    </Stats>
  );
}

type Datum = Token["data"][number];

const DATA: readonly Column<Datum>[] = [
  { id: "index", name: "#", cell: ({ index }) => index },
  {
    id: "description",
    name: "Description",
    cell: ({ description, file }) => (
      <span className="two-lines token-data">
        {description || "–"}
        <small>
          {file ? (
            <Link to="/storage/$root" params={{ root: file.root }}>
              View file
            </Link>
          ) : (
            "no file in storage"
          )}
        </small>
      </span>
    ),
  },
  { id: "hash", name: "Hash", cell: ({ dataHash }) => <Hash of={dataHash} withCopy /> },
];

/** The data of a token, with the hash of each ciphertext. */
export function TokenData({ token }: { token: Token }) {
  return (
    <Section title="Data" about="Encrypted, and stored off chain. The chain has these hashes." isFlush>
      <DataTable
        label="Data"
        columns={DATA}
        rows={token.data}
        keyOf={({ index }) => String(index)}
        empty="This token has no data."
      />
    </Section>
  );
}

/** Who may do what with a token, and how the owner changes it. */
export function TokenAccess({ token, onOpen }: { token: Token; onOpen(open: Open): void }) {
  const { address } = useSession();
  const { owner, creator, approved, clonedFrom, authorizedUsers, contract } = token;
  const isOwner = isSame(owner?.address, address);
  const delegate = owner?.accessDelegations.find((one) => isSame(one.contract, contract))?.assistant;
  const none = <span className="quiet">none</span>;
  return (
    <Section title="Access">
      <Pairs>
        <Pair name="Authorized to use it">
          {authorizedUsers.length === 0 ? (
            none
          ) : (
            <ul className="token-users">
              {authorizedUsers.map((user) => (
                <li key={user.address}>
                  <Account of={user.address} withCopy />
                  {isOwner && (
                    <Button
                      size="compact-xs"
                      variant="light"
                      color="red"
                      onClick={() => onOpen({ kind: "revoke", user: user.address })}
                      aria-label={`Revoke ${user.address}`}
                    >
                      Revoke
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          )}
        </Pair>
        <Pair name="Approved to transfer it">
          {approved ? <Account of={approved.address} withCopy /> : none}
        </Pair>
        <Pair name="Signs for its owner">
          <ul className="token-users">
            <li>
              {delegate ? <Account of={delegate.address} withCopy /> : none}
              {isOwner && (
                <Button size="compact-xs" variant="light" onClick={() => onOpen({ kind: "delegate" })}>
                  {delegate ? "Change" : "Delegate"}
                </Button>
              )}
            </li>
          </ul>
        </Pair>
        <Pair name="Creator">{creator ? <Account of={creator.address} withCopy /> : "not recorded"}</Pair>
        {clonedFrom && (
          <Pair name="Cloned from">
            <Link
              to="/tokens/$contract/$id"
              params={{ contract: clonedFrom.contract, id: clonedFrom.tokenId }}
            >
              #{shortId(clonedFrom.tokenId)}
            </Link>
          </Pair>
        )}
      </Pairs>
    </Section>
  );
}

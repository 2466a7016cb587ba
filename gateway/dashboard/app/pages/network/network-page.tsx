import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";
import { usePolled } from "../../data/query/use-polled.ts";
import { Page, Pair, Pairs, Section, Stat, Stats } from "../../parts/page/page.tsx";
import { Outcome } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Copyable } from "../../parts/value/copyable.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";

const NETWORK = graphql(`
  query NetworkPage {
    network {
      name chainId chainIdHex symbol explorerUrl
      head { number timestamp }
      watchers { name phase scannedBlock headBlock lagBlocks lastReorgDepth }
      contracts { name address note }
    }
  }
`);
const EVERY_MS = 5_000;

type Watcher = NonNullable<ResultOf<typeof NETWORK>["network"]>["watchers"][number];

const WATCHERS: readonly Column<Watcher>[] = [
  { id: "watcher", name: "Watcher", cell: ({ name }) => name },
  { id: "state", name: "State", cell: ({ phase }) => <StateBadge state={phase} /> },
  { id: "scanned", name: "Scanned to", isNumber: true, cell: ({ scannedBlock }) => scannedBlock ?? "–" },
  { id: "behind", name: "Behind", isNumber: true, cell: ({ lagBlocks }) => lagBlocks ?? "–" },
  {
    id: "reorg",
    name: "Last reorg",
    isNumber: true,
    cell: ({ lastReorgDepth: depth }) => (depth === 0 ? "none" : `${depth} blocks`),
  },
];

/** The network, how far its chain is scanned, and its contracts. */
export function NetworkPage() {
  const { data, error, fetching, refresh } = usePolled(NETWORK, EVERY_MS);
  return (
    <Page title="Network" about={data?.network?.name}>
      <Outcome value={data?.network} error={error} fetching={fetching} onRetry={refresh}>
        {(network) => (
          <>
            <Stats>
              <Stat label="Chain ID" hint={network.chainIdHex}>
                {network.chainId}
              </Stat>
              <Stat label="Latest block" hint={network.head && <Time at={network.head.timestamp} />}>
                {network.head?.number ?? "unknown"}
              </Stat>
              <Stat label="Symbol">{network.symbol}</Stat>
            </Stats>
            <Section title="Chain watchers" isFlush>
              <DataTable
                label="Watchers"
                columns={WATCHERS}
                rows={network.watchers}
                keyOf={({ name }) => name}
                empty="Nothing of this network is scanned."
              />
            </Section>
            <Section title="Contracts">
              <Pairs>
                {network.contracts.map(({ name, address, note }) => (
                  <Pair key={name} name={inWords(name)}>
                    {address ? (
                      <Copyable text={address} label={name} />
                    ) : (
                      <span className="quiet">{note}</span>
                    )}
                  </Pair>
                ))}
              </Pairs>
            </Section>
          </>
        )}
      </Outcome>
    </Page>
  );
}

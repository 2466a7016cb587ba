import { useEffect } from "react";
import { useQuery } from "urql";
import { graphql } from "../graph.ts";
import { Copyable } from "../ui/copy.tsx";
import { Badge, Card, Figure, Outcome, Page, Table } from "../ui/show.tsx";

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

/** The network, how far its chain is scanned, and its contracts. */
export function NetworkPage() {
  const [{ data, error, fetching }, refetch] = useQuery({ query: NETWORK });
  useEffect(() => {
    const timer = setInterval(() => refetch({ requestPolicy: "network-only" }), EVERY_MS);
    return () => clearInterval(timer);
  }, [refetch]);
  return (
    <Page title="Network">
      <Outcome rows={data ? [data.network] : undefined} error={error} fetching={fetching} empty="">
        {([network]) =>
          network && (
            <>
              <dl className="figures">
                <Figure label="Network">{network.name}</Figure>
                <Figure label="Chain ID">
                  {network.chainId} ({network.chainIdHex})
                </Figure>
                <Figure label="Latest block">{network.head?.number ?? "unknown"}</Figure>
              </dl>
              <Card title="Chain watchers">
                <Table label="Watchers" heads={["Watcher", "State", "Scanned to", "Behind", "Last reorg"]}>
                  {network.watchers.map((watcher) => (
                    <tr key={watcher.name}>
                      <td>{watcher.name}</td>
                      <td>
                        <Badge state={watcher.phase} />
                      </td>
                      <td className="number">{watcher.scannedBlock ?? "–"}</td>
                      <td className="number">{watcher.lagBlocks ?? "–"}</td>
                      <td className="number">
                        {watcher.lastReorgDepth === 0 ? "none" : `${watcher.lastReorgDepth} blocks`}
                      </td>
                    </tr>
                  ))}
                </Table>
              </Card>
              <Card title="Contracts">
                <dl className="pairs">
                  {network.contracts.map(({ name, address, note }) => (
                    <div key={name}>
                      <dt>{name.toLowerCase().replaceAll("_", " ")}</dt>
                      <dd>
                        {address ? (
                          <Copyable text={address} label={name} />
                        ) : (
                          <span className="quiet">{note}</span>
                        )}
                      </dd>
                    </div>
                  ))}
                </dl>
              </Card>
            </>
          )
        }
      </Outcome>
    </Page>
  );
}

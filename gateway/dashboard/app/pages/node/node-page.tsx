import { Button } from "@mantine/core";
import type { ResultOf } from "gql.tada";
import { useQuery } from "urql";
import { graphql, isRefusal, reasonOf } from "../../data/query/graph.ts";
import { Columns, Page, Pair, Pairs, Section } from "../../parts/page/page.tsx";
import { Failure, Loading, NoPermission } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { Diagnosis } from "./diagnosis.tsx";

const NODE = graphql(`
  query Node {
    operatorNode {
      consensus { state detail moniker network version latestHeight latestBlockAt catchingUp votingPower }
      execution { state detail clientVersion chainId blockNumber syncing peerCount }
      engine { state detail takesSecret refusesOthers }
      preflight { rule verdict detail next }
    }
  }
`);

type Node = NonNullable<ResultOf<typeof NODE>["operatorNode"]>;
type Check = NonNullable<Node["preflight"]>[number];

const RULES: readonly Column<Check>[] = [
  { id: "rule", name: "Rule", cell: ({ rule }) => inWords(rule) },
  { id: "verdict", name: "Verdict", cell: ({ verdict }) => <StateBadge state={verdict} /> },
  { id: "found", name: "Found", cell: ({ detail }) => detail },
  { id: "next", name: "Next", cell: ({ next }) => next },
];

/** The operator's own node: its state, its rules, and explanations of its messages. */
export function NodePage() {
  const [{ data, error, fetching }, refetch] = useQuery({ query: NODE });
  const refresh = () => refetch({ requestPolicy: "network-only" });
  const node = data?.operatorNode;
  return (
    <Page
      title="Node"
      about="The validator node that this gateway's operator runs."
      actions={
        <Button variant="default" onClick={refresh}>
          Refresh
        </Button>
      }
    >
      {fetching && !data && <Loading />}
      {error && !isRefusal(error) && <Failure reason={reasonOf(error)} onRetry={refresh} />}
      {error && isRefusal(error) && !node?.preflight && (
        <NoPermission
          reason={`${reasonOf(error)} Operators name their wallets in OPERATORS or NODE_OPERATORS, and their node in the NODE_ settings.`}
        />
      )}
      {node?.consensus && (
        <Columns>
          <Consensus of={node.consensus} />
          {node.execution && <Execution of={node.execution} engine={node.engine} />}
        </Columns>
      )}
      {node?.preflight && (
        <Section title="Operating rules" isFlush>
          <DataTable
            label="Rules"
            columns={RULES}
            rows={node.preflight}
            keyOf={({ rule }) => rule}
            empty="No rule applies."
          />
        </Section>
      )}
      <Diagnosis />
    </Page>
  );
}

function Consensus({ of }: { of: NonNullable<Node["consensus"]> }) {
  return (
    <Section title="Consensus client" actions={<StateBadge state={of.state} />}>
      {of.detail && <p>{of.detail}</p>}
      <Pairs>
        <Pair name="Name">{of.moniker ?? "–"}</Pair>
        <Pair name="Version">{of.version ?? "–"}</Pair>
        <Pair name="Height">
          {of.latestHeight ?? "–"} {of.catchingUp && <StateBadge state="SYNCING" />}
        </Pair>
        <Pair name="Latest block">
          <Time at={of.latestBlockAt} />
        </Pair>
        <Pair name="Voting power">{of.votingPower ?? "–"}</Pair>
      </Pairs>
    </Section>
  );
}

function Execution({ of, engine }: { of: NonNullable<Node["execution"]>; engine: Node["engine"] }) {
  return (
    <Section title="Execution client" actions={<StateBadge state={of.state} />}>
      {of.detail && <p>{of.detail}</p>}
      <Pairs>
        <Pair name="Version">{of.clientVersion ?? "–"}</Pair>
        <Pair name="Chain">{of.chainId ?? "–"}</Pair>
        <Pair name="Block">
          {of.blockNumber ?? "–"} {of.syncing && <StateBadge state="SYNCING" />}
        </Pair>
        <Pair name="Peers">{of.peerCount ?? "–"}</Pair>
        {engine && (
          <Pair name="Engine">
            <StateBadge state={engine.state} /> {engine.detail}
          </Pair>
        )}
      </Pairs>
    </Section>
  );
}

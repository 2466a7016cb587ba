import { useState } from "react";
import { useQuery } from "urql";
import { graphql, reasonOf } from "../graph.ts";
import { Button, TextField } from "../ui/controls.tsx";
import { Badge, Card, Loading, Page, Table, Time } from "../ui/show.tsx";

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
const DIAGNOSE = graphql(`
  query Diagnose($message: String!) {
    operatorNode { diagnose(message: $message) { kind cause next never retrimFrom } }
  }
`);

/** The operator's own node: its state, its rules, and explanations of its messages. */
export function NodePage() {
  const [{ data, error, fetching }, refetch] = useQuery({ query: NODE });
  const node = data?.operatorNode;
  return (
    <Page
      title="Node"
      about="The validator node that this gateway's operator runs."
      actions={<Button onClick={() => refetch({ requestPolicy: "network-only" })}>Refresh</Button>}
    >
      {fetching && !data && <Loading />}
      {error && !node?.preflight && (
        <p className="empty">
          {reasonOf(error)} Operators name their wallets in NODE_OPERATORS, and their node in the NODE_
          settings.
        </p>
      )}
      {node?.consensus && (
        <div className="columns">
          <Card title="Consensus client" aside={<Badge state={node.consensus.state} />}>
            {node.consensus.detail && <p>{node.consensus.detail}</p>}
            <dl className="pairs">
              <dt>Name</dt>
              <dd>{node.consensus.moniker ?? "–"}</dd>
              <dt>Version</dt>
              <dd>{node.consensus.version ?? "–"}</dd>
              <dt>Height</dt>
              <dd>
                {node.consensus.latestHeight ?? "–"} {node.consensus.catchingUp && <Badge state="SYNCING" />}
              </dd>
              <dt>Latest block</dt>
              <dd>
                <Time at={node.consensus.latestBlockAt} />
              </dd>
              <dt>Voting power</dt>
              <dd>{node.consensus.votingPower ?? "–"}</dd>
            </dl>
          </Card>
          {node.execution && (
            <Card title="Execution client" aside={<Badge state={node.execution.state} />}>
              {node.execution.detail && <p>{node.execution.detail}</p>}
              <dl className="pairs">
                <dt>Version</dt>
                <dd>{node.execution.clientVersion ?? "–"}</dd>
                <dt>Chain</dt>
                <dd>{node.execution.chainId ?? "–"}</dd>
                <dt>Block</dt>
                <dd>
                  {node.execution.blockNumber ?? "–"} {node.execution.syncing && <Badge state="SYNCING" />}
                </dd>
                <dt>Peers</dt>
                <dd>{node.execution.peerCount ?? "–"}</dd>
              </dl>
              {node.engine && (
                <p>
                  Engine: <Badge state={node.engine.state} /> {node.engine.detail}
                </p>
              )}
            </Card>
          )}
        </div>
      )}
      {node?.preflight && (
        <Card title="Operating rules">
          <Table label="Rules" heads={["Rule", "Verdict", "Found", "Next"]}>
            {node.preflight.map((check) => (
              <tr key={check.rule}>
                <td>{check.rule.toLowerCase().replaceAll("_", " ")}</td>
                <td>
                  <Badge state={check.verdict} />
                </td>
                <td>{check.detail}</td>
                <td>{check.next}</td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
      <Diagnosis />
    </Page>
  );
}

function Diagnosis() {
  const [message, setMessage] = useState("");
  const wanted = message.trim();
  const [{ data, error }] = useQuery({
    query: DIAGNOSE,
    variables: { message: wanted },
    pause: wanted.length < 8,
  });
  const diagnosis = wanted.length < 8 ? undefined : data?.operatorNode?.diagnose;
  return (
    <Card title="Explain a message">
      <TextField
        label="A line of the node's log"
        rows={3}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
      />
      {error && wanted.length >= 8 && <p className="quiet">{reasonOf(error)}</p>}
      {diagnosis && (
        <>
          <p>{diagnosis.cause}</p>
          <ol>
            {diagnosis.next.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
          {diagnosis.never.map((step) => (
            <p key={step} className="failure">
              {step}
            </p>
          ))}
          {diagnosis.retrimFrom && <p>Trim the export again from block {diagnosis.retrimFrom} on.</p>}
        </>
      )}
    </Card>
  );
}

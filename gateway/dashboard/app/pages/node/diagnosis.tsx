import { Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useQuery } from "urql";
import { isAnswerTo } from "../../data/query/answer-to.ts";
import { graphql, reasonOf } from "../../data/query/graph.ts";
import { Section } from "../../parts/page/page.tsx";
import { Failure, Note } from "../../parts/page/states.tsx";

const DIAGNOSE = graphql(`
  query Diagnose($message: String!) {
    operatorNode { diagnose(message: $message) { kind cause next never retrimFrom } }
  }
`);

const MIN_LENGTH = 8;
const PAUSE_MS = 300;

/** Explains a line of the node's log. */
export function Diagnosis() {
  const [message, setMessage] = useState("");
  const [wanted] = useDebouncedValue(message.trim(), PAUSE_MS);
  const isShort = wanted.length < MIN_LENGTH;
  const variables = { message: wanted };
  const [read] = useQuery({ query: DIAGNOSE, variables, pause: isShort });
  const { data, error } = read;
  const diagnosis = !isShort && isAnswerTo(read, variables) ? data?.operatorNode?.diagnose : undefined;
  return (
    <Section title="Explain a message">
      <Textarea
        label="A line of the node's log"
        rows={3}
        value={message}
        onChange={({ currentTarget }) => setMessage(currentTarget.value)}
      />
      {error && !isShort && <Note>{reasonOf(error)}</Note>}
      {diagnosis && (
        <>
          <p>{diagnosis.cause}</p>
          <ol className="timeline">
            {diagnosis.next.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
          {diagnosis.never.map((step) => (
            <Failure key={step} reason={step} />
          ))}
          {diagnosis.retrimFrom && <p>Trim the export again from block {diagnosis.retrimFrom} on.</p>}
        </>
      )}
    </Section>
  );
}

import { Button } from "@mantine/core";
import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { useLive } from "../../../../../packages/client/src/react.ts";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { callSnippets, NO_SECRET } from "../../parts/code/call-snippets.ts";
import { CodeSnippet } from "../../parts/code/code-snippet.tsx";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { Note } from "../../parts/page/states.tsx";
import { BALANCE } from "./overview-query.ts";

const CREATE = graphql(`
  mutation CreateFirstKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret userErrors { field message } }
  }
`);
const MODELS = graphql(`
  query FirstModel { models(first: 1, filter: { serviceTypes: [CHATBOT] }) { nodes { modelId serviceType } } }
`);

/** Code with a key in it. The secret stays in this page's memory. */
export function FirstCall({
  secret,
  onSecret,
}: {
  secret: string | undefined;
  onSecret(secret: string): void;
}) {
  const [, create] = useMutation(CREATE);
  const [{ data }] = useQuery({ query: MODELS });
  const model = data?.models?.nodes[0];
  if (data && !model) return <Note>No provider offers a chat model at the moment.</Note>;
  const call = {
    origin: location.origin,
    secret: secret ?? NO_SECRET,
    model: model?.modelId ?? "…",
    serviceType: "CHATBOT",
  };
  return (
    <>
      {secret === undefined ? (
        <div className="row-of-controls">
          <ActionButton
            variant="filled"
            size="xs"
            done="The key is in the code. It is shown only here, until you leave the page."
            act={async () => {
              const made = await create({ input: { name: "First key" } });
              onSecret(resultOf(made.data?.createApiKey, made.error).secret ?? "");
            }}
          >
            Create a key for this code
          </ActionButton>
          <Note>Or replace {NO_SECRET} in it by a key that you have.</Note>
        </div>
      ) : (
        <Note>The key in this code is shown only here: copy it before you leave the page.</Note>
      )}
      <CodeSnippet label="First call" snippets={callSnippets(call)} />
    </>
  );
}

/** Subscribes here, and says how to do so elsewhere. The step is done with the first event. */
export function FirstSubscription({ onEvent, isDone }: { onEvent(): void; isDone: boolean }) {
  const [isOn, setOn] = useState(false);
  const { state } = useLive(isOn && !isDone ? BALANCE : null, {}, { onEvent });
  const code = `curl -N ${location.origin}/graphql/stream -H "Authorization: Bearer ${NO_SECRET}" \\
  -H "Accept: text/event-stream" -H "Content-Type: application/json" \\
  -d '{"query":"subscription { balanceChanged { cursor cause balance { available held } } }"}'`;
  return (
    <>
      <div className="row-of-controls">
        <Button size="xs" onClick={() => setOn(true)} loading={isOn && state !== "live"}>
          {isOn ? "Subscribed: make a request" : "Subscribe on this page"}
        </Button>
        <Note>
          The step is done when the first event arrives. From your own program, with a management key:
        </Note>
      </div>
      <CodeSnippet
        label="First subscription"
        snippets={[{ name: "curl", code: code.replace(NO_SECRET, "mk-...") }]}
      />
    </>
  );
}

import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import CircleCheck from "lucide-react/icons/circle-check";
import CircleDashed from "lucide-react/icons/circle-dashed";
import { type ReactNode, useEffect, useState } from "react";
import { useMutation, useQuery } from "urql";
import { useLive } from "../../../../../packages/client/src/react.ts";
import { graphql, resultOf } from "../../data/graph.ts";
import { ActionButton } from "../../parts/action-button.tsx";
import { callSnippets, NO_SECRET } from "../../parts/call-snippets.ts";
import { CodeSnippet } from "../../parts/code-snippet.tsx";
import { Section } from "../../parts/page.tsx";
import { Note } from "../../parts/states.tsx";
import { type Account, BALANCE } from "./overview-query.ts";
import { useFirstSteps } from "./use-first-steps.ts";
import "./first-steps.css";

const CREATE = graphql(`
  mutation CreateFirstKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret userErrors { field message } }
  }
`);
const MODELS = graphql(`
  query FirstModel { models(first: 1, filter: { serviceTypes: [CHATBOT] }) { nodes { modelId serviceType } } }
`);

/**
 * What a new user does first; each step is ticked as soon as it is done, wherever it was done. Shown from an empty
 * account on until all is done, or the user hides it.
 */
export function FirstSteps({ account }: { account: Account }) {
  const [kept, keep] = useFirstSteps();
  const [secret, setSecret] = useState<string>();
  const hasKey = (account.apiKeys?.nodes.length ?? 0) > 0;
  const hasCalled = (account.requests?.nodes.length ?? 0) > 0;
  const hasDeposit = (account.deposits?.nodes.length ?? 0) > 0 || account.balance?.available !== "0";
  const isEmpty = account.requests !== null && !hasCalled;
  const hasSubscribed = kept.hasSubscribed === true;
  const isDone = hasKey && hasCalled && hasDeposit && hasSubscribed;
  useEffect(() => {
    if (isEmpty && !kept.isShown) keep({ isShown: true });
  });
  if (kept.isDismissed || !(isEmpty || kept.isShown)) return null;
  const done = [hasDeposit, hasKey, hasCalled, hasSubscribed].filter(Boolean).length;
  return (
    <Section
      title={isDone ? "You are set up" : "Get started"}
      about={
        isDone ? "All four steps are done." : `${done} of 4 steps are done. Each is ticked as soon as it is.`
      }
      actions={
        <Button size="xs" variant="subtle" color="gray" onClick={() => keep({ isDismissed: true })}>
          Hide
        </Button>
      }
    >
      {!isDone && (
        <ol className="steps">
          <Step title="Fund the account" isDone={hasDeposit}>
            Requests are paid from a balance that you <Link to="/deposits">deposit</Link>.
          </Step>
          <Step title="Create an API key" isDone={hasKey}>
            A key lets a client call models and spend this balance.{" "}
            <Link to="/keys">Create one with limits</Link>, or one for the code below:
          </Step>
          <Step title="Make the first call" isDone={hasCalled} isOpen={!hasCalled}>
            <FirstCall secret={secret} onSecret={setSecret} />
          </Step>
          <Step title="Follow the balance live" isDone={hasSubscribed} isOpen={hasCalled}>
            <FirstSubscription onEvent={() => keep({ hasSubscribed: true })} isDone={hasSubscribed} />
          </Step>
        </ol>
      )}
    </Section>
  );
}

type StepProps = {
  readonly title: string;
  readonly isDone: boolean;
  readonly isOpen?: boolean;
  readonly children: ReactNode;
};

/** A step. What it needs is shown until it is done. */
function Step({ title, isDone, isOpen = true, children }: StepProps) {
  const Icon = isDone ? CircleCheck : CircleDashed;
  return (
    <li className={isDone ? "done" : undefined}>
      <Icon size={18} role="img" aria-label={isDone ? "Done" : "Not done yet"} />
      <div>
        <p className="step-title">{title}</p>
        {!isDone && isOpen && <div className="step-more">{children}</div>}
      </div>
    </li>
  );
}

/** Code with a key in it. The secret stays in this page's memory. */
function FirstCall({ secret, onSecret }: { secret: string | undefined; onSecret(secret: string): void }) {
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
function FirstSubscription({ onEvent, isDone }: { onEvent(): void; isDone: boolean }) {
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

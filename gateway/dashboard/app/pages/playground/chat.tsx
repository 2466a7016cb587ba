import { Button, NativeSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import * as z from "zod";
import { graphql, reasonOf } from "../../data/graph.ts";
import { Amount } from "../../parts/amount.tsx";
import { CheckField, LongTextField } from "../../parts/fields.tsx";
import { GraphForm } from "../../parts/form.tsx";
import { Hash } from "../../parts/hash.tsx";
import { Section } from "../../parts/page.tsx";
import { inWords } from "../../parts/state-badge.tsx";
import { EmptyState, Failure } from "../../parts/states.tsx";
import { clientOfKey } from "./playground-client.ts";

const CHAT = graphql(`
  subscription Chat($input: ChatInput!) {
    completeChat(input: $input) {
      delta { text reasoning finishReason }
      inputTokens outputTokens
      bill { requestId providerAddress teeVerified cost { total } }
    }
  }
`);
const PREVIEW = graphql(`
  query Preview($model: String!) {
    routingPreview(serviceType: CHATBOT, model: $model) {
      providers { address pricing { input output } health { latencyMs uptimePercent } }
      excluded { providerAddress reason }
    }
  }
`);

/** What a request cost, and who answered it. */
export type Bill = {
  readonly requestId: string;
  readonly providerAddress: string;
  readonly cost: { readonly total: string };
  readonly teeVerified?: boolean | null;
};
type Turn = {
  readonly id: number;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly bill?: Bill;
};

const schema = z.object({
  question: z.string().trim().min(1, "A question, or anything else to answer."),
  verify: z.boolean(),
});

/** A conversation with a model. */
export function Chat({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
  const [model, setModel] = useState(models[0] ?? "");
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [coming, setComing] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const [verify, setVerify] = useState(false);
  const leaving = useRef<AbortController>(undefined);
  useEffect(() => () => leaving.current?.abort(), []);
  const send = async ({ question: content, verify: verifyTee }: z.output<typeof schema>) => {
    const thread: readonly Turn[] = [...turns, { id: turns.length, role: "user", content }];
    setTurns(thread);
    setVerify(verifyTee);
    setFailure(undefined);
    setComing("");
    const abort = new AbortController();
    leaving.current = abort;
    const client = clientOfKey(apiKey);
    let answer = "";
    let bill: Bill | undefined;
    try {
      const messages = thread.map((turn) => ({ role: turn.role, content: turn.content }));
      const input = { model, messages, verifyTee };
      const { signal } = abort;
      for await (const { data, errors } of client.subscribe(CHAT, { input }, { signal })) {
        if (errors) throw new Error(reasonOf(errors));
        answer += data.completeChat.delta?.text ?? "";
        bill = data.completeChat.bill ?? bill;
        setComing(answer);
      }
    } catch (error) {
      setFailure(reasonOf(error));
    } finally {
      client.dispose();
      setComing(undefined);
      if (answer !== "")
        setTurns([
          ...thread,
          { id: thread.length, role: "assistant", content: answer, ...(bill && { bill }) },
        ]);
    }
  };
  if (models.length === 0)
    return (
      <Section title="Chat">
        <EmptyState title="No provider offers chat at the moment." />
      </Section>
    );
  return (
    <Section title="Chat">
      <NativeSelect
        label="Model"
        maw={360}
        data={[...models]}
        value={model}
        onChange={({ currentTarget }) => setModel(currentTarget.value)}
      />
      <Preview apiKey={apiKey} model={model} />
      <ol className="talk" aria-live="polite">
        {turns.map((turn) => (
          <li key={turn.id} className={turn.role}>
            <p>{turn.content}</p>
            {turn.bill && <BillLine bill={turn.bill} />}
          </li>
        ))}
        {coming !== undefined && (
          <li className="assistant">
            <p>{coming || "…"}</p>
          </li>
        )}
      </ol>
      {failure && <Failure reason={failure} />}
      {coming === undefined ? (
        <GraphForm label="Ask" schema={schema} defaultValues={{ question: "", verify }} send={send}>
          <LongTextField label="Your question" name="question" required />
          <CheckField label="Verify the provider's signature of the answer (verify_tee)" name="verify" />
        </GraphForm>
      ) : (
        <div>
          <Button variant="default" onClick={() => leaving.current?.abort()}>
            Stop
          </Button>
        </div>
      )}
    </Section>
  );
}

/** The provider and the price of an answer. */
export function BillLine({ bill }: { bill: Bill }) {
  return (
    <p className="quiet">
      Answered by <Hash of={bill.providerAddress} /> for <Amount neuron={bill.cost.total} places={12} />.{" "}
      {bill.teeVerified === true && "Its enclave's signature is valid. "}
      {bill.teeVerified === false && "Its enclave's signature could not be verified. "}
      <Link to="/requests/$id" params={{ id: bill.requestId }}>
        Details
      </Link>
    </p>
  );
}

/** The providers that a request would use now, and why others are excluded. */
function Preview({ apiKey, model }: { apiKey: string; model: string }) {
  const [preview, setPreview] = useState<{
    readonly providers: readonly {
      readonly address: string;
      readonly health: { readonly latencyMs: number | null };
    }[];
    readonly excluded: readonly { readonly providerAddress: string; readonly reason: string }[];
  }>();
  useEffect(() => {
    const abort = new AbortController();
    clientOfKey(apiKey)
      .query(PREVIEW, { model }, { signal: abort.signal })
      .then(
        ({ routingPreview }) => setPreview(routingPreview ?? undefined),
        () => setPreview(undefined),
      );
    return () => abort.abort();
  }, [apiKey, model]);
  return (
    <p className="quiet">
      {preview?.providers.length === 0 && "No provider is available at the moment."}
      {preview?.providers.map(({ address, health }, n) => (
        <span key={address}>
          {n === 0 ? "First choice: " : "then "}
          <Hash of={address} />
          {health.latencyMs !== null && ` (${health.latencyMs} ms)`}{" "}
        </span>
      ))}
      {preview?.excluded.map(({ providerAddress: provider, reason }) => (
        <span key={provider + reason}>
          not <Hash of={provider} /> ({inWords(reason)}){" "}
        </span>
      ))}
    </p>
  );
}

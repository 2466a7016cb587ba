import { useEffect, useRef, useState } from "react";
import { graphql, reasonOf } from "../graph.ts";
import { clientOfKey } from "../playground-client.ts";
import { Link } from "../router.tsx";
import { Button, Choice, Failure, Form, TextField } from "../ui/controls.tsx";
import { Card, Hash, Money } from "../ui/show.tsx";

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

/** A conversation with a model. */
export function Chat({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
  const [model, setModel] = useState(models[0] ?? "");
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [coming, setComing] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const [verify, setVerify] = useState(false);
  const leaving = useRef<AbortController>(undefined);
  useEffect(() => () => leaving.current?.abort(), []);
  const send = async (form: FormData) => {
    const content = String(form.get("question")).trim();
    const thread: readonly Turn[] = [...turns, { id: turns.length, role: "user", content }];
    setTurns(thread);
    setFailure(undefined);
    setComing("");
    const abort = new AbortController();
    leaving.current = abort;
    const client = clientOfKey(apiKey);
    let answer = "";
    let bill: Bill | undefined;
    try {
      const messages = thread.map((turn) => ({ role: turn.role, content: turn.content }));
      const input = { model, messages, verifyTee: verify };
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
  return (
    <Card title="Chat">
      {models.length === 0 ? (
        <p className="empty">No provider offers chat at the moment.</p>
      ) : (
        <>
          <Choice
            label="Model"
            options={Object.fromEntries(models.map((id) => [id, id]))}
            value={model}
            onChange={(event) => setModel(event.currentTarget.value)}
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
            <Form label="Ask" send={send}>
              <TextField label="Your question" name="question" required rows={3} />
              <label className="check">
                <input type="checkbox" checked={verify} onChange={() => setVerify(!verify)} />
                Verify the provider's signature of the answer (verify_tee)
              </label>
            </Form>
          ) : (
            <Button onClick={() => leaving.current?.abort()}>Stop</Button>
          )}
        </>
      )}
    </Card>
  );
}

/** The provider and the price of an answer. */
export function BillLine({ bill }: { bill: Bill }) {
  return (
    <p className="quiet">
      Answered by <Hash of={bill.providerAddress} /> for <Money neuron={bill.cost.total} places={12} />.{" "}
      {bill.teeVerified === true && "Its enclave's signature is valid. "}
      {bill.teeVerified === false && "Its enclave's signature could not be verified. "}
      <Link to={`/requests/${bill.requestId}`}>Details</Link>
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
    <p className="quiet preview">
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
          not <Hash of={provider} /> ({reason.toLowerCase().replaceAll("_", " ")}){" "}
        </span>
      ))}
    </p>
  );
}

import { useEffect, useRef, useState } from "react";
import { useMutation, useQuery } from "urql";
import { toNeuron } from "../amounts.ts";
import { toBase64 } from "../base64.ts";
import { graphql, reasonOf } from "../graph.ts";
import { stream } from "../live.ts";
import { ask } from "../playground-client.ts";
import { Link } from "../router.tsx";
import { useNetwork } from "../session.tsx";
import { ActionButton, Button, Choice, Failure, Field, Form, TextField } from "../ui/controls.tsx";
import { Card, Hash, Money, Outcome, Page } from "../ui/show.tsx";
import { JobView } from "./jobs.tsx";

const MODELS = graphql(`
  query PlaygroundModels { models(first: 100) { nodes { id serviceType } } }
`);
const CREATE = graphql(`
  mutation PlaygroundKey($name: String!, $expiresAt: DateTime!, $creditLimit: Neuron!) {
    createApiKey(name: $name, expiresAt: $expiresAt, creditLimit: $creditLimit) { secret }
  }
`);
const CHAT = graphql(`
  subscription Chat($input: ChatInput!) {
    chatCompletion(input: $input) {
      delta { text reasoning finishReason }
      inputTokens outputTokens
      bill { requestId provider teeVerified cost { total } }
    }
  }
`);
const PREVIEW = graphql(`
  query Preview($model: String!) {
    routingPreview(serviceType: CHATBOT, model: $model) {
      providers { address pricing { input output } health { latencyMs uptimePercent } }
      refused { provider reason }
    }
  }
`);
const SUBMIT = graphql("mutation SubmitJob($input: ImageJobInput!) { submitImageJob(input: $input) { id } }");
const TRANSCRIBE = graphql(`
  mutation Transcribe($input: TranscriptionInput!) {
    transcribe(input: $input) { text language bill { requestId provider cost { total } } }
  }
`);

const KEY_HOURS = 1;
const KEY_LIMIT = "1";
/** In base64 slightly less than the 512 KiB that the GraphQL API accepts. */
const MAX_FILE_BYTES = 380_000;

/** Tries every kind of model with its own API key, which stays in this page's memory and expires. */
export function PlaygroundPage() {
  const [apiKey, setApiKey] = useState<string>();
  const [{ data, error, fetching }] = useQuery({ query: MODELS });
  return (
    <Page
      title="Playground"
      about="Try models as your users would. Requests from here are billed like any other."
    >
      {apiKey ? (
        <Outcome
          rows={data?.models.nodes}
          error={error}
          fetching={fetching}
          empty="No provider offers a model at the moment."
        >
          {(models) => {
            const of = (type: string) =>
              models.filter(({ serviceType }) => serviceType === type).map(({ id }) => id);
            return (
              <>
                <Chat apiKey={apiKey} models={of("CHATBOT")} />
                <div className="columns">
                  <Images apiKey={apiKey} models={of("TEXT_TO_IMAGE")} />
                  <Transcription apiKey={apiKey} models={of("SPEECH_TO_TEXT")} />
                </div>
              </>
            );
          }}
        </Outcome>
      ) : (
        <KeyCard onKey={setApiKey} />
      )}
    </Page>
  );
}

function KeyCard({ onKey }: { onKey(secret: string): void }) {
  const { symbol } = useNetwork();
  const [, create] = useMutation(CREATE);
  return (
    <Card title="A key for this page">
      <p>
        Requests need an API key. A key for this page expires in {KEY_HOURS} hour, spends at most {KEY_LIMIT}{" "}
        {symbol}, and is discarded when you leave.
      </p>
      <ActionButton
        kind="primary"
        act={async () => {
          const expiresAt = new Date(Date.now() + KEY_HOURS * 3_600_000).toISOString();
          const name = `Playground ${new Date().toISOString().slice(0, 19)}`;
          const made = await create({ name, expiresAt, creditLimit: toNeuron(KEY_LIMIT) ?? "0" });
          if (!made.data?.createApiKey) throw new Error(reasonOf(made.error));
          onKey(made.data.createApiKey.secret);
        }}
      >
        Create a key for this page
      </ActionButton>
      <Form
        label="Use this key"
        send={async (form) => {
          const secret = String(form.get("secret")).trim();
          if (!secret.startsWith("sk-")) throw new Error("An API key starts with sk-.");
          onKey(secret);
        }}
      >
        <Field label="Or an existing key" name="secret" type="password" required autoComplete="off" />
      </Form>
    </Card>
  );
}

type Bill = {
  readonly requestId: string;
  readonly provider: string;
  readonly cost: { readonly total: string };
  readonly teeVerified?: boolean | null;
};
type Turn = {
  readonly id: number;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly bill?: Bill;
};

function Chat({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
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
    let answer = "";
    let bill: Bill | undefined;
    try {
      const messages = thread.map((turn) => ({ role: turn.role, content: turn.content }));
      await stream(
        apiKey,
        CHAT,
        { input: { model, messages, verifyTee: verify } },
        ({ chatCompletion: piece }) => {
          answer += piece.delta?.text ?? "";
          bill = piece.bill ?? bill;
          setComing(answer);
        },
        abort.signal,
      );
    } catch (error) {
      setFailure(reasonOf(error));
    } finally {
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

function BillLine({ bill }: { bill: Bill }) {
  return (
    <p className="quiet">
      Answered by <Hash of={bill.provider} /> for <Money neuron={bill.cost.total} places={12} />.{" "}
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
    readonly refused: readonly { readonly provider: string; readonly reason: string }[];
  }>();
  useEffect(() => {
    const abort = new AbortController();
    ask(apiKey, PREVIEW, { model }, abort.signal).then(
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
      {preview?.refused.map(({ provider, reason }) => (
        <span key={provider + reason}>
          not <Hash of={provider} /> ({reason.toLowerCase().replaceAll("_", " ")}){" "}
        </span>
      ))}
    </p>
  );
}

function Images({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
  const [job, setJob] = useState<string>();
  return (
    <Card title="Image">
      {models.length === 0 ? (
        <p className="empty">No provider generates images at the moment.</p>
      ) : (
        <Form
          label="Generate"
          send={async (form) => {
            const input = { model: String(form.get("model")), prompt: String(form.get("prompt")).trim() };
            const { submitImageJob } = await ask(apiKey, SUBMIT, { input });
            setJob(submitImageJob?.id);
          }}
        >
          <Choice label="Model" name="model" options={Object.fromEntries(models.map((id) => [id, id]))} />
          <TextField label="Prompt" name="prompt" required rows={2} />
        </Form>
      )}
      {job && <JobView key={job} id={job} />}
    </Card>
  );
}

function Transcription({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
  const [result, setResult] = useState<{ text: string; bill: Bill }>();
  return (
    <Card title="Transcription">
      {models.length === 0 ? (
        <p className="empty">No provider transcribes at the moment.</p>
      ) : (
        <Form
          label="Transcribe"
          send={async (form) => {
            const file = form.get("file");
            if (!(file instanceof File) || file.size === 0) throw new Error("Choose an audio file.");
            if (file.size > MAX_FILE_BYTES)
              throw new Error(
                "This page accepts up to 380 kB. Send larger files to /v1/audio/transcriptions.",
              );
            const fileBase64 = toBase64(new Uint8Array(await file.arrayBuffer()));
            const input = { model: String(form.get("model")), fileBase64, filename: file.name };
            const { transcribe } = await ask(apiKey, TRANSCRIBE, { input });
            if (transcribe) setResult(transcribe);
          }}
        >
          <Choice label="Model" name="model" options={Object.fromEntries(models.map((id) => [id, id]))} />
          <Field label="Audio file" name="file" type="file" accept="audio/*" required />
        </Form>
      )}
      {result && (
        <>
          <blockquote>{result.text}</blockquote>
          <BillLine bill={result.bill} />
        </>
      )}
    </Card>
  );
}

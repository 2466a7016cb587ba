import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { toNeuron } from "../amounts.ts";
import { toBase64 } from "../base64.ts";
import { graphql, resultOf } from "../graph.ts";
import { clientOfKey } from "../playground-client.ts";
import { useNetwork } from "../session.tsx";
import { ActionButton, Choice, Field, Form, TextField } from "../ui/controls.tsx";
import { Card, Outcome, Page } from "../ui/show.tsx";
import { JobView } from "./jobs.tsx";
import { type Bill, BillLine, Chat } from "./playground-chat.tsx";

const MODELS = graphql(`
  query PlaygroundModels { models(first: 100) { nodes { modelId serviceType } } }
`);
const CREATE = graphql(`
  mutation PlaygroundKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret userErrors { message } }
  }
`);
const SUBMIT = graphql(`
  mutation SubmitJob($input: SubmitImageJobInput!) {
    submitImageJob(input: $input) { imageJob { jobId } userErrors { message } }
  }
`);
const TRANSCRIBE = graphql(`
  mutation Transcribe($input: TranscribeAudioInput!) {
    transcribeAudio(input: $input) {
      transcription { text language bill { requestId providerAddress cost { total } } }
      userErrors { message }
    }
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
          rows={data?.models?.nodes}
          error={error}
          fetching={fetching}
          empty="No provider offers a model at the moment."
        >
          {(models) => {
            const of = (type: string) =>
              models.filter(({ serviceType }) => serviceType === type).map(({ modelId }) => modelId);
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
          const input = { name, expiresAt, creditLimit: toNeuron(KEY_LIMIT) ?? "0" };
          const made = await create({ input });
          onKey(resultOf(made.data?.createApiKey, made.error).secret ?? "");
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
            const { submitImageJob } = await clientOfKey(apiKey).mutate(SUBMIT, { input });
            setJob(resultOf(submitImageJob).imageJob?.jobId);
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
            const { transcribeAudio } = await clientOfKey(apiKey).mutate(TRANSCRIBE, { input });
            setResult(resultOf(transcribeAudio).transcription ?? undefined);
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

import { Alert, Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useEffect, useRef, useState } from "react";
import { useFormContext, useWatch } from "react-hook-form";
import { useMutation } from "urql";
import * as z from "zod";
import { toNeuron } from "../../data/amounts.ts";
import { useWhole } from "../../data/list/use-whole.ts";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { toastSuccess } from "../../data/toast.ts";
import { CodeSnippet } from "../../parts/code/code-snippet.tsx";
import { Dialog } from "../../parts/form/dialog.tsx";
import { DropArea } from "../../parts/form/drop-area.tsx";
import { FileField, SecretField, SelectField, TextField } from "../../parts/form/fields.tsx";
import { GraphForm } from "../../parts/form/form.tsx";
import { Note } from "../../parts/page/states.tsx";
import { CANCEL } from "./batch-queries.ts";
import { createBatch, uploadInput } from "./client-files.ts";
import { checkBatchInput, type InputSummary } from "./input-check.ts";
import { keyNameOf } from "./key-name.ts";

const CREATE_KEY = graphql(`
  mutation CreateBatchKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret apiKey { id } userErrors { field message } }
  }
`);
const REVOKE_KEY = graphql(`
  mutation RevokeBatchKey($input: RevokeApiKeyInput!) {
    revokeApiKey(input: $input) { userErrors { message } }
  }
`);
const MODELS = graphql(`
  query BatchModels($after: Cursor) {
    models(first: 100, after: $after) { nodes { modelId } pageInfo { hasNextPage endCursor } }
  }
`);
const ALL_MODELS = { query: MODELS, pick: ({ models }: ResultOf<typeof MODELS>) => models };

/** A batch runs for 24 hours at most; its key ends after that. */
const KEY_HOURS = 30;
const PAYERS = { new: "a new key, for this batch only", existing: "an existing key" } as const;

const schema = z
  .object({
    file: z.custom<File>((value) => value instanceof File, "Choose a file of requests (JSONL)."),
    payer: z.enum(["new", "existing"]),
    creditLimit: z.string(),
    secret: z.string(),
  })
  .superRefine(({ payer, creditLimit, secret }, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (payer === "new" && (toNeuron(creditLimit) ?? "0") === "0")
      issue("creditLimit", "An amount above 0, such as 2.5.");
    if (payer === "existing" && !secret.trim().startsWith("sk-"))
      issue("secret", "An API key starts with sk-.");
  });

/** Creates a batch from a file, which is checked here first. Closing the dialog before the batch exists creates none. */
export function CreateBatch({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const [, createKey] = useMutation(CREATE_KEY);
  const [, revokeKey] = useMutation(REVOKE_KEY);
  const [, cancelBatch] = useMutation(CANCEL);
  const [summary, setSummary] = useState<InputSummary>();
  const isReady = summary !== undefined && summary.faults.length === 0;
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  /** A key that pays for the batch, and how to take it back if there is no batch. */
  const newKey = async (file: string, creditLimit: string) => {
    const expiresAt = new Date(Date.now() + KEY_HOURS * 3_600_000).toISOString();
    const limits = { expiresAt, creditLimit: toNeuron(creditLimit) ?? "0" };
    const made = await createKey({ input: { name: keyNameOf(file), ...limits } });
    const { secret, apiKey } = resultOf(made.data?.createApiKey, made.error);
    if (!secret || !apiKey) throw new Error("The key could not be created.");
    return { secret, undo: () => revokeKey({ input: { id: apiKey.id } }) };
  };

  return (
    <Dialog title="Create a batch" onClose={onClose} size="lg">
      <GraphForm
        schema={schema}
        defaultValues={{ payer: "new", creditLimit: "1", secret: "" }}
        label="Create"
        disabled={!isReady}
        buttons={
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        }
        send={async ({ file, payer, creditLimit, secret }) => {
          const endpoint = summary?.endpoint;
          if (!endpoint) throw new Error("The file is not checked yet.");
          running.current = new AbortController();
          const { signal } = running.current;
          const key =
            payer === "new"
              ? await newKey(file.name, creditLimit)
              : { secret: secret.trim(), undo: undefined };
          let id: string;
          try {
            const fileId = await uploadInput(file, key.secret, signal);
            signal.throwIfAborted();
            // From here on the batch may exist, whatever becomes of the answer.
            id = await createBatch({ fileId, endpoint, name: file.name }, key.secret);
            if (signal.aborted) await cancelBatch({ input: { id } });
            signal.throwIfAborted();
          } catch (error) {
            await key.undo?.();
            throw error;
          }
          toastSuccess("The batch is created. Its input is being checked.");
          await navigate({ to: "/batches/$id", params: { id } });
        }}
      >
        <InputField summary={summary} onSummary={setSummary} />
        <PayerFields />
      </GraphForm>
      <details className="batch-help">
        <summary>What a file has, and how to do this with a client</summary>
        <CodeSnippet label="A batch" snippets={snippets(location.origin)} />
      </details>
    </Dialog>
  );
}

function InputField({
  summary,
  onSummary,
}: {
  summary: InputSummary | undefined;
  onSummary(summary: InputSummary | undefined): void;
}) {
  const { setValue } = useFormContext();
  const file: File | null = useWatch({ name: "file" }) ?? null;
  const { rows: offered, isCut } = useWhole(ALL_MODELS);
  const [failure, setFailure] = useState<string>();
  const [dropped, setDropped] = useState<File>();
  const drop = ({ files: [given] }: DataTransfer) => {
    if (!given) return;
    setDropped(given);
    setValue("file", given, { shouldValidate: true });
  };
  useEffect(() => {
    onSummary(undefined);
    setFailure(undefined);
    if (!file) return;
    const stopped = new AbortController();
    const { signal } = stopped;
    // Of a list that is cut, some models are not known here.
    const models = offered && !isCut ? new Set(offered.map(({ modelId }) => modelId)) : undefined;
    checkBatchInput(file, { models, signal }).then(
      (found) => !signal.aborted && onSummary(found),
      () => !signal.aborted && setFailure("The file could not be read."),
    );
    return () => stopped.abort();
  }, [file, offered, isCut, onSummary]);
  return (
    <>
      <DropArea onDrop={drop}>
        <FileField
          label="File of requests"
          name="file"
          accept=".jsonl,.ndjson,.txt,application/jsonl"
          required
        />
        {/* The field names a file only that was chosen in it. */}
        {file && file === dropped && <p>{file.name}</p>}
      </DropArea>
      {failure && <Alert color="red">{failure}</Alert>}
      {file && !summary && !failure && <p role="status">Checking the file…</p>}
      {summary && <Summary of={summary} />}
    </>
  );
}

function Summary({ of: { requests, endpoint, models, faults } }: { of: InputSummary }) {
  if (faults.length > 0)
    return (
      <Alert color="red" title="The file cannot be used" role="alert">
        <ul className="line-faults">
          {faults.map(({ line, message }) => (
            <li key={`${line}${message}`}>
              <strong>Line {line.toLocaleString("en")}</strong>: {message}
            </li>
          ))}
        </ul>
      </Alert>
    );
  const byModel = [...models].map(([model, count]) => `${count.toLocaleString("en")} of ${model}`);
  return (
    <Alert color="green" role="status">
      {requests.toLocaleString("en")} {requests === 1 ? "request" : "requests"} to <code>{endpoint}</code>:{" "}
      {byModel.slice(0, 5).join(", ")}
      {byModel.length > 5 && `, and ${byModel.length - 5} more models`}.
    </Alert>
  );
}

function PayerFields() {
  const { symbol } = useNetwork();
  const payer: string = useWatch({ name: "payer" });
  return (
    <>
      <SelectField label="Pay with" name="payer" options={PAYERS} />
      {payer === "new" ? (
        <>
          <TextField
            label={`The batch may spend, in ${symbol}`}
            name="creditLimit"
            inputMode="decimal"
            required
            hint="Requests beyond it fail, and are not charged."
          />
          <Note>
            Batches run with an API key. This one expires in {KEY_HOURS} hours; if you revoke it, the batch
            ends.
          </Note>
        </>
      ) : (
        <SecretField label="API key" name="secret" required />
      )}
    </>
  );
}

function snippets(origin: string) {
  return [
    {
      name: "File",
      code: `{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}}
{"custom_id": "2", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "MODEL", "messages": [{"role": "user", "content": "Goodbye"}]}}`,
    },
    {
      name: "Python",
      code: `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="sk-...")
file = client.files.create(file=open("requests.jsonl", "rb"), purpose="batch")
batch = client.batches.create(
    input_file_id=file.id,
    endpoint="/v1/chat/completions",
    completion_window="24h",
)`,
    },
    {
      name: "curl",
      code: `curl ${origin}/v1/files -H "Authorization: Bearer $SK" -F purpose=batch -F file=@requests.jsonl
curl ${origin}/v1/batches -H "Authorization: Bearer $SK" -H "Content-Type: application/json" \\
  -d '{"input_file_id": "FILE_ID", "endpoint": "/v1/chat/completions", "completion_window": "24h"}'`,
    },
  ];
}

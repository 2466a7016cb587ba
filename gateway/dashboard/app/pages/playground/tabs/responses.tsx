import { useState } from "react";
import { stringifyDocument } from "urql";
import * as z from "zod";
import { graphql } from "../../../data/query/graph.ts";
import { CheckField, LongTextField, SelectField, TextField } from "../../../parts/form/fields.tsx";
import { Columns, Section } from "../../../parts/page/page.tsx";
import { EmptyState } from "../../../parts/page/states.tsx";
import { Pill } from "../../../parts/value/state-badge.tsx";
import { type Bill, billOf } from "../api/bill.ts";
import { BillLine } from "../api/bill-line.tsx";
import { DrawPace } from "../api/draw-pace.ts";
import { RequestFailed } from "../api/failure.ts";
import type { ApiRequest } from "../api/request.ts";
import { eventsOf } from "../api/send.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { modelOptions, useFirstModel } from "./models.ts";
import { RequestForm } from "./request-form.tsx";

/** The graph has chats, to which the REST API translates responses. */
const CHAT = graphql(`
  subscription Respond($input: ChatInput!) {
    completeChat(input: $input) { delta { text } bill { requestId cost { total } } }
  }
`);

const schema = z.object({
  model: z.string().min(1),
  instructions: z.string(),
  input: z.string().trim().min(1, "A text to respond to."),
  maxTokens: z
    .string()
    .trim()
    .regex(/^(?:[1-9]\d{0,8})?$/, "A whole number from 1 on.")
    .transform((text) => (text === "" ? undefined : Number(text))),
  verify: z.boolean(),
});

const delta = z.object({ type: z.literal("response.output_text.delta"), delta: z.string() });
const ended = z.object({
  type: z.enum(["response.completed", "response.incomplete", "response.failed"]),
  response: z.object({
    status: z.string(),
    error: z.object({ code: z.string(), message: z.string() }).nullish(),
    usage: z.object({ input_tokens: z.number(), output_tokens: z.number() }).nullish(),
    x_0g_trace: z.unknown(),
  }),
});

type Response = {
  readonly text: string;
  readonly status: string;
  readonly tokens?: { readonly input_tokens: number; readonly output_tokens: number } | null | undefined;
  readonly bill?: Bill | undefined;
  readonly requestId: string | undefined;
};

function toRequest({ model, instructions, input, maxTokens, verify }: z.output<typeof schema>): ApiRequest {
  const system = instructions.trim() === "" ? [] : [{ role: "system", content: instructions }];
  return {
    path: "/v1/responses",
    body: {
      model,
      ...(instructions.trim() !== "" && { instructions }),
      input,
      stream: true,
      ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
      ...(verify && { verify_tee: true }),
    },
    graph: {
      document: stringifyDocument(CHAT),
      variables: {
        input: {
          model,
          messages: [...system, { role: "user", content: input }],
          ...(maxTokens !== undefined && { maxTokens }),
          ...(verify && { verifyTee: true }),
        },
      },
      isStream: true,
    },
  };
}

/** A response in OpenAI's newer format, streamed. */
export function Responses({ models }: { models: readonly string[] }) {
  const [response, setResponse] = useState<Response>();
  const first = useFirstModel(models);
  if (models.length === 0) return <EmptyState title="No provider offers chat at the moment." />;
  return (
    <Columns>
      <Section title="Request">
        <RequestForm
          label="Respond"
          schema={schema}
          defaultValues={{
            model: first,
            instructions: "",
            input: "",
            maxTokens: "",
            verify: false,
          }}
          toRequest={toRequest}
          onStart={() => setResponse(undefined)}
          onAnswer={(answer) => readResponse(answer, setResponse)}
        >
          <SelectField label="Model" name="model" options={modelOptions(models)} />
          <LongTextField
            label="Instructions"
            name="instructions"
            rows={2}
            placeholder="You answer in one sentence."
          />
          <LongTextField label="Input" name="input" rows={5} required />
          <TextField
            label="Max output tokens"
            name="maxTokens"
            placeholder="Model default"
            inputMode="numeric"
          />
          <CheckField label="Verify the provider's signature (verify_tee)" name="verify" />
        </RequestForm>
      </Section>
      <Section title="Response">
        {response ? (
          <>
            <div>
              <Pill
                tone={
                  response.status === "completed" ? "good" : response.status === "failed" ? "bad" : "running"
                }
              >
                {response.status.replaceAll("_", " ")}
              </Pill>
            </div>
            <Markdown text={response.text} />
            {response.status !== "in_progress" && (
              <BillLine bill={response.bill} requestId={response.requestId}>
                {response.tokens && (
                  <>
                    <span>{response.tokens.input_tokens.toLocaleString("en")} tokens in</span>
                    <span>{response.tokens.output_tokens.toLocaleString("en")} out</span>
                  </>
                )}
              </BillLine>
            )}
          </>
        ) : (
          <EmptyState title="No response yet.">It appears here token by token.</EmptyState>
        )}
      </Section>
    </Columns>
  );
}

/** Reads the events of a response. Throws `RequestFailed` if it failed. */
async function readResponse(answer: globalThis.Response, show: (response: Response) => void): Promise<void> {
  let text = "";
  const pace = new DrawPace();
  const requestId = answer.headers.get("x-request-id") ?? undefined;
  const common = () => ({ text, requestId });
  show({ ...common(), status: "in_progress" });
  try {
    for await (const event of eventsOf(answer)) {
      const part = delta.safeParse(event).data;
      if (part) text += part.delta;
      const end = ended.safeParse(event).data?.response;
      if (end?.error) throw new RequestFailed(end.error);
      if (end)
        return show({ ...common(), status: end.status, tokens: end.usage, bill: billOf(end.x_0g_trace) });
      pace.draw(() => show({ ...common(), status: "in_progress" }));
    }
    show({ ...common(), status: "interrupted" });
  } catch (error) {
    show({ ...common(), status: error instanceof RequestFailed ? "failed" : "stopped" });
    throw error;
  }
}

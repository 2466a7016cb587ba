import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { SNIFFED_BYTES, sniffType } from "../../src/storage/downloads/content-type.ts";
import { FOLLOW_IMAGE, READ_IMAGE, SUBMIT_IMAGE } from "./documents.ts";
import type { McpCall, OperationRunner } from "./run-operation.ts";
import { argumentFault, failureOf, textOf, toolError } from "./tool-result.ts";

const PREFIX_CHARACTERS = Math.ceil((SNIFFED_BYTES * 4) / 3 / 4) * 4;

const ARGUMENTS = {
  model: { type: "string", description: "The id of an image model." },
  prompt: { type: "string", description: "What to draw." },
  n: { type: "integer", minimum: 1, maximum: 10, description: "The number of images. Default: 1." },
  size: { type: "string", description: "Width and height in pixels, such as `1024x1024`." },
  idempotencyKey: {
    type: "string",
    description: "Repeating a call with it within 24 h returns the same job, and is not charged again.",
  },
};

/** The tool that generates images as a job, and reports its steps as progress. */
export const IMAGE_TOOL: Tool = {
  name: "generate_image",
  title: "Generate an image",
  description:
    "Generates images from a text and returns them. Runs as a job that survives restarts, is charged once and only for " +
    "delivered images, and continues if the client disconnects. Progress is reported by its steps. Needs an `sk-` key.",
  inputSchema: {
    type: "object",
    properties: ARGUMENTS,
    required: ["model", "prompt"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
};

type Options = {
  readonly call: McpCall;
  readonly runner: OperationRunner;
  readonly signal: AbortSignal;
  /** Reports a step. Each has a greater number than the one before. */
  readonly progress: (step: { readonly number: number; readonly message: string }) => Promise<void>;
};

type Job = {
  readonly jobId: string;
  readonly status: string;
  readonly images: readonly { readonly b64Json: string }[] | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
};
type Step = { readonly step: string; readonly status: string; readonly fraction: number | null };

/** Submits a job, follows it to its end, and returns its images. */
export async function generateImage(
  args: Readonly<Record<string, unknown>>,
  { call, runner, signal, progress }: Options,
): Promise<CallToolResult> {
  const refused = argumentFault(args, IMAGE_TOOL.inputSchema);
  if (refused) return refused;
  const submitted = await runner.run(call, { query: SUBMIT_IMAGE, variables: args }, signal);
  const { imageJob } = Object(submitted.data?.submitImageJob) as { imageJob?: { readonly id: string } };
  if (!imageJob) return failureOf(submitted);
  const variables = { id: imageJob.id };
  let number = 0;
  for await (const { data } of runner.follow(call, { query: FOLLOW_IMAGE, variables }, signal)) {
    const event = data?.imageJobProgress as Step | undefined;
    if (event) await progress({ number: ++number, message: messageOf(event) });
  }
  const read = await runner.run(call, { query: READ_IMAGE, variables }, signal);
  const job = read.data?.imageJob as Job | null | undefined;
  if (!job) return failureOf(read);
  const { images, errorCode, errorMessage, ...facts } = job;
  if (!images?.length)
    return toolError({
      code: errorCode ?? "job_failed",
      message: errorMessage ?? `The job is ${job.status}; read it later with its jobId ${job.jobId}.`,
    });
  return {
    content: [
      ...images.map(({ b64Json: data }) => ({ type: "image" as const, data, mimeType: typeOf(data) })),
      { type: "text", text: textOf(facts) },
    ],
  };
}

function messageOf({ step, status, fraction }: Step): string {
  return fraction === null ? `${step} (${status})` : `${step} (${status}, ${Math.round(100 * fraction)} %)`;
}

function typeOf(base64: string): string {
  return sniffType(Buffer.from(base64.slice(0, PREFIX_CHARACTERS), "base64"));
}

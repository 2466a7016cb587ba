import { OperationRefused, ZerographError } from "../core/errors.ts";
import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { send, sendForJson } from "./rest.ts";
import { required } from "./settings.ts";

type Trace = {
  readonly request_id: string;
  readonly provider: string;
  readonly billing: { readonly total_cost: string };
};
type Chunk = {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly x_0g_trace?: Trace;
  readonly error?: { readonly code?: string; readonly message: string };
};
type Model = { readonly id: string; readonly type?: string };

/** An answer may take as long as the gateway's own deadline. */
const ANSWER_MS = 600_000;
const MAX_LINE_CHARACTERS = 16 * 1_048_576;

/** `chat`: sends a question to the first chat model, or to `--model`, and prints the answer as it comes. */
export const command: Command = async ({ words, options, settings, isJson, print, write }) => {
  const question = words.join(" ");
  if (question === "") throw new UsageError("zerograph chat <question> [--model <id>]");
  const credential = required(settings.apiKey, "ZEROGRAPH_KEY", "an sk- key");
  const model = options.model ?? (await firstModel(settings.url));
  const response = await send(`${settings.url}/v1/chat/completions`, {
    method: "POST",
    credential,
    timeoutMs: ANSWER_MS,
    body: {
      model,
      messages: [{ role: "user", content: question }],
      stream: true,
      stream_options: { include_usage: true },
    },
  });
  let answer = "";
  let trace: Trace | undefined;
  for await (const chunk of chunksOf(response)) {
    if (chunk.error) throw new OperationRefused(chunk.error.code ?? "provider_error", chunk.error.message);
    const text = chunk.choices?.[0]?.delta?.content ?? "";
    answer += text;
    if (!isJson) write(text);
    trace = chunk.x_0g_trace ?? trace;
  }
  const { request_id: requestId, provider, billing } = trace ?? {};
  print({ model, answer, requestId, provider, costNeuron: billing?.total_cost }, () =>
    trace ? `\n\n${model} at ${provider}, ${billing?.total_cost} neuron, request ${requestId}` : "",
  );
  return 0;
};

async function firstModel(url: string): Promise<string> {
  const { data } = await sendForJson<{ readonly data: readonly Model[] }>(`${url}/v1/models`, "data");
  const found = data.find(({ type }) => type === "chatbot");
  if (!found) throw new OperationRefused("no_available_provider", "No provider offers chat at the moment.");
  return found.id;
}

/** The JSON of each server-sent event, up to `[DONE]`. Throws `answer_cut_off` if the stream ends without it. */
async function* chunksOf({ body }: Response): AsyncGenerator<Chunk> {
  for await (const data of eventsOf(body))
    if (data === "[DONE]") return;
    else yield toChunk(data);
  throw new ZerographError("answer_cut_off", "The answer ended before it was complete.");
}

function toChunk(data: string): Chunk {
  try {
    return Object(JSON.parse(data)) as Chunk;
  } catch (cause) {
    throw new ZerographError("invalid_answer", "The gateway sent an event that is not JSON.", { cause });
  }
}

async function* eventsOf(body: Response["body"]): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const bytes of body ?? []) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE_CHARACTERS)
        throw new ZerographError("invalid_answer", "The gateway sent a line that is too long.");
      for (const line of lines) {
        const data = line.startsWith("data:") ? line.slice(5).trim() : "";
        if (data !== "") yield data;
      }
    }
  } catch (cause) {
    if (cause instanceof ZerographError) throw cause;
    throw new ZerographError("answer_cut_off", "The connection was lost in the middle of the answer.", {
      cause,
    });
  }
}

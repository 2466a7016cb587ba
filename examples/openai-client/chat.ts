import OpenAI, { APIError } from "openai";

/** What a request cost, besides OpenAI's own members. Amounts are neuron: 10^18 of them are one token of the network. */
type Trace = {
  readonly request_id: string;
  readonly provider: string;
  readonly billing: {
    readonly input_cost: string;
    readonly output_cost: string;
    readonly total_cost: string;
  };
};

const { OPENAI_BASE_URL: baseURL = "http://127.0.0.1:4000/v1", MODEL } = process.env;
const question = process.argv.slice(2).join(" ") || "Tell me about the sea";

/** The first model that answers chats, unless MODEL names one. */
async function chooseModel(client: OpenAI): Promise<string> {
  if (MODEL) return MODEL;
  for await (const model of client.models.list())
    if ((model as { type?: string }).type === "chatbot") return model.id;
  throw new Error("No provider offers chat at the moment.");
}

async function chat(client: OpenAI): Promise<void> {
  const stream = await client.chat.completions.create({
    model: await chooseModel(client),
    messages: [{ role: "user", content: question }],
    stream: true,
    // The chunk with the usage is the one that carries the bill.
    stream_options: { include_usage: true },
  });
  let trace: Trace | undefined;
  for await (const chunk of stream) {
    process.stdout.write(chunk.choices[0]?.delta.content ?? "");
    trace = (chunk as { x_0g_trace?: Trace }).x_0g_trace ?? trace;
  }
  if (trace)
    console.log(`\n\nIt cost ${trace.billing.total_cost} neuron and was answered by ${trace.provider}.`);
}

try {
  // OPENAI_API_KEY is the sk- key: the package reads it by itself.
  await chat(new OpenAI({ baseURL }));
} catch (error) {
  if (!(error instanceof APIError)) throw error;
  console.error(`Refused: ${error.code} (${error.status}): ${error.message}`);
  process.exitCode = 1;
}

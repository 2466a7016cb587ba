/** What a snippet calls: a model of a service type of the graph, with a key. */
type Call = {
  readonly origin: string;
  readonly secret: string;
  readonly model: string;
  readonly serviceType: string;
};

type Snippet = { readonly name: string; readonly code: string };

/** In place of a secret that is not known. */
export const NO_SECRET = "sk-...";
const QUESTION = "Why is the sea salt?";

/** How to call a model in curl, Python, TypeScript and GraphQL, for each type of service. */
export function callSnippets(call: Call): readonly Snippet[] {
  const kind = KINDS[call.serviceType] ?? chat;
  const { path, form, body, python, typescript, graphql } = kind(call.model);
  const base = `${call.origin}/v1`;
  const bearer = `-H "Authorization: Bearer ${call.secret}"`;
  const sent = form ?? `-H "Content-Type: application/json" \\\n  -d ${shell(JSON.stringify(body))}`;
  return [
    { name: "curl", code: `curl ${base}${path} ${bearer} \\\n  ${sent}` },
    ...(python
      ? [
          {
            name: "Python",
            code: `from openai import OpenAI\n\nclient = OpenAI(base_url="${base}", api_key="${call.secret}")\n${python}`,
          },
        ]
      : []),
    ...(typescript
      ? [
          {
            name: "TypeScript",
            code: `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${base}", apiKey: "${call.secret}" });\n${typescript}`,
          },
        ]
      : []),
    ...(graphql
      ? [
          {
            name: "GraphQL",
            code: `curl ${call.origin}/graphql ${bearer} \\\n  -H "Content-Type: application/json" \\\n  -d ${shell(JSON.stringify(graphql))}`,
          },
        ]
      : []),
  ];
}

type Kind = {
  readonly path: string;
  /** The arguments of curl for a form, in place of a body. */
  readonly form?: string;
  readonly body?: object;
  readonly python?: string;
  readonly typescript?: string;
  readonly graphql?: { readonly query: string; readonly variables: object };
};

const USER_ERRORS = "userErrors { field message }";

function chat(model: string): Kind {
  const messages = [{ role: "user", content: QUESTION }];
  return {
    path: "/chat/completions",
    body: { model, messages },
    python: `answer = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": "${QUESTION}"}],
)
print(answer.choices[0].message.content)`,
    typescript: `const answer = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: "user", content: "${QUESTION}" }],
});
console.log(answer.choices[0]?.message.content);`,
    graphql: {
      query: `mutation ($input: CompleteChatInput!) { completeChat(input: $input) { completion { choices { text } } ${USER_ERRORS} } }`,
      variables: { input: { model, messages } },
    },
  };
}

function images(model: string): Kind {
  const prompt = "A lighthouse at dusk";
  return {
    path: "/images/generations",
    body: { model, prompt, response_format: "b64_json" },
    python: `image = client.images.generate(
    model=${JSON.stringify(model)}, prompt="${prompt}", response_format="b64_json"
)
print(image.data[0].b64_json[:40])`,
    typescript: `const image = await client.images.generate({
  model: ${JSON.stringify(model)},
  prompt: "${prompt}",
  response_format: "b64_json",
});
console.log(image.data?.[0]?.b64_json?.slice(0, 40));`,
    graphql: {
      query: `mutation ($input: GenerateImagesInput!) { generateImages(input: $input) { images { b64Json } ${USER_ERRORS} } }`,
      variables: { input: { model, prompt } },
    },
  };
}

function edits(model: string): Kind {
  return {
    path: "/images/edits",
    form: `${modelField(model)} -F prompt="Make it night" -F image=@picture.png`,
    python: `image = client.images.edit(
    model=${JSON.stringify(model)}, prompt="Make it night", image=open("picture.png", "rb")
)
print(image.data[0].b64_json[:40])`,
  };
}

function transcriptions(model: string): Kind {
  return {
    path: "/audio/transcriptions",
    form: `${modelField(model)} -F file=@recording.wav`,
    python: `text = client.audio.transcriptions.create(
    model=${JSON.stringify(model)}, file=open("recording.wav", "rb")
)
print(text.text)`,
    typescript: `import { createReadStream } from "node:fs";

const { text } = await client.audio.transcriptions.create({
  model: ${JSON.stringify(model)},
  file: createReadStream("recording.wav"),
});
console.log(text);`,
  };
}

function embeddings(model: string): Kind {
  return {
    path: "/embeddings",
    body: { model, input: QUESTION },
    python: `answer = client.embeddings.create(model=${JSON.stringify(model)}, input="${QUESTION}")
print(len(answer.data[0].embedding))`,
    typescript: `const answer = await client.embeddings.create({ model: ${JSON.stringify(model)}, input: "${QUESTION}" });
console.log(answer.data[0]?.embedding.length);`,
  };
}

function speech(model: string): Kind {
  return {
    path: "/audio/speech",
    form: `-H "Content-Type: application/json" \\\n  -d ${shell(JSON.stringify({ model, voice: "alloy", input: "The sea is salt.", response_format: "wav" }))} > sea.wav`,
    python: `speech = client.audio.speech.create(
    model=${JSON.stringify(model)}, voice="alloy", input="The sea is salt.", response_format="wav"
)
speech.write_to_file("sea.wav")`,
  };
}

function rankings(model: string): Kind {
  return { path: "/rerank", body: { model, query: QUESTION, documents: ["A quiet river", "Salt of rocks"] } };
}

const KINDS: Readonly<Record<string, (model: string) => Kind>> = {
  CHATBOT: chat,
  TEXT_TO_IMAGE: images,
  IMAGE_EDITING: edits,
  SPEECH_TO_TEXT: transcriptions,
  EMBEDDING: embeddings,
  TEXT_TO_SPEECH: speech,
  RERANK: rankings,
};

/** With `-F`, curl would read a model whose name begins with @ or < from a file. */
function modelField(model: string): string {
  return `--form-string model=${shell(model)}`;
}

/** A text as one argument of a POSIX shell. */
function shell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

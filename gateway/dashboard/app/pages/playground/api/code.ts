import type { ApiRequest } from "./request.ts";

/** A language with the code of a request. `shown` is the code with long data left out, where there is any. */
export type CodeOf = { readonly name: string; readonly code: string; readonly shown?: string };

/** The variable of the environment that holds the key. */
const KEY = "ZEROGRAPH_API_KEY";
const MAX_SHOWN = 200;

/** A request as code in every language that the page shows. `origin` is that of the gateway. */
export function codeOf(request: ApiRequest, origin: string): readonly CodeOf[] {
  const languages = [
    ["curl", toCurl],
    ["Python", toPython],
    ["TypeScript", toTypeScript],
    ["GraphQL", toGraphql],
  ] as const;
  return languages.map(([name, write]) => {
    const code = write(request, origin);
    const shown = withoutData(code);
    return { name, code, ...(shown !== code && { shown }) };
  });
}

/** A command for a POSIX shell. */
export function toCurl(request: ApiRequest, origin: string): string {
  const { path, headers = {}, body, file } = request;
  const { stream } = body;
  const lines = [
    `curl ${stream === true ? "-N " : ""}${origin}${path}`,
    `-H "Authorization: Bearer $${KEY}"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
  ];
  if (file) {
    const fields = Object.entries(body).map(
      ([name, value]) => `--form-string ${inShell(`${name}=${value}`)}`,
    );
    return [
      ...lines,
      ...fields,
      `-F ${inShell(`${file.name}=@"${file.fileName.replaceAll(/["\\]/g, "\\$&")}"`)}`,
    ].join(" \\\n  ");
  }
  // No line of the body can be `JSON` alone: line breaks within texts are escaped.
  const command = [
    ...lines,
    "-H 'Content-Type: application/json'",
    `--data-binary @-${saved(request)} <<'JSON'`,
  ];
  return `${command.join(" \\\n  ")}\n${inJson(body)}\nJSON`;
}

/** A program with the package `openai` of Python. */
export function toPython(request: ApiRequest, origin: string): string {
  const { path, headers, body, file } = request;
  const call = CALLS[path];
  const head = [
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${inPython(`${origin}/v1`)}, api_key=os.environ[${inPython(KEY)}])`,
  ];
  if (!call) {
    const post = [
      `answer = client.post(${inPython(path.replace(/^\/v1/, ""))}, body=${inPython(body)}, cast_to=object${headers ? `, options={"headers": ${inPython(headers)}}` : ""})`,
      "print(answer)",
    ];
    return [...head, ...post].join("\n");
  }
  const { known, extra } = split(body);
  const given = [
    ...Object.entries(known).map(([name, value]) => `${name}=${inPython(value, "    ")}`),
    ...(file ? [`file=open(${inPython(file.fileName)}, "rb")`] : []),
    ...(Object.keys(extra).length > 0 ? [`extra_body=${inPython(extra, "    ")}`] : []),
    ...(headers ? [`extra_headers=${inPython(headers, "    ")}`] : []),
  ];
  const lines = given.map((line) => `    ${line},`);
  return [...head, `answer = client.${call.name}(`, ...lines, ")", ...call.python].join("\n");
}

/** A program with the package `openai` of TypeScript. */
export function toTypeScript(request: ApiRequest, origin: string): string {
  const { path, headers, body, file } = request;
  const call = CALLS[path];
  const options = headers ? `, { headers: ${inJson(headers)} }` : "";
  const head = [
    ...(file ? ['import { createReadStream } from "node:fs";'] : []),
    ...(path.endsWith("/speech") ? ['import { writeFile } from "node:fs/promises";'] : []),
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: ${JSON.stringify(`${origin}/v1`)}, apiKey: process.env.${KEY} });`,
  ];
  if (!call) {
    const given = `{ body: ${inJson(body)}${headers ? `, headers: ${inJson(headers)}` : ""} }`;
    return [
      ...head,
      `const answer = await client.post(${JSON.stringify(path.replace(/^\/v1/, ""))}, ${given});`,
      "console.log(answer);",
      "",
    ].join("\n");
  }
  const { extra } = split(body);
  const added = Object.keys(extra).map((name) => `${name}: unknown`);
  const type = added.length > 0 ? `${call.type} & { ${added.join("; ")} }` : call.type;
  const text = file
    ? // By a function, as a text would read the $ of a file's name as a pattern.
      inJson(body).replace(
        /\n}$/,
        () => `,\n  "${file.name}": createReadStream(${JSON.stringify(file.fileName)})\n}`,
      )
    : inJson(body);
  return [
    ...head,
    `const body: ${type} = ${text};`,
    `const answer = await client.${call.name}(body${options});`,
    ...call.typescript,
    "",
  ].join("\n");
}

/** What separates the operation from its variables. */
export const VARIABLES = "# Variables, as JSON:";

/** The operation of the graph, and its variables. */
export function toGraphql({ graph: { document, variables, isStream } }: ApiRequest, origin: string): string {
  const where = isStream
    ? `# POST ${origin}/graphql/stream, Accept: text/event-stream`
    : `# POST ${origin}/graphql`;
  return `${where}\n# Authorization: Bearer $${KEY}\n${document.trim()}\n\n${VARIABLES}\n${inJson(variables)}`;
}

type Call = {
  readonly name: string;
  /** The type of the body in TypeScript. */
  readonly type: string;
  readonly python: readonly string[];
  readonly typescript: readonly string[];
};

/** The methods of both packages, by path. */
const CALLS: Readonly<Record<string, Call>> = {
  "/v1/chat/completions": {
    name: "chat.completions.create",
    type: "OpenAI.Chat.ChatCompletionCreateParamsStreaming",
    python: [
      "for chunk in answer:",
      "    if chunk.choices:",
      '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
    ],
    typescript: [
      'for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");',
    ],
  },
  "/v1/responses": {
    name: "responses.create",
    type: "OpenAI.Responses.ResponseCreateParamsStreaming",
    python: [
      "for event in answer:",
      '    if event.type == "response.output_text.delta":',
      '        print(event.delta, end="", flush=True)',
    ],
    typescript: [
      "for await (const event of answer)",
      '  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);',
    ],
  },
  "/v1/embeddings": {
    name: "embeddings.create",
    type: "OpenAI.EmbeddingCreateParams",
    python: ["print([item.embedding for item in answer.data])"],
    typescript: ["console.log(answer.data.map(({ embedding }) => embedding));"],
  },
  "/v1/audio/transcriptions": {
    name: "audio.transcriptions.create",
    type: "OpenAI.Audio.TranscriptionCreateParamsNonStreaming",
    python: ["print(answer.text)"],
    typescript: ["console.log(answer.text);"],
  },
  "/v1/audio/speech": {
    name: "audio.speech.create",
    type: "OpenAI.Audio.SpeechCreateParams",
    python: ['answer.write_to_file("speech")'],
    typescript: ['await writeFile("speech", new Uint8Array(await answer.arrayBuffer()));'],
  },
};

/** Fields of ours, which neither package knows. */
const OURS = new Set(["verify_tee", "provider", "session_id", "models"]);

function split(body: ApiRequest["body"]) {
  const known: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) (OURS.has(name) ? extra : known)[name] = value;
  return { known, extra };
}

function saved({ path }: ApiRequest): string {
  return path.endsWith("/speech") ? " -o speech" : "";
}

function inJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function inShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A value of JSON as a literal of Python, whose strings have the escapes of JSON except pairs of surrogates. */
function inPython(value: unknown, indent = ""): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => inPython(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${inPython(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

/** Long data URLs cut, for display only. */
function withoutData(code: string): string {
  return code.replaceAll(
    /(data:[\w/+.-]{1,64};base64,)([A-Za-z0-9+/=]+)/g,
    (whole, start: string, data: string) =>
      data.length <= MAX_SHOWN
        ? whole
        : `${start}${data.slice(0, 24)}… (${data.length} characters, copied in full)`,
  );
}

import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import {
  codeOf,
  toCurl,
  toPython,
  toTypeScript,
} from "../../../gateway/dashboard/app/pages/playground/api/code.ts";
import type { ApiRequest } from "../../../gateway/dashboard/app/pages/playground/api/request.ts";

const ORIGIN = "http://127.0.0.1:1";
const HOSTILE = 'it\'s "$HOME" `id` \\ \n\nJSON\nEOF\u2028 <script> 🌊 \ud800 $(id)';

function chat(content: unknown): ApiRequest {
  return {
    path: "/v1/chat/completions",
    headers: { "X-0G-Provider-Sort": "price" },
    body: {
      model: "m",
      messages: [{ role: "user", content }],
      stream: true,
      temperature: 0.5,
      verify_tee: true,
      stop: null,
    },
    graph: { document: "subscription { a }", variables: {}, isStream: true },
  };
}

/** The arguments and the standard input that a shell gives to `curl`. */
function runShell(command: string): { readonly words: readonly string[]; readonly body: string } {
  const fake = `curl() { printf '%s\\0' "$@"; printf '\\1'; cat; }\n${command}`;
  const text = execFileSync("sh", ["-c", fake], { env: { ZEROGRAPH_API_KEY: "sk-1" }, input: "" }).toString();
  const [words = "", body = ""] = text.split("\u0001");
  return { words: words.split("\0").slice(0, -1), body };
}

test("a shell passes the body of a command on as it is, whatever a text contains", () => {
  const request = chat(HOSTILE);
  const { words, body } = runShell(toCurl(request, ORIGIN));
  expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(request.body)));
  expect(words).toEqual([
    "-N",
    `${ORIGIN}/v1/chat/completions`,
    "-H",
    "Authorization: Bearer sk-1",
    "-H",
    "X-0G-Provider-Sort: price",
    "-H",
    "Content-Type: application/json",
    "--data-binary",
    "@-",
  ]);
});

test("a shell passes the fields of a form on as they are, also those that curl would take for files", () => {
  const request: ApiRequest = {
    path: "/v1/audio/transcriptions",
    body: { model: "@/etc/passwd", prompt: "it's; $(id)" },
    file: { name: "file", fileName: 'a "b"; type=x\'.wav' },
    graph: { document: "mutation { a }", variables: {}, isStream: false },
  };
  const { words } = runShell(toCurl(request, ORIGIN));
  expect(words.slice(-6)).toEqual([
    "--form-string",
    "model=@/etc/passwd",
    "--form-string",
    "prompt=it's; $(id)",
    "-F",
    'file=@"a \\"b\\"; type=x\'.wav"',
  ]);
});

test("TypeScript opens the file of a form by its name, whatever that is", () => {
  for (const fileName of ["a.wav", "$& $1 $$ $' $`.wav"]) {
    const request: ApiRequest = {
      path: "/v1/audio/transcriptions",
      body: { model: "m" },
      file: { name: "file", fileName },
      graph: { document: "mutation { a }", variables: {}, isStream: false },
    };
    expect(toTypeScript(request, ORIGIN)).toContain(`createReadStream(${JSON.stringify(fileName)})`);
  }
});

test("Python reads the values of a program as they are", (context) => {
  const program = toPython(chat([{ type: "text", text: HOSTILE.replace("\ud800", "") }]), ORIGIN);
  const fake = [
    "import sys, types, json, os",
    "os.environ['ZEROGRAPH_API_KEY'] = 'sk-1'",
    "class Any:",
    "    def __getattr__(self, name): return self",
    "    def __iter__(self): return iter([])",
    "    def __call__(self, **given):",
    "        if 'messages' in given: print(json.dumps(given))",
    "        return self",
    "sys.modules['openai'] = types.SimpleNamespace(OpenAI=Any())",
    program,
  ].join("\n");
  let output: string;
  try {
    output = execFileSync("python3", ["-c", fake]).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return context.skip();
    throw error;
  }
  expect(JSON.parse(output)).toEqual({
    model: "m",
    messages: [{ role: "user", content: [{ type: "text", text: HOSTILE.replace("\ud800", "") }] }],
    stream: true,
    temperature: 0.5,
    stop: null,
    extra_body: { verify_tee: true },
    extra_headers: { "X-0G-Provider-Sort": "price" },
  });
});

test("long data of images is left out of what is shown, and not of what is copied", () => {
  const url = `data:image/png;base64,${"A".repeat(4_000)}`;
  for (const { name, code, shown } of codeOf(chat([{ type: "image_url", image_url: { url } }]), ORIGIN)) {
    if (name === "GraphQL") continue;
    expect(code).toContain(url);
    expect(shown).not.toContain(url);
    expect(shown).toContain("4000 characters");
  }
});

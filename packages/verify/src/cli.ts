#!/usr/bin/env node
import { readFileSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Check } from "./check.ts";
import { checkQuote } from "./quote-check.ts";
import { type Verification, verify } from "./verify.ts";

const USAGE = `Verifies a receipt offline.

Usage: zerograph-verify <bundle.json> [--request <file>] [--answer <file>] [--key <key>] [--json]

  <bundle.json>     the JSON of GET /v1/receipts/{id}
  --request <file>  the body of the request, exactly as it was sent
  --answer <file>   the body of the answer, exactly as it was received
  --key <key>       the router's public key, known from elsewhere than the bundle
  --json            print the checks as JSON

Exit status: 0 if no check failed, 1 if one failed, 2 if the files cannot be read.`;

const MAX_BUNDLE_BYTES = 16 * 1_048_576;
const MAX_BODY_BYTES = 256 * 1_048_576;
const MARKS = { passed: "passed     ", failed: "FAILED     ", not_checked: "not checked" } as const;

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(
    process.argv.includes("--json") ? JSON.stringify({ error: failureOf(error, message) }) : message,
  );
  process.exitCode = 2;
}

/** The code of a failure, as the other commands have it. */
function failureOf(error: unknown, message: string): { readonly code: string; readonly message: string } {
  if (error instanceof Error && "syscall" in error) return { code: "file_error", message };
  const isUsage = message === USAGE || (error instanceof TypeError && "code" in error);
  return { code: isUsage ? "usage" : "invalid_bundle", message };
}

async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      request: { type: "string" },
      answer: { type: "string" },
      key: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [path, ...rest] = positionals;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (path === undefined || rest.length > 0) throw new Error(USAGE);
  const { request, answer, key, json } = values;
  const verification = await verify(
    {
      bundle: read(path, MAX_BUNDLE_BYTES).toString("utf8"),
      request: request === undefined ? undefined : read(request, MAX_BODY_BYTES),
      answer: answer === undefined ? undefined : read(answer, MAX_BODY_BYTES),
      key,
    },
    checkQuote,
  );
  console.log(json ? JSON.stringify(verification, null, 2) : toText(verification));
  return verification.ok ? 0 : 1;
}

function read(path: string, maxBytes: number): Buffer {
  if (statSync(path).size > maxBytes) throw new Error(`${path} is longer than ${maxBytes} bytes.`);
  return readFileSync(path);
}

function toText({ ok, checks }: Verification): string {
  const failures = checks.filter(({ result }) => result === "failed").length;
  const summary = ok ? "No check failed." : `${failures} of ${checks.length} checks failed.`;
  return [...checks.map(toLine), "", summary].join("\n");
}

function toLine({ title, result, reason }: Check): string {
  return `${MARKS[result]}  ${title}\n             ${reason}`;
}

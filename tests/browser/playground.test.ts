// @module-tag large
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildSchema, parse, validate } from "graphql";
import type { Locator, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { VARIABLES } from "../../gateway/dashboard/app/pages/playground/api/code.ts";
import { type openPage, requireAccessible } from "../support/clients/browser.ts";
import { toWav } from "../support/inference/wav.ts";
import { scaled } from "../support/machine.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const run = promisify(execFile);
const dashboard = useDashboard();
/** An image of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** The playground after signing in. */
async function open(options: Parameters<typeof openPage>[2] = {}) {
  const opened = await dashboard().signedIn(options);
  await go(opened.page, "Playground");
  await opened.page.getByLabel("Your question").waitFor();
  return opened;
}

/** Asks a question by keyboard, and waits until `count` answers in all are billed. */
async function ask(page: Page, question: string, count: number): Promise<void> {
  await page.getByLabel("Your question").fill(question);
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => details(page).count()).toBe(count);
}

function details(page: Page): Locator {
  return page.getByRole("link", { name: "Details" });
}

/** The code of the current request in a language. */
async function codeIn(page: Page, language: string): Promise<string> {
  await page.getByRole("button", { name: "View code" }).click();
  const dialog = page.getByRole("dialog", { name: "Code of this request" });
  await dialog.getByRole("tab", { name: language }).click();
  const code = await dialog.getByRole("tabpanel").locator("code").textContent();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  return code ?? "";
}

/** What this browser keeps. */
function kept(page: Page): Promise<string> {
  return page.evaluate<string>("JSON.stringify([localStorage, sessionStorage])");
}

/** The session key of the page, and how the gateway answers it. */
async function sessionKey(page: Page) {
  const [secret = ""] = /sk-[0-9A-Za-z]{49}/.exec(await kept(page)) ?? [];
  const status = async () =>
    (await fetch(`${dashboard().product.origin}/v1/key`, { headers: { authorization: `Bearer ${secret}` } }))
      .status;
  return { secret, status };
}

test("a conversation goes on after a reload and another page, with one key, which signing out revokes", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await open();
  expect(await kept(page)).not.toContain("sk-");
  await ask(page, "What is the sea?", 1);
  const { secret, status } = await sessionKey(page);
  expect(await status()).toBe(200);
  await page.getByRole("region", { name: "Key of this page" }).getByText("left").waitFor();

  await page.reload();
  await page.getByText("What is the sea?").waitFor();
  await go(page, "Overview");
  await go(page, "Playground");
  await ask(page, "And the shore?", 2);
  expect((await sessionKey(page)).secret).toBe(secret);
  const body = /<<'JSON'\n([\s\S]*)\nJSON$/.exec(await codeIn(page, "curl"))?.[1] ?? "";
  expect(JSON.parse(body).messages.map(({ role }: { role: string }) => role)).toEqual([
    "user",
    "assistant",
    "user",
  ]);

  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with the development wallet" }).waitFor();
  expect(await status()).toBe(401);
  expect(await kept(page)).not.toMatch(/sk-|sea|0x/);
  expect(faults).toEqual([]);
});

test("a question is answered on a page over plain HTTP, where browsers have no random UUIDs", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await page.addInitScript("delete Crypto.prototype.randomUUID");
  await page.goto(`${dashboard().product.origin}/dashboard/playground`);
  await ask(page, "Why is the sea salty?", 1);
  expect(faults).toEqual([]);
});

test("models answer beside each other, again, edited, and not after they were stopped", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await open();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByLabel("Verify the provider's signature").check();
  await ask(page, "What is the tide?", 2);
  const first = page.getByRole("article", { name: "Answer of devnet-chat", exact: true });
  const second = page.getByRole("article", { name: "Answer of devnet-chat-cached" });
  for (const answer of [first, second]) {
    await answer.getByText("signature verified").waitFor();
    await answer.getByText(/^\d+ tokens in$/).waitFor();
    await answer.getByText(/^first after [\d,]+ ms$/).waitFor();
    await answer.locator(".amount").waitFor();
  }
  await requireAccessible(page, "playground-compare");

  const link = await second.getByRole("link", { name: "Details" }).getAttribute("href");
  await second.getByRole("button", { name: "Regenerate with devnet-chat-cached" }).click();
  await expect.poll(() => second.getByRole("link", { name: "Details" }).getAttribute("href")).not.toBe(link);

  await page.getByRole("button", { name: "Edit" }).click();
  expect(await page.getByLabel("Your question").inputValue()).toBe("What is the tide?");
  expect(await details(page).count()).toBe(0);
  await page.getByRole("button", { name: "Remove model 2" }).click();

  // An answer that does not come is stopped, and says so after a reload too.
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/v1/chat/completions", async (route) => {
    await held;
    await route.abort().catch(() => {});
  });
  await page.getByLabel("Your question").fill("Never answered");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("stopped", { exact: true }).waitFor();
  release();
  await page.reload();
  await page.getByText("stopped", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByText("Ask a model something.").waitFor();
  expect(await kept(page)).not.toContain("Never answered");
  expect(faults).toEqual([]);
});

test("an answer that is pending when the page is reloaded or left is kept as stopped", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await open();
  // Never answered: the page is gone before.
  await page.route("**/v1/chat/completions", () => {});
  const stopped = page.getByText("stopped", { exact: true });
  const leaves = [
    () => page.reload(),
    () => page.goto(`${dashboard().product.origin}/dashboard/playground?left`),
  ];
  for (const [n, leave] of leaves.entries()) {
    const sent = page.waitForRequest("**/v1/chat/completions");
    await page.getByLabel("Your question").fill(`Never answered ${n}`);
    await page.getByRole("button", { name: "Send" }).click();
    await sent;
    await leave();
    await page.getByText(`Never answered ${n}`).waitFor();
    await expect.poll(() => stopped.count()).toBe(n + 1);
  }
  expect(await kept(page)).not.toContain("cannot be reached");
});

test("a tool is called, its result is entered, and an answer follows; a schema makes the answer JSON", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await open();
  const tools = page.getByLabel("Tools");
  await tools.fill("{");
  await page.getByText(/^This is not JSON/).waitFor();
  await page.getByLabel("Your question").fill("What is the weather?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("tools");
  const properties = { city: { type: "string" } };
  await tools.fill(JSON.stringify({ name: "weather", parameters: { type: "object", properties } }));
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Calls weather with").waitFor();
  await page.locator(".tool-call").getByText('"city":').waitFor();
  await page.getByLabel("Result of weather").fill('{"celsius": 21}');
  await page.getByRole("button", { name: "Send the result" }).click();
  await expect.poll(() => details(page).count()).toBe(2);
  await page.getByText("You returned from weather").waitFor();
  await requireAccessible(page, "playground-tools");

  await tools.fill("");
  await page.getByLabel("Structured output").fill(JSON.stringify({ type: "object", properties }));
  await ask(page, "Where?", 3);
  const json = await page.locator(".markdown-code code").last().textContent();
  expect(JSON.parse(json ?? "")).toEqual({ city: expect.any(String) });
  expect(faults).toEqual([]);
});

test("the code of a request runs: curl and TypeScript as they are shown, and the operation of the graph is valid", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await open();
  await page.getByLabel("System prompt").fill('It\'s "$HOME" `id` \\');
  await page.getByLabel("Max tokens").fill("7");
  await page.getByLabel("Provider order").selectOption("price");
  await page.getByLabel("Verify the provider's signature").check();
  await page.getByLabel("Your question").fill("What is the sea?\nJSON\nAnd 'the' shore?");
  const env = { PATH: process.env.PATH ?? "", ZEROGRAPH_API_KEY: dashboard().product.sk };

  const curl = await run("sh", ["-c", await codeIn(page, "curl")], { env });
  expect(curl.stdout).toContain('"completion_tokens":7');
  expect(curl.stdout).toContain('"tee_verified":true');
  const answer = [...curl.stdout.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join("");

  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "chat.ts"), await codeIn(page, "TypeScript"));
  const program = await run(process.execPath, [join(folder, "chat.ts")], { env });
  expect(program.stdout).toBe(answer);
  const strict = ["--strict", "--noEmit", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"];
  await run(process.execPath, [
    resolve("node_modules/typescript/bin/tsc"),
    ...strict,
    join(folder, "chat.ts"),
  ]);

  const [operation = "", variables = ""] = (await codeIn(page, "GraphQL")).split(VARIABLES);
  const sdl = await (await fetch(`${dashboard().product.origin}/schema.graphql`)).text();
  expect(validate(buildSchema(sdl), parse(operation))).toEqual([]);
  const response = await fetch(`${dashboard().product.origin}/graphql/stream`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${dashboard().product.sk}`,
      accept: "text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({ query: operation, variables: JSON.parse(variables) }),
  });
  const stream = await response.text();
  const texts = [...stream.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text);
  expect(texts.join("")).toBe(answer);
  expect(stream).toContain('"teeVerified":true');
});

test("what is typed while an image is read stays", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await open();
  // The browser reads the file when the test lets it.
  await page.evaluate(`(() => {
    const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (file) {
      globalThis.readNow = () => read.call(this, file);
    };
  })()`);
  const image = { name: "a.png", mimeType: "image/png", buffer: PNG };
  await page.locator("input[type=file]").setInputFiles([image]);
  await expect.poll(() => page.evaluate("typeof readNow")).toBe("function");
  const question = page.getByLabel("Your question");
  await question.fill("What does it show?");
  await page.evaluate("readNow()");
  await page.getByRole("list", { name: "Attached images" }).waitFor();
  expect(await question.inputValue()).toBe("What does it show?");
});

test("images are attached by file and drop, refused with the reason, and sent", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await open();
  const input = page.locator('input[type="file"]');
  await input.setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") }]);
  await page.getByText("a.txt is no PNG, JPEG, WebP or GIF image.").waitFor();
  const text = Buffer.from("notimage");
  await input.setInputFiles([{ name: "text.png", mimeType: "image/png", buffer: text }]);
  await page.getByText("text.png cannot be read as an image.").waitFor();
  await input.setInputFiles([{ name: "a.png", mimeType: "image/png", buffer: PNG }]);
  await page.getByRole("img", { name: "Attachment 1" }).waitFor();
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob("${PNG.toString("base64")}"), (c) => c.charCodeAt(0))], "b.png", { type: "image/png" }));
    const composer = document.querySelector(".composer");
    composer.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  })()`);
  await page.getByRole("img", { name: "Attachment 2" }).waitFor();
  await page.getByText("devnet-chat may not read images").waitFor();
  const sent = page.waitForRequest("**/v1/chat/completions");
  await ask(page, "What is this?", 1);
  const { messages } = (await sent).postDataJSON();
  expect(messages[0].content.map(({ type }: { type: string }) => type)).toEqual([
    "text",
    "image_url",
    "image_url",
  ]);
  expect(messages[0].content[1].image_url.url).toBe(`data:image/png;base64,${PNG.toString("base64")}`);
  expect(faults).toEqual([]);
});

test("failures say their code and what to do: a wrong key, a rate limit with its time, an empty balance", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await open();
  await page.getByRole("button", { name: "Use another key" }).click();
  await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("secret");
  await page.getByLabel("API key").fill("mk-1");
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("An API key starts with sk-.").waitFor();
  await page.getByLabel("API key").fill(`sk-${"a".repeat(49)}`);
  await page.getByRole("button", { name: "Use this key" }).click();
  const question = page.getByLabel("Your question");
  await question.fill("Hello?");
  await page.keyboard.press("Control+Enter");
  await page.getByText("invalid_api_key").waitFor();
  await page.getByText("Start a new session key").waitFor();
  expect(await kept(page)).not.toContain("sk-aaa");

  const refuse = (status: number, code: string, headers: Readonly<Record<string, string>> = {}) =>
    page.route(
      "**/v1/chat/completions",
      (route) =>
        route.fulfill({
          status,
          headers,
          json: { error: { message: "Refused.", type: "x", code, param: null }, request_id: "req-1" },
        }),
      { times: 1 },
    );
  const answerWith = (body: string) =>
    page.route(
      "**/v1/chat/completions",
      (route) => route.fulfill({ status: 200, headers: { "content-type": "text/event-stream" }, body }),
      { times: 1 },
    );
  await answerWith("data: {oops\n\n");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("unreadable_answer").waitFor();
  const failed = { error: { message: "The provider failed.", code: "provider_error" }, request_id: "req-2" };
  const half = { choices: [{ delta: { content: "Half <b>an</b>" } }] };
  await answerWith([half, failed].map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("provider_error").waitFor();
  await page.getByText("Half <b>an</b>").waitFor();
  await refuse(429, "rate_limit_exceeded", { "retry-after": "2" });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("rate_limit_exceeded").waitFor();
  await page.getByText(/You can retry in \d s/).waitFor();
  await requireAccessible(page, "playground-failure");
  await page.getByRole("button", { name: "Use the session key" }).click();
  // The button waits for the time that the gateway named.
  await refuse(402, "insufficient_balance");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("insufficient_balance").waitFor();
  await page.getByText("Request ID: req-1").waitFor();
  await page.getByRole("link", { name: "Go to Deposits" }).click();
  await heading(page, "Deposits");
});

test("every other kind of request answers in its tab, which the URL names", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await open();
  const tab = async (name: string, inUrl = name.toLowerCase()) => {
    await page.getByRole("tab", { name }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("tab")).toBe(inUrl);
  };
  const billed = () => details(page).waitFor();

  await tab("Responses");
  await page.getByLabel("Input").fill("Tell me about the sea");
  await page.getByRole("button", { name: "Respond" }).click();
  await billed();
  await page.getByText("completed", { exact: true }).waitFor();
  await requireAccessible(page, "playground-responses");

  await tab("Speech to text", "transcription");
  await page.getByRole("button", { name: "Transcribe" }).click();
  await page.getByText("Choose an audio file.").waitFor();
  await page
    .getByLabel("Audio file")
    .setInputFiles({ name: "talk.wav", mimeType: "audio/wav", buffer: toWav(1) });
  await page.getByRole("button", { name: "Transcribe" }).click();
  await billed();
  expect(await page.locator("blockquote").textContent()).not.toBe("");
  await requireAccessible(page, "playground-transcription");

  await tab("Text to speech", "speech");
  await page.getByRole("textbox", { name: "Text" }).fill("The sea is salt.");
  await page.getByLabel("Format").selectOption("wav");
  await page.getByRole("button", { name: "Speak" }).click();
  await billed();
  await expect
    .poll(() => page.evaluate("document.querySelector('audio').duration"), { timeout: scaled(30_000) })
    .toBeGreaterThan(0);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  expect((await download).suggestedFilename()).toBe("speech.wav");
  await requireAccessible(page, "playground-speech");

  await tab("Rerank", "rankings");
  await page.getByRole("button", { name: "Rank" }).click();
  await billed();
  const ranked = page.getByRole("list", { name: "Ranking" }).getByRole("listitem");
  expect(await ranked.count()).toBe(3);
  const scores = (await ranked.locator(".figure").allTextContents()).map(Number);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  await requireAccessible(page, "playground-rankings");

  await tab("Embeddings");
  await page.getByLabel("Texts").fill("one");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText("At least two texts, one per line.").waitFor();
  await page.getByLabel("Texts").fill("a quiet river\na quiet river\nan open field");
  await page.getByRole("button", { name: "Compare" }).click();
  await billed();
  const cells = await page.getByRole("table").locator("tbody tr").first().locator("td").allTextContents();
  expect(cells.slice(1, 3)).toEqual(["1.000", "1.000"]);
  expect(Number(cells[3])).toBeLessThan(1);
  await requireAccessible(page, "playground-embeddings");
  expect(faults).toEqual([]);
});

test("an image job shows all its steps after a reload", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await open();
  await page.getByRole("tab", { name: "Images" }).click();
  await page.getByLabel("Prompt").fill("A lighthouse");
  await page.getByRole("button", { name: "Generate" }).click();
  await page.locator(".pictures img").waitFor();
  const steps = page.getByRole("list", { name: "Steps" }).locator("strong");
  const ALL = ["queued", "started", "submitted", "completed"];
  await expect.poll(() => steps.allTextContents()).toEqual(ALL);
  // In another entry of the history, where the browser has no steps: the gateway sends them again.
  await go(page, "Overview");
  await page.goto(`${dashboard().product.origin}/dashboard/playground?tab=images`);
  await page.locator(".pictures img").waitFor();
  await expect.poll(() => steps.allTextContents()).toEqual(ALL);
  expect(faults).toEqual([]);
});

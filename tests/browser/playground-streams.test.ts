// @module-tag large
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { layoutAndScriptMs } from "../support/clients/browser.ts";
import { scaled } from "../support/machine.ts";
import { go, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();
const REQUEST_ID = "00000000-0000-4000-8000-000000000001";

/** An event with a part of an answer. */
function part(content: string): string {
  return `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
}

/** The playground, whose chats are answered by `answer`: a stream of events that has begun. */
async function open(answer: (stream: ServerResponse) => unknown) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": REQUEST_ID });
    response.flushHeaders();
    answer(response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { page } = await dashboard().signedIn();
  await page.route("**/v1/chat/completions", (route) =>
    route.continue({ url: `http://127.0.0.1:${port}/v1/chat/completions` }),
  );
  await go(page, "Playground");
  await page.getByLabel("Your question").fill("Why?");
  return page;
}

/** Sends 200 parts of an answer, each when the browser has taken the one before it, and a task of its own. */
async function stream(response: ServerResponse, text: string): Promise<void> {
  const size = Math.ceil(text.length / 200);
  for (let at = 0; at < text.length; at += size) {
    if (!response.write(part(text.slice(at, at + size))))
      await new Promise((drained) => response.once("drain", drained));
    await new Promise((turned) => setTimeout(turned, 10));
  }
  response.end("data: [DONE]\n\n");
}

/** Whether the focus is in an element, or in one that it contains. */
function hasFocus(page: Page, selector: string): Promise<boolean> {
  return page.evaluate<boolean>(
    `document.querySelector(${JSON.stringify(selector)}).contains(document.activeElement)`,
  );
}

test.for([
  ["one line", "x".repeat(950_000)],
  ["a block of code", `\`\`\`ts\n${"const sea = 'salt';\n".repeat(5_000)}\`\`\``],
  ["a nested list", Array.from({ length: 20_000 }, (_, n) => `${"  ".repeat(n % 4)}- item ${n}\n`).join("")],
] as const)(
  "an answer of %s that is very long leaves the page usable, and is saved whole",
  async ([, text], context) => {
    if (!dashboard().browser) return context.skip();
    const page = await open((response) => stream(response, text));
    const spentMs = await layoutAndScriptMs(page, async () => {
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("link", { name: "Cost and details" }).waitFor();
    });
    expect(spentMs).toBeLessThan(scaled(1_500));
    await page.getByText(`of ${text.length.toLocaleString("en")} characters are shown.`).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all" }).click();
    const saved = await (await download).createReadStream();
    expect(Buffer.concat(await saved.toArray()).toString()).toBe(text);
  },
);

test("an answer that is stopped or breaks off links to its request, also after a reload", async (context) => {
  if (!dashboard().browser) return context.skip();
  const failed = { error: { message: "The provider broke off.", code: "upstream_error" } };
  let isFirst = true;
  const page = await open((response) => {
    response.write(part("The sea"));
    if (!isFirst) response.end(`data: ${JSON.stringify(failed)}\n\n`);
    isFirst = false;
  });
  const details = page.getByRole("link", { name: "Cost and details" });
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("The sea").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await details.waitFor();
  await page.getByLabel("Your question").fill("And now?");
  await page.keyboard.press("Control+Enter");
  await page.getByText("upstream_error").waitFor();
  await expect.poll(() => details.count()).toBe(2);
  await page.reload();
  await expect.poll(() => details.count()).toBe(2);
  expect(await details.first().getAttribute("href")).toBe(`/dashboard/requests/${REQUEST_ID}`);
});

test("an answer whose stream ends without [DONE] is shown as cut off, and can be sent again", async (context) => {
  if (!dashboard().browser) return context.skip();
  let isFirst = true;
  const page = await open((response) => {
    response.end(part("The sea") + (isFirst ? "" : "data: [DONE]\n\n"));
    isFirst = false;
  });
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("answer_cut_off").waitFor();
  expect(await page.getByText("The sea").count()).toBe(1);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: /^Regenerate/ }).waitFor();
  expect(await page.getByText("answer_cut_off").count()).toBe(0);
});

test("the focus goes to the composer after an answer is stopped or complete, and to the answer that comes again", async (context) => {
  if (!dashboard().browser) return context.skip();
  const streams: ServerResponse[] = [];
  const page = await open((response) => {
    streams.push(response);
    response.write(part(`Answer ${streams.length}`));
  });
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Answer 1").waitFor();
  await page.getByRole("button", { name: "Stop" }).press("Enter");
  await page.getByText("stopped", { exact: true }).waitFor();
  await expect.poll(() => hasFocus(page, ".composer textarea")).toBe(true);

  await page.getByRole("button", { name: /^Regenerate/ }).press("Enter");
  await page.getByText("Answer 2").waitFor();
  expect(await hasFocus(page, ".answers-column")).toBe(true);
  await page.getByRole("button", { name: "Stop" }).focus();
  streams.at(-1)?.end("data: [DONE]\n\n");
  await page.getByRole("button", { name: /^Regenerate/ }).waitFor();
  await expect.poll(() => hasFocus(page, ".composer textarea")).toBe(true);

  // A model that is removed takes its button with it.
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("button", { name: "Remove model 2" }).press("Enter");
  await expect.poll(() => hasFocus(page, ".model-row")).toBe(true);
});

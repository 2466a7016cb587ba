import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { exampleTypes } from "../../scripts/example-types.ts";
import { openBrowser, openPage, PATIENCE_MS } from "../support/clients/browser.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import type { HeldImages } from "./held-images.ts";
import type { Product } from "./product.ts";
import { serveExample } from "./serve-example.ts";

const run = promisify(execFile);

/** The guarantees of `examples/` and of the page of curl calls, on a running product. */
export function testExamples(started: () => Product & { readonly images: HeldImages }): void {
  test("the committed types of the examples match their queries and the schema", async () => {
    const generated = await exampleTypes(readFileSync("schema/api.graphql", "utf8"));
    expect([...generated.keys()].length).toBeGreaterThan(1);
    for (const [path, text] of generated)
      expect(readFileSync(join("examples", path), "utf8"), `${path}: run npm run schema`).toBe(text);
  });

  test("the live job continues after its cursor when its socket breaks, shows the image, and never shows its key", async (context) => {
    const onEnd: OnEnd = (end) => context.onTestFinished(end);
    const browser = await openBrowser(onEnd);
    if (!browser) return context.skip();
    const { origin, breakSockets, text } = await serveExample(
      "live-job",
      { origin: started().origin, key: started().sk },
      onEnd,
    );
    expect(text.includes(started().sk)).toBe(false);

    const { page, faults } = await openPage(browser, origin);
    const asked: { after?: string }[] = [];
    const cursors: string[] = [];
    page.on("websocket", (socket) => {
      socket.on("framesent", ({ payload }) => {
        const { type, payload: body } = JSON.parse(String(payload));
        if (type === "subscribe") asked.push(body.variables);
      });
      socket.on("framereceived", ({ payload }) => {
        const { type, payload: body } = JSON.parse(String(payload));
        if (type === "next") cursors.push(body.data.imageJobProgress.cursor);
      });
    });
    await page.goto(origin);
    const release = started().images.hold();
    await page.getByRole("combobox").selectOption(started().images.model);
    await page.getByRole("button", { name: "Make it" }).click();
    await page.getByRole("listitem").first().waitFor();
    await breakSockets();
    await expect.poll(() => asked.length).toBe(2);
    release();
    await page.getByRole("img", { name: "What was asked for" }).waitFor({ timeout: PATIENCE_MS });
    await page.getByRole("status").getByText("completed").waitFor();

    const [first, second] = asked;
    expect(first?.after).toBeUndefined();
    expect(cursors).toContain(second?.after);
    const items = await page.getByRole("listitem").all();
    const steps = await Promise.all(items.map(async (item) => Number(await item.getAttribute("value"))));
    expect(steps).toEqual(steps.map((_, n) => (steps[0] ?? 0) + n));
    expect(steps.length).toBeGreaterThan(1);
    expect(faults.filter((fault) => !/WebSocket/.test(fault))).toEqual([]);
  });

  test("the OpenAI client streams an answer and prints its cost; a wrong key is reported by its code", async () => {
    const { origin, sk } = started();
    const chat = (key: string) =>
      run(resolve("scripts/node"), ["examples/openai-client/chat.ts", "What is the sea?"], {
        env: {
          PATH: process.env.PATH,
          TMPDIR: process.env.TMPDIR,
          OPENAI_BASE_URL: `${origin}/v1`,
          OPENAI_API_KEY: key,
        },
      });
    const { stdout } = await chat(sk);
    expect(stdout).toMatch(/^\S.+\n\nIt cost [1-9]\d* neuron and was answered by 0x[0-9a-fA-F]{40}\.\n$/s);
    await expect(chat("sk-wrong")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Refused: invalid_api_key \(401\)/),
    });
  });

  test("the receiver of an agent token opens the key that was sealed for it, although a node is behind, and reads the data", async () => {
    // The first query for the texts of the token is answered as by a gateway whose node does not have its block yet.
    const { origin } = started();
    const late = `const send = fetch; let isLate = true; globalThis.fetch = async (url, init) => {
      if (!isLate || !String(init?.body).includes("query Texts")) return send(url, init);
      isLate = false;
      const { variables, ...body } = JSON.parse(init.body);
      const later = { ...variables, tokenId: String(2n ** 255n) };
      return send(url, { ...init, body: JSON.stringify({ ...body, variables: later }) });
    };`;
    const { stdout } = await run(
      resolve("scripts/node"),
      [
        "--import",
        `data:text/javascript,${encodeURIComponent(late)}`,
        ...["--import", "tsx", "examples/agent-token/transfer.ts"],
      ],
      {
        env: {
          PATH: process.env.PATH,
          TMPDIR: process.env.TMPDIR,
          TSX_TSCONFIG_PATH: resolve("scripts/example-tsconfig.json"),
          ORIGIN: origin,
        },
      },
    );
    const address = "0x[0-9a-fA-F]{40}";
    expect(stdout).toMatch(
      new RegExp(
        `^Minted token \\d+ of ${address} to ${address}\\.\nTransferred it to ${address}\\.\n` +
          "The receiver opened its key and read: You are a travel agent who likes trains\\.\n$",
      ),
    );
  });

  test("every command of the page of curl calls works as it is", async (context) => {
    const { origin, sk, mk } = started();
    const folder = newFolder((end) => context.onTestFinished(end));
    const [, ...commands] = [...readFileSync("docs/curl.md", "utf8").matchAll(/```sh\n(.+?)```/gs)].map(
      ([, command = ""]) => command,
    );
    expect(commands.length).toBeGreaterThan(10);
    const env = { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ZEROGRAPH: origin, SK: sk, MK: mk };
    await Promise.all(
      commands.map(async (command) => {
        const output = await firstOutput(command, { cwd: folder, env });
        if (/ > \S+$/.test(command.trim())) return expect(output, command).toBe("");
        expect(output, command).toMatch(/^(?:\{|event:|data:|:|\[)/);
        expect(output, command).not.toMatch(/"errors?":\s*[[{]/);
      }),
    );
  });
}

/** The output of a command; one that follows a stream is ended after its first output. */
async function firstOutput(
  command: string,
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<string> {
  const child = spawn("bash", ["-euc", command.replace("curl ", "exec curl -sS ")], {
    ...options,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    output += part;
    if (command.includes("/graphql/stream") && /^(?:event|data|:)/m.test(output)) child.kill();
  });
  await once(child, "close");
  return output;
}

// @module-tag large
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { PATIENCE_MS, requireAccessible } from "../support/clients/browser.ts";
import { newFolder } from "../support/servers/process.ts";
import { writeKeys } from "./kv-writes.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();
const SEGMENT_BYTES = 262_144;
/** Three segments, and not a whole number of chunks. */
const SIZE_BYTES = 2 * SEGMENT_BYTES + 76_001;
/** The browser logs each answer that a test makes fail. */
const FAILED_LOAD = /Failed to load resource/;

function bytesFile(name: string, buffer = randomBytes(SIZE_BYTES)) {
  return { name, mimeType: "application/octet-stream", buffer };
}

function uploadRow(page: Page, name: string) {
  return page.getByRole("list", { name: "Uploads" }).getByRole("listitem").filter({ hasText: name });
}

/** Opens the page of a file that is uploaded. Returns its root. */
async function openUploaded(page: Page, name: string): Promise<string> {
  await uploadRow(page, name).getByRole("link", { name: "View file" }).click();
  await heading(page, "File");
  return page.url().split("/").at(-1) ?? "";
}

async function downloaded(page: Page, press: () => Promise<void>): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent("download"), press()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** A folder on this machine's disk, with these files. */
function folderOf(files: Readonly<Record<string, Buffer>>): string {
  const folder = join(
    newFolder((end) => onTestFinished(end)),
    "sea",
  );
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

test("a file of three segments is uploaded, then verified in the browser and saved unchanged", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Storage");
  const file = bytesFile("sea.bin");
  await page.getByLabel("Files to upload").setInputFiles(file);
  await page.getByRole("img", { name: "sea.bin: 3 of 3 segments stored" }).waitFor();
  await page.getByRole("row").filter({ hasText: "finalized" }).waitFor();
  await requireAccessible(page, "storage-upload");
  const root = await openUploaded(page, "sea.bin");
  await requireAccessible(page, "storage-file");
  const { bytes } = await downloaded(page, () =>
    page.getByRole("button", { name: "Download and verify" }).click(),
  );
  expect(bytes.equals(file.buffer)).toBe(true);
  await page.getByText("3 of 3 segments match their merkle proofs").waitFor();
  await page.getByText("The root that was rebuilt from the segments equals").waitFor();
  await page.getByRole("list", { name: "What was checked" }).getByText(root).waitFor();
  await requireAccessible(page, "storage-verified");
  expect(faults.filter((fault) => !FAILED_LOAD.test(fault))).toEqual([]);
});

test("files that are chosen before the wallet is found are uploaded", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const held = Promise.withResolvers<void>();
  await page.route("**/dashboard/development-wallet", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`${dashboard().product.origin}/dashboard/storage`);
  await heading(page, "Storage");
  await page.getByLabel("Files to upload").setInputFiles(bytesFile("early.bin"));
  held.resolve();
  await page.getByRole("img", { name: "early.bin: 3 of 3 segments stored" }).waitFor();
});

test("an empty file is named, and the files that were chosen with it are uploaded", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Storage");
  const empty = bytesFile("empty.txt", Buffer.alloc(0));
  const files = [bytesFile("a.txt", Buffer.from("a")), empty, bytesFile("big.bin")];
  await page.getByLabel("Files to upload").setInputFiles(files);
  await page.getByRole("alert").getByText("empty.txt is empty.").waitFor();
  await page.getByRole("img", { name: "a.txt: 1 of 1 segments stored" }).waitFor();
  await page.getByRole("img", { name: "big.bin: 3 of 3 segments stored" }).waitFor();
  expect(await uploadRow(page, "empty.txt").count()).toBe(0);
  expect(faults).toEqual([]);
});

test("a page that was opened while the gateway was away recovers, with the wallet of the development network", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  let isAway = true;
  await page.route(/\/graphql$|development-wallet$/, async (route) => {
    // What is around the pages is known.
    if (!isAway || route.request().postData()?.includes("query Who")) return route.fallback();
    await route.abort("connectionrefused");
  });
  await page.reload();
  await page.getByText("The gateway cannot be reached.").waitFor();
  expect(await page.getByText("No wallet found in this browser").count()).toBe(0);
  isAway = false;
  await page.getByText("The gateway cannot be reached.").waitFor({ state: "detached" });
  await page.getByText("No files yet.").or(page.getByRole("table")).first().waitFor();
  await page.getByLabel("Files to upload").setInputFiles(bytesFile("back.bin"));
  await page.getByRole("img", { name: "back.bin: 3 of 3 segments stored" }).waitFor();
  expect(await page.getByText("No wallet found in this browser").count()).toBe(0);
});

test("only the worker may compile WebAssembly, and it connects to this origin alone", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  const [worker] = await Promise.all([
    page.waitForEvent("worker"),
    page.getByRole("button", { name: "Upload a sample" }).click(),
  ]);
  const policyOf = async (url: string) => (await fetch(url)).headers.get("content-security-policy") ?? "";
  const ofWorker = await policyOf(worker.url());
  expect(ofWorker).toContain("script-src 'self' 'wasm-unsafe-eval';");
  expect(ofWorker).toContain("connect-src 'self';");
  expect(await policyOf(page.url())).toContain("script-src 'self';");
  const scripts = await page.evaluate<string[]>("[...document.scripts].map(({ src }) => src)");
  for (const script of scripts) expect(await policyOf(script)).toContain("script-src 'self';");
  expect(scripts.length).toBeGreaterThan(0);
});

test("a tampered segment is refused by its number, and nothing is saved", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  await page.getByLabel("Files to upload").setInputFiles(bytesFile("tampered.bin"));
  await openUploaded(page, "tampered.bin");
  await page.route(/withProof=true/, async (route) => {
    const response = await route.fetch({ maxRetries: 3 });
    const body = await response.body();
    if (route.request().headers().range?.startsWith(`bytes=${SEGMENT_BYTES}-`))
      body[100_000] = (body[100_000] ?? 0) ^ 1;
    await route.fulfill({ response, body });
  });
  const downloads: string[] = [];
  page.on("download", (download) => void downloads.push(download.suggestedFilename()));
  await page.getByRole("button", { name: "Download and verify" }).click();
  await page.getByRole("alert").getByText("Segment 1 was refused").waitFor();
  await page.getByRole("alert").getByText("Nothing was saved.").waitFor();
  await page.getByRole("img", { name: /1 refused/ }).waitFor();
  await requireAccessible(page, "storage-refused");
  // Written to disk as it arrives, it leaves nothing there either.
  await page.evaluate(OWN_DISK);
  await page.getByRole("button", { name: "Save as…" }).click();
  await page.getByRole("alert").getByText("Segment 1 was refused").waitFor();
  expect(await page.evaluate<number>("window.savedSize()")).toBe(0);
  expect(downloads).toEqual([]);
  // With the true bytes it is saved, at the place that was chosen.
  await page.unroute(/withProof=true/);
  await page.getByRole("button", { name: "Save as…" }).click();
  await page.getByText("The root that was rebuilt from the segments equals").waitFor();
  expect(await page.evaluate<number>("window.savedSize()")).toBe(SIZE_BYTES);
});

/** Drops a folder, whose directories answer their entries one at a time. */
const DROP_FOLDER = `(() => {
  const file = (name) => ({ isDirectory: false, name, file: (done) => done(new File([name], name)) });
  const directory = (name, inside) => ({
    isDirectory: true,
    name,
    createReader() {
      const left = [...inside];
      return { readEntries: (done) => done(left.splice(0, 1)) };
    },
  });
  const entry = directory("dropped", [file("top.txt"), directory("inner", [file("leaf.txt")])]);
  const items = [{ kind: "file", webkitGetAsEntry: () => entry, getAsFile: () => null }];
  const drop = new Event("drop", { bubbles: true, cancelable: true });
  Object.defineProperty(drop, "dataTransfer", { value: { items, files: [] } });
  document.querySelector(".drop-area").dispatchEvent(drop);
})()`;

/** In place of the dialog that chooses where to save: a file of the browser's own disk. */
const OWN_DISK = `(async () => {
  const disk = await navigator.storage.getDirectory();
  const handle = await disk.getFileHandle("saved", { create: true });
  window.showSaveFilePicker = async () => handle;
  window.savedSize = async () => (await handle.getFile()).size;
})()`;

test("a segment that fails is sent again, and an upload goes on after a reload without paying twice", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  const file = bytesFile("again.bin");
  let payments = 0;
  page.on("request", (request) => {
    if (request.url().endsWith("/development-wallet/send")) payments++;
  });
  const sent: number[] = [];
  let isHeld = true;
  let failures = 1;
  await page.route("**/file/segment", async (route) => {
    const { index } = route.request().postDataJSON() as { index: number };
    if (index === 0 && failures-- > 0) return route.fulfill({ status: 503, body: "busy" });
    // The last one never arrives before the reload.
    if (index === 2 && isHeld) return;
    sent.push(index);
    await route.continue();
  });
  await page.getByLabel("Files to upload").setInputFiles(file);
  await page.getByRole("img", { name: "again.bin: 2 of 3 segments stored, 1 being sent" }).waitFor();
  await page.getByText("Sent again after a failure: 1").waitFor();
  page.on("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await heading(page, "Storage");
  await page
    .getByRole("region", { name: "Unfinished uploads" })
    .getByText("2 of 3 segments stored")
    .waitFor();
  await requireAccessible(page, "storage-unfinished");
  isHeld = false;
  sent.length = 0;
  await page.getByLabel("Files to upload").setInputFiles(file);
  await page.getByRole("img", { name: "again.bin: 3 of 3 segments stored" }).waitFor();
  expect(sent).toEqual([2]);
  expect(payments).toBe(1);
  expect(await page.getByRole("region", { name: "Unfinished uploads" }).count()).toBe(0);
});

test.each([
  ["", ""],
  [" over plain HTTP, which has no locks", "Object.defineProperty(navigator, 'locks', { value: undefined })"],
])("a file that two tabs upload at once%s is paid for once", async (_, script) => {
  const { browser, product } = dashboard();
  if (!browser) return;
  const tabs = await browser.newContext();
  onTestFinished(() => tabs.close());
  await tabs.addInitScript(script);
  const first = await tabs.newPage();
  await first.goto(`${product.origin}/dashboard/`);
  await first.getByRole("button", { name: "Sign in with the development wallet" }).click();
  await heading(first, "Overview");
  const second = await tabs.newPage();
  const isPaid = Promise.withResolvers<void>();
  let payments = 0;
  await tabs.route("**/development-wallet/send", async (route) => {
    payments++;
    await isPaid.promise;
    await route.continue();
  });
  const file = bytesFile("twice.bin");
  for (const tab of [first, second]) {
    await tab.goto(`${product.origin}/dashboard/storage`);
    await heading(tab, "Storage");
    const prepared = tab.waitForResponse((answer) =>
      Boolean(answer.request().postData()?.includes("query PrepareUpload")),
    );
    await tab.getByLabel("Files to upload").setInputFiles(file);
    await (await prepared).finished();
    if (tab === first) await expect.poll(() => payments).toBe(1);
    else await tab.evaluate("fetch('/dashboard/', { method: 'HEAD' }).then(() => {})");
  }
  expect(payments).toBe(1);
  isPaid.resolve();
  for (const tab of [first, second])
    await tab.getByRole("img", { name: "twice.bin: 3 of 3 segments stored" }).waitFor();
  expect(payments).toBe(1);
});

test("a file that was paid for before a sign-out is not paid for again until the chain shows it", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  let payments = 0;
  // The chain never gets it.
  await page.route("**/development-wallet/send", (route) => {
    payments++;
    return route.fulfill({ json: { hash: `0x${"ab".repeat(32)}` } });
  });
  let isSent = Promise.withResolvers<void>();
  await page.route("**/file/segment", () => isSent.resolve());
  const file = bytesFile("paid.bin");
  await page.getByLabel("Files to upload").setInputFiles(file);
  await isSent.promise;
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with the development wallet" }).click();
  await heading(page, "Overview");
  await go(page, "Storage");
  isSent = Promise.withResolvers<void>();
  await page.getByLabel("Files to upload").setInputFiles(file);
  await isSent.promise;
  expect(payments).toBe(1);
});

test("signing out during an upload leaves the page, and asks nothing after the session has ended", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  await page.route("**/file/segment", () => {});
  await page.getByLabel("Files to upload").setInputFiles(bytesFile("left.bin"));
  await page
    .getByRole("img", { name: "left.bin: 0 of 3 segments stored, 2 waiting, 1 being sent" })
    .waitFor();
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect
    .poll(() => asked.length > 0 || page.getByRole("button", { name: /^Sign in/ }).count())
    .toBeTruthy();
  expect(asked).toEqual([]);
  await page.getByRole("button", { name: "Sign in with the development wallet" }).waitFor();
});

test("a folder is uploaded with its files, browsed by its URL, and one file of it verified with the folder's list", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Storage");
  const deep = randomBytes(300_000);
  const folder = folderOf({
    "a.txt": Buffer.from("the sea"),
    "empty.txt": Buffer.alloc(0),
    "deep/down/b.bin": deep,
  });
  await page.getByLabel("Folder to upload").setInputFiles(folder);
  await page.getByRole("link", { name: "Open folder" }).click({ timeout: PATIENCE_MS });
  await heading(page, "File");
  await page.getByRole("row").filter({ hasText: "a.txt" }).getByText("7 B").waitFor();
  await requireAccessible(page, "storage-folder");
  await page.getByRole("link", { name: "deep" }).click();
  await page.getByRole("link", { name: "down" }).click();
  await page.getByText("b.bin").waitFor();
  expect(new URL(page.url()).searchParams.get("path")).toBe("/deep/down");
  await page.reload();
  await page.getByRole("button", { name: "Download b.bin" }).click();
  const { name, bytes } = await downloaded(page, () =>
    page.getByRole("region", { name: "b.bin" }).getByRole("button", { name: "Download and verify" }).click(),
  );
  expect(name).toBe("b.bin");
  expect(bytes.equals(deep)).toBe(true);
  await page.getByText("Its list of files matches the root of the folder").waitFor();
  await page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "top" }).click();
  await page.getByText("empty.txt").waitFor();
  expect(faults.filter((fault) => !FAILED_LOAD.test(fault))).toEqual([]);
});

test("a file that the gateway names in a folder in place of another is refused", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  const folder = folderOf({ "one.txt": Buffer.from("the first"), "two.txt": Buffer.from("the other") });
  await page.getByLabel("Folder to upload").setInputFiles(folder);
  const [, root] = await Promise.all([
    page.getByRole("link", { name: "Open folder" }).waitFor(),
    uploadRow(page, "two.txt").getByRole("link", { name: "View file" }).getAttribute("href"),
  ]);
  const other = root?.split("/").at(-1) ?? "";
  await page.route("**/graphql", async (route) => {
    const response = await route.fetch({ maxRetries: 3 });
    const body = await response.text();
    if (!body.includes('"one.txt"')) return route.fulfill({ response });
    const answer = JSON.parse(body);
    for (const entry of answer.data.file.entries.nodes)
      if (entry.name === "one.txt") {
        entry.roots = [other];
        entry.files[0].root = other;
      }
    return route.fulfill({ response, json: answer });
  });
  await page.getByRole("link", { name: "Open folder" }).click();
  await page.getByRole("button", { name: "Download one.txt" }).click();
  await page
    .getByRole("region", { name: "one.txt" })
    .getByRole("button", { name: "Download and verify" })
    .click();
  await page.getByRole("alert").getByText("The verified folder lists another file").waitFor();
});

test("the sample is one press away on the development network, files are dropped, and an upload is cancelled", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  await page.getByRole("button", { name: "Upload a sample" }).click();
  await page.getByRole("img", { name: /^sample-.*: 3 of 3 segments stored$/ }).waitFor();
  const dropped = await page.evaluateHandle(
    "(() => { const data = new DataTransfer(); for (const name of ['one.bin', 'two.bin']) data.items.add(new File([name.repeat(70000) + Math.random()], name)); return data; })()",
  );
  await page.route("**/file/segment", () => {});
  await page.locator(".drop-area").dispatchEvent("drop", { dataTransfer: dropped });
  await uploadRow(page, "one.bin").getByText("sending").waitFor();
  await uploadRow(page, "two.bin").getByText("waiting").first().waitFor();
  await page.getByRole("button", { name: "Cancel one.bin" }).click();
  await page.unroute("**/file/segment");
  await uploadRow(page, "one.bin").getByText("cancelled").waitFor();
  await page.getByRole("button", { name: "Try one.bin again" }).click();
  await uploadRow(page, "one.bin").getByRole("link", { name: "View file" }).waitFor();
  await page
    .getByRole("button", { name: "Cancel two.bin" })
    .or(uploadRow(page, "two.bin").getByRole("link"))
    .waitFor();
  await page.evaluate(DROP_FOLDER);
  await uploadRow(page, "dropped").getByRole("link", { name: "Open folder" }).click();
  await page.getByRole("link", { name: "inner" }).click();
  await page.getByText("leaf.txt").waitFor();
  await go(page, "Storage");
  await page.getByLabel("Files to upload").setInputFiles(bytesFile("none.bin", Buffer.alloc(0)));
  await page.getByRole("alert").getByText("none.bin is empty").waitFor();
});

test("the keys of a stream are found by prefix and by name, and their values shown as text, JSON and hex at each version", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { origin } = dashboard().product;
  const stream = `0x${randomBytes(32).toString("hex")}`;
  // A character of two bytes lies on the border of two parts.
  const long = `a${"ü".repeat(9_000)}`;
  await writeKeys(origin, stream, [
    { keyText: "user/1", text: '{"name":"Ada","ports":[1,2]}' },
    { keyText: "user/2", base64: Buffer.from([0xff, 0x00, 0x41]).toString("base64") },
    { keyText: "text", text: long },
    { keyText: "\u0001\u202e", text: "unseen" },
    { keyText: "z".repeat(1_025), text: "without a link" },
    ...Array.from({ length: 22 }, (_, n) => ({
      keyText: `item/${String(n).padStart(2, "0")}`,
      text: `${n}`,
    })),
  ]);
  await writeKeys(origin, stream, [{ keyText: "user/1", text: "now a text" }]);
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Storage");
  await page.getByRole("tab", { name: "Key-value" }).click();
  await page.getByRole("link", { name: stream }).click();
  await page.getByRole("row").filter({ hasText: "item/00" }).waitFor();
  // What is not seen is shown by its bytes.
  await page.getByRole("link", { name: "0x01e280ae" }).waitFor();
  await page.getByRole("button", { name: "Older →" }).click();
  await page.getByRole("row").filter({ hasText: "user/2" }).waitFor();
  await page.getByRole("row").filter({ hasText: "without a link" }).waitFor();
  expect(await page.getByRole("link", { name: /^zz/ }).count()).toBe(0);
  await requireAccessible(page, "storage-keys");
  await page.getByLabel("Keys that start with").fill("user/");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect.poll(() => page.getByRole("row").count()).toBe(3);
  await page.getByRole("link", { name: "user/1" }).click();
  const value = page.getByRole("region", { name: "The value" });
  await value.getByText("now a text").waitFor();
  // The latest version is the latest while the page is open.
  await page.getByRole("status").getByText("live").first().waitFor();
  await writeKeys(origin, stream, [{ keyText: "user/1", text: "a newer text" }]);
  await value.getByText("a newer text").waitFor();
  await page.getByRole("button", { name: "Earlier version" }).click();
  await value.getByText("now a text").waitFor();
  await page.getByRole("button", { name: "Earlier version" }).click();
  await value.getByText('"name": "Ada"').waitFor();
  await requireAccessible(page, "storage-value");
  const url = new URL(page.url());
  expect(url.searchParams.get("stream")).toBe(stream);
  expect(url.searchParams.get("key")).toBe(`0x${Buffer.from("user/1").toString("hex")}`);
  await page.reload();
  await value.getByText('"name": "Ada"').waitFor();
  await page.getByRole("button", { name: "Earlier version" }).click();
  await page.getByText("There is no earlier version.").waitFor();
  await page.getByRole("link", { name: "user/2" }).click();
  await value.getByText("00000000  ff 00 41").waitFor();
  await page.getByLabel("Open a key").fill("text");
  await page.getByRole("button", { name: "Open key" }).click();
  await value.getByText("aüü").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText(/^Bytes 16,384 to 18,000 of 18,001$/).waitFor();
  await value.getByText(/^ü+$/).waitFor();
  await page.getByText("Hex", { exact: true }).click();
  await value.getByText("00004000  ").waitFor();
  await page.getByLabel("Open a key").fill("nothing");
  await page.getByRole("button", { name: "Open key" }).click();
  await page.getByText("This key has no value.").waitFor();
  // A write is seen without a reload.
  await page.getByRole("button", { name: "Close" }).click();
  await writeKeys(origin, stream, [{ keyText: "user/3", text: "new" }]);
  await page.getByRole("link", { name: "user/3" }).waitFor();
  expect(faults).toEqual([]);
});

test("the pages say what is wrong: no such file, no such stream, a failure that is tried again, and no permission", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  await page.getByLabel("Open by root").fill("0x12");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByText("A root is 0x and 64 hexadecimal digits.").waitFor();
  await page.getByLabel("Open by root").fill(`0x${"12".repeat(32)}`);
  await page.keyboard.press("Enter");
  await page.getByText("No file with this root exists on the chain.").waitFor();
  await page.goto(`${dashboard().product.origin}/dashboard/storage/0x12`);
  await page.getByText("This is not the root of a file.").waitFor();
  const values = `${dashboard().product.origin}/dashboard/storage?tab=values`;
  await page.goto(`${values}&stream=0x${"12".repeat(32)}`);
  await page.getByText("This stream has no keys.").waitFor();
  let code = "internal_error";
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("KeyValueStreams")) return route.continue();
    if (code === "") return route.continue();
    return route.fulfill({ json: { data: null, errors: [{ message: "It is so.", extensions: { code } }] } });
  });
  await page.goto(values);
  await page.getByRole("alert").getByText("It is so.").waitFor();
  code = "";
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: /^0x/ }).or(page.getByText("No streams yet.")).first().waitFor();
  code = "insufficient_scope";
  await page.reload();
  await page.getByText("No permission").waitFor();
});

test("the main job is done by keyboard alone: a file is uploaded, opened, verified and saved", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Storage");
  const press = async (name: RegExp | string, role: "button" | "link" = "button") => {
    const target = page.getByRole(role, { name }).first();
    await target.waitFor();
    await page.evaluate("document.body.tabIndex = -1, document.body.focus()");
    for (let tabs = 0; tabs < 80; tabs++) {
      await page.keyboard.press("Tab");
      if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) break;
    }
    await page.keyboard.press("Enter");
  };
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), press("Choose files")]);
  const file = bytesFile("keys.bin");
  await chooser.setFiles(file);
  await uploadRow(page, "keys.bin").getByRole("link", { name: "View file" }).waitFor();
  await press("View file", "link");
  await heading(page, "File");
  const { bytes } = await downloaded(page, () => press("Download and verify"));
  expect(bytes.equals(file.buffer)).toBe(true);
});

test("a file that is dropped beside the area for files does not replace the page", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  for (const [name, shown] of [
    ["Storage", ".drop-area"],
    ["Playground", ".composer"],
  ] as const) {
    await go(page, name);
    await page.locator(shown).waitFor();
    const isRefused = await page.evaluate<readonly boolean[]>(`["dragover", "drop"].map((type) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["a"], "a.txt"));
      return !document.querySelector("h1").dispatchEvent(
        new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    })`);
    expect(isRefused, name).toEqual([true, true]);
  }
});

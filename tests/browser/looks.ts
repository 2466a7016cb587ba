import type { Page } from "playwright-core";
import { expect } from "vitest";
import { shownPages } from "../pictures/pages.ts";
import type { Sample } from "../pictures/sample-traffic.ts";
import { heading } from "./signed-in.ts";

/** What pages are shown of: the sample traffic, a stream of keys and values, and a folder on disk to upload. */
export type Shown = Sample & { readonly stream: string; readonly folder: string };

/** What the gateway answers to the queries of a page, other than those of the frame around it. */
export type Answer = "empty" | "loading" | "failed" | "refused";

/** One state of one page. */
export type Look = {
  readonly name: string;
  /** Below the product's origin. */
  readonly path: string;
  readonly answer?: Answer;
  /** What is done on the page first, until all is shown that is looked at. */
  open?(page: Page): Promise<unknown>;
};

/** The message of a query that failed or was refused. */
export const REASON = "The answer is away.";

/** What a page shows under each answer. */
const SIGNS: Readonly<Record<Answer, (page: Page) => Promise<void>>> = {
  empty: (page) => page.locator(".empty").first().waitFor(),
  loading: (page) => page.locator(".loading").first().waitFor(),
  failed: (page) => page.getByText(REASON).first().waitFor(),
  refused: (page) => page.getByText("No permission").first().waitFor(),
};
const ANSWERS = Object.keys(SIGNS) as readonly Answer[];
/** Those without a list. */
const NEVER_EMPTY: readonly string[] = ["Network", "Operations", "Node"];

/** Every page as it is, and under each answer; then what opens on them, and what is beside them. */
export function looksOf(shown: Shown): readonly Look[] {
  const full = shownPages(shown).map(({ name, path }) => ({ name, path: `/dashboard${path}` }));
  const isOfOne = ({ path }: Look) => path.split("/").length > 3 || path.includes("?");
  const answered = full
    .filter((look) => !isOfOne(look))
    .flatMap(({ name, path }) =>
      ANSWERS.filter((answer) => answer !== "empty" || !NEVER_EMPTY.includes(name)).map((answer) => ({
        name: `${name}: ${answer}`,
        path,
        answer,
        open: SIGNS[answer],
      })),
    );
  return [...full, ...answered, ...opened(shown), ...BESIDE];
}

/** Opens what a button of the page opens, and waits for a text in it. */
function press(button: string | RegExp, text: string | RegExp) {
  return async (page: Page) => {
    await page.getByRole("button", { name: button }).first().click();
    await page.getByRole("dialog").getByText(text).first().waitFor();
  };
}

/** What is opened on the pages: dialogs, menus, panels and tabs. */
function opened({ token, stream, folder }: Shown): readonly Look[] {
  const [contract] = token.split("/");
  const on = (page: string, name: string, open: Look["open"] & {}): Look => ({
    name: `${/^\w*/.exec(page)?.[0] || "overview"}: ${name}`,
    path: `/dashboard/${page}`,
    open,
  });
  return [
    on("", "palette", async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Search" }).getByRole("option").first().waitFor();
    }),
    on("", "account menu", async (page) => {
      await page.getByRole("button", { name: /^Account/ }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
      await page.locator("[role=menuitem]:focus").waitFor();
    }),
    on("", "colours", async (page) => {
      await page.getByRole("button", { name: /^Colours/ }).click();
      await page.getByRole("menuitem", { name: "Dark" }).waitFor();
    }),
    on("", "navigation", async (page) => {
      const burger = page.getByRole("button", { name: "Open the navigation" });
      if (await burger.isVisible()) await burger.click();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
    }),
    on("keys", "create", press("Create a key", "Name")),
    on("keys", "created", async (page) => {
      await press("Create a key", "Name")(page);
      await page.getByRole("dialog").getByLabel("Name").fill(`a key at ${page.viewportSize()?.width} px`);
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.getByRole("dialog", { name: "Your new key" }).getByRole("tab").first().waitFor();
    }),
    on("keys", "field errors", async (page) => {
      await press("Create a key", "Name")(page);
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.getByRole("dialog").getByText("A name").waitFor();
    }),
    on("keys", "revoke", press(/^Revoke /, "Revoke")),
    on("webhooks", "create", press("Create a webhook", "Events")),
    on("webhooks", "log", press("Delivery log", "Delivery log of")),
    on("webhooks", "redeliver", press("Redeliver", "After the cursor")),
    on("webhooks", "rotate", press("Rotate secret", "two signatures")),
    on("webhooks", "delete", press("Delete", "Delete")),
    on("tags", "create a budget", press("Create a budget", "Resets")),
    on("batches", "create", press("Create a batch", "File of requests")),
    on("batches?tab=files", "files", (page) => page.getByText("questions.jsonl").first().waitFor()),
    on("settings", "create a key", press("Create a management key", "Preset")),
    on("requests", "filters", async (page) => {
      await page.getByRole("button", { name: "More filters" }).click();
      await page.getByRole("dialog").first().waitFor();
    }),
    on("requests?id=no-such-request", "none matches", (page) => page.locator(".empty").first().waitFor()),
    // Before the other questions, as the conversation is kept between pages.
    on("playground", "comparison", async (page) => {
      await page.getByRole("button", { name: "Compare" }).click();
      await page.getByLabel("Your question").fill(`A${"long".repeat(100)}word`);
      await page.keyboard.press("Control+Enter");
      await expect.poll(() => page.getByRole("link", { name: "Details" }).count()).toBe(2);
    }),
    on("playground", "answer", async (page) => {
      await page.getByLabel("Your question").fill(`Why is the sea salty, ${"long".repeat(60)}?`);
      await page.keyboard.press("Control+Enter");
      await page
        .getByText(/tokens in/)
        .first()
        .waitFor();
    }),
    on("playground", "parameters", async (page) => {
      // In a wide window they are always shown.
      const parameters = page.getByRole("button", { name: "Parameters" });
      if (await parameters.isVisible()) await parameters.click();
      await page.getByLabel("System prompt").waitFor();
    }),
    on("playground", "code", press("View code", "curl")),
    ...["responses", "transcription", "speech", "rankings", "embeddings"].map((tab) =>
      on(`playground?tab=${tab}`, tab, (page) =>
        page.getByRole("heading", { level: 2, name: "Request" }).waitFor(),
      ),
    ),
    on("storage", "uploaded", upload),
    on("storage", "refused file", async (page) => {
      const none = { name: "none.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(0) };
      await page.getByLabel("Files to upload").setInputFiles(none);
      await page.getByRole("alert").getByText("none.bin is empty").waitFor();
    }),
    on("storage", "file, verified", async (page) => {
      await upload(page);
      await page.getByRole("link", { name: "View file" }).click();
      await page.getByRole("button", { name: "Download and verify" }).click();
      await page.getByText("The root that was rebuilt from the segments equals").waitFor();
    }),
    on("storage", "folder", async (page) => {
      await page.getByLabel("Folder to upload").setInputFiles(folder);
      await page.getByRole("link", { name: "Open folder" }).click();
      await page.getByRole("button", { name: /^Download long-/ }).click();
      await page.getByRole("region", { name: /^long-/ }).waitFor();
    }),
    on("storage?tab=values", "streams", (page) => page.getByRole("link", { name: stream }).waitFor()),
    on(`storage?tab=values&stream=${stream}`, "value", async (page) => {
      await page.getByRole("link", { name: /^a key that is long/ }).click();
      await page.getByRole("region", { name: "The value" }).getByText("vvv").waitFor();
    }),
    on("tokens", "mint", press("Mint", "Description")),
    // The longest id.
    on(`tokens/${contract}/${2n ** 256n - 1n}`, "none of this id", (page) =>
      page.getByText("There is no such token.").waitFor(),
    ),
    on(`tokens/${contract}/0`, "authorize", press("Authorize an account", "Account")),
    on(`tokens/${contract}/0`, "transfer", press("Transfer", "Receiver")),
    on(`tokens/${contract}/0`, "clone", press("Clone", "Receiver")),
    on("operations", "pause", press("Pause a provider", "For")),
    on("operations", "check", press("Check now", "Check")),
    on("operations", "release", press("Release expired holds", "Release")),
  ];
}

async function upload(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Upload a sample" }).click();
  await page.getByRole("img", { name: /3 of 3 segments stored$/ }).waitFor();
  await page.getByRole("link", { name: "View file" }).waitFor();
}

/** What is beside the pages: things that do not exist, a cut network, and the page for everyone. */
const BESIDE: readonly Look[] = [
  { name: "no such page", path: "/dashboard/nowhere", open: (page) => heading(page, "Page not found") },
  ...["models/none", "requests/none", "jobs/none", "batches/none"].map((path) => ({
    name: `no such: ${path}`,
    path: `/dashboard/${path}`,
    open: (page: Page) => page.locator(".empty, .failure").first().waitFor(),
  })),
  {
    name: "offline",
    path: "/dashboard/requests",
    open: async (page) => {
      await page.context().setOffline(true);
      await page.getByRole("status").filter({ hasText: "You are offline." }).waitFor();
    },
  },
  {
    name: "status page",
    path: "/status",
    open: (page) => page.locator("summary").first().click(),
  },
];

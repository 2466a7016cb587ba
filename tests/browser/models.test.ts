// @module-tag large
import { expect, test } from "vitest";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard({ TOKEN_USD: "0.5" });

test("models are searched, filtered and sorted in the address, and a model says its providers' prices and how to call it", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Models");
  const rows = page.getByRole("region", { name: "Models" }).locator("tbody tr");
  await rows.filter({ hasText: "devnet-chat" }).first().waitFor();
  const all = await rows.count();
  await page.getByLabel("Modality").selectOption("image");
  await expect.poll(() => rows.count()).toBeLessThan(all);
  await page.getByLabel("Search").fill("no such model");
  await page.getByText("No model matches.").waitFor();
  await page.getByRole("link", { name: "Show all models." }).click();
  await expect.poll(() => rows.count()).toBe(all);
  await page.getByRole("button", { name: "Input / output, 0G" }).click();
  await page.getByLabel("Search").fill("devnet-chat ");
  await expect.poll(() => rows.count()).toBe(2);
  const search = () => Object.fromEntries(new URL(page.url()).searchParams);
  await expect.poll(search).toEqual({ q: "devnet-chat", sort: "-PRICE" });
  await page.reload();
  await expect.poll(() => rows.count()).toBe(2);
  expect(await page.getByRole("columnheader", { name: "Input / output" }).getAttribute("aria-sort")).toBe(
    "descending",
  );

  await rows.getByRole("link", { name: /^devnet-chat ?Chat$/ }).click();
  await heading(page, "devnet-chat");
  const providers = page.getByRole("region", { name: "Providers of this model" });
  // 2,000,000,000,000 neuron a token are 2 tokens a million, at half a dollar.
  await providers.getByText("$1.00").waitFor();
  await page.getByRole("tab", { name: "Python" }).click();
  await page.getByText('model="devnet-chat"').waitFor();
  await page.getByRole("link", { name: "Try devnet-chat" }).click();
  await heading(page, "Playground");
  expect(new URL(page.url()).searchParams.get("model")).toBe("devnet-chat");
  await page.goto(`${dashboard().product.origin}/dashboard/models/no%2Fsuch`);
  await page.getByText("No provider offers this model.").waitFor();
  expect(faults).toEqual([]);
});

test("a search is edited in the middle, and keeps its cursor there", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Models");
  const search = page.getByLabel("Search");
  await search.fill("chat");
  await page.keyboard.press("Home");
  for (const digit of "devnet-") {
    await page.keyboard.type(digit);
    // Whatever is drawn after each digit.
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  expect(await search.inputValue()).toBe("devnet-chat");
  await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("devnet-chat");
  expect(faults).toEqual([]);
});

test("the palette finds a model, a key and a document", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  const palette = page.getByRole("dialog", { name: "Search" });
  const find = async (text: string, option: string | RegExp) => {
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").fill(text);
    await palette.getByRole("option", { name: option }).first().waitFor();
  };
  await find("devnet-emb", "devnet-embedding");
  await palette.getByRole("option", { name: "devnet-embedding" }).click();
  await heading(page, "devnet-embedding");
  await find(dashboard().product.sk.slice(0, 6), /sk-/);
  await palette.getByRole("option", { name: /sk-/ }).first().click();
  await heading(page, "API keys");
  await find("chat/completions", /^POST \/v1\/chat\/completions/);
  await page.keyboard.press("Escape");
  expect(faults).toEqual([]);
});

test("a model beyond the first page of the graph is offered and found wherever models are chosen", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  // Every list of models has a second page with one more of each kind.
  await page.route("**/graphql", async (route) => {
    const { query, variables } = route.request().postDataJSON();
    if (!/^query \w+\(\$after: Cursor\) \{\s+models\(/.test(query)) return route.fallback();
    const postData = { ...route.request().postDataJSON(), variables: { ...variables, after: null } };
    const response = await route.fetch({ postData });
    const { data } = await response.json();
    const { nodes } = data.models;
    const [chat] = nodes.filter(
      (model: { serviceType?: string }) => (model.serviceType ?? "CHATBOT") === "CHATBOT",
    );
    const second = [{ ...chat, modelId: "far-model", name: "far-model" }];
    const models = variables.after
      ? { ...data.models, nodes: second }
      : { ...data.models, pageInfo: { ...data.models.pageInfo, hasNextPage: true, endCursor: "second" } };
    await route.fulfill({ response, json: { data: { models } } });
  });
  await go(page, "Models");
  await page.getByRole("link", { name: /^far-model/ }).waitFor();
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByRole("dialog").getByRole("checkbox", { name: "far-model" }).waitFor();
  await page.keyboard.press("Escape");
  const option = { name: "far-model" };
  await go(page, "Requests");
  await page.getByLabel("Model", { exact: true }).getByRole("option", option).waitFor({ state: "attached" });
  await go(page, "Playground");
  await page.getByLabel("Model", { exact: true }).getByRole("option", option).waitFor({ state: "attached" });
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search" });
  await palette.getByRole("combobox").fill("far-mo");
  await palette.getByRole("option", option).waitFor();
  expect(faults).toEqual([]);
});

test("the playground tries the model that its address names, of every kind, and no model that it cannot try", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  const { origin } = dashboard().product;
  await go(page, "Models");
  await page.getByRole("link", { name: "Try devnet-image", exact: true }).waitFor();
  expect(await page.getByRole("link", { name: "Try devnet-edit", exact: true }).count()).toBe(0);
  // Before the models of the development network there is another one of each kind.
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("query PlaygroundModels")) return route.fallback();
    const response = await route.fetch({ maxRetries: 3 });
    const answer = await response.json();
    const { models } = answer.data;
    models.nodes = models.nodes.flatMap((model: { modelId: string }) => [
      { ...model, modelId: `before-${model.modelId}` },
      model,
    ]);
    await route.fulfill({ response, json: answer });
  });
  for (const [tab, model] of Object.entries({
    chat: "devnet-chat",
    responses: "devnet-chat",
    images: "devnet-image",
    transcription: "devnet-speech",
    speech: "devnet-voice",
    rankings: "devnet-rerank",
    embeddings: "devnet-embedding",
  })) {
    await page.goto(`${origin}/dashboard/playground?tab=${tab}&model=${model}`);
    const chosen = page.getByRole("combobox", { name: "Model", exact: true });
    await expect.poll(() => chosen.inputValue(), { message: tab }).toBe(model);
  }
  expect(faults).toEqual([]);
});

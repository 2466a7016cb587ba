// @module-tag large
import { beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { type Action, PERMISSIONS } from "../../src/keys/auth/permissions.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { CALLERS, type Caller, CallerFixture, type Owner, openSession } from "../support/callers.ts";
import { ask, failureCode, followEvents, type GraphResult } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
useServices(stack, ["images"]);

/** The objects of the calls: the owner's keys, a completed job of the maker, and its request. */
/** The objects of the account at home. */
type HomeObjects = {
  readonly jobId: string;
  readonly requestId: string;
  readonly webhookId: string;
  readonly budgetId: string;
};
type Objects = Owner & HomeObjects;
/** The account of the caller. */
type Self = { readonly self: string };
type RestCall = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly url: (objects: Objects) => string;
  readonly body?: () => object;
};
type GraphCall = (objects: Objects & Self) => string;

/**
 * One operation, offered by one API or both. `laterErrors` are the error codes of a caller that passed the
 * permission check and then failed on something else; with `about` the operation concerns the owner's
 * objects, without it the caller's own.
 */
type Operation = {
  readonly action: Action;
  readonly name: string;
  readonly about?: "job" | "object";
  readonly rest?: RestCall;
  readonly graph?: GraphCall;
  readonly laterErrors?: readonly string[];
  /** The refused callers to which GraphQL answers null instead of an error. */
  readonly hiddenFrom?: (caller: Caller) => boolean;
};

const get = (url: string): RestCall => ({ method: "GET", url: () => url });
const post = (url: string, body: () => object = () => ({})): RestCall => ({
  method: "POST",
  url: () => url,
  body,
});
const ofJob = (method: "GET" | "DELETE"): RestCall => ({
  method,
  url: ({ jobId }) => `/v1/async/jobs/${jobId}`,
});
const ofSelf =
  (field: string): GraphCall =>
  ({ self }) =>
    `{ account(address: "${self}") { ${field} } }`;
const follow =
  (field: string): GraphCall =>
  () =>
    `subscription { ${field}(after: "none") { id } }`;

const IMAGE = { model: "none", prompt: "a sea" };
const NO_CHAT = '{ model: "none", messages: [{ role: "user", content: "Hello" }] }';
const INFERENCE_ERRORS = ["model_not_found", "access_denied"];
const CURSOR_ERRORS = ["invalid_cursor"];

/** Every operation that returns content or changes something, by its action. */
const OPERATIONS: readonly Operation[] = [
  {
    action: "inference.run",
    name: "a chat",
    rest: post("/v1/chat/completions", () => ({
      model: "none",
      messages: [{ role: "user", content: "Hello" }],
    })),
    graph: () => `mutation { completeChat(input: ${NO_CHAT}) { userErrors { code } } }`,
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "inference.run",
    name: "a streamed chat",
    graph: () => `subscription { completeChat(input: ${NO_CHAT}) { inputTokens } }`,
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "inference.run",
    name: "images",
    rest: post("/v1/images/generations", () => IMAGE),
    graph: () =>
      'mutation { generateImages(input: { model: "none", prompt: "a sea" }) { userErrors { code } } }',
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "inference.run",
    name: "a transcription",
    rest: post("/v1/audio/transcriptions", () => ({ model: "none", file_base64: "AAAA" })),
    graph: () =>
      'mutation { transcribeAudio(input: { model: "none", fileBase64: "AAAA" }) { userErrors { code } } }',
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "inference.run",
    name: "embeddings",
    rest: post("/v1/embeddings", () => ({ model: "none", input: "a sea" })),
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "inference.run",
    name: "speech",
    rest: post("/v1/audio/speech", () => ({ model: "none", input: "a sea", voice: "a" })),
    graph: () =>
      'mutation { createSpeech(input: { model: "none", text: "a sea", voice: "a" }) { userErrors { code } } }',
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "inference.run",
    name: "a ranking",
    rest: post("/v1/rerank", () => ({ model: "none", query: "a", documents: ["b"] })),
    graph: () =>
      'mutation { rerankDocuments(input: { model: "none", query: "a", documents: ["b"] }) { userErrors { code } } }',
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "routing.preview",
    name: "a preview",
    rest: post("/v1/routing/preview", () => ({ service_type: "chatbot" })),
    graph: () => "{ routingPreview(serviceType: CHATBOT) { providers { id } } }",
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "job.submit",
    name: "a job",
    rest: post("/v1/async/images/generations", () => IMAGE),
    graph: () =>
      'mutation { submitImageJob(input: { model: "none", prompt: "a sea" }) { userErrors { code } } }',
    laterErrors: INFERENCE_ERRORS,
  },
  {
    action: "job.read",
    name: "the state of a job",
    about: "job",
    graph: ({ jobId }) => `{ imageJob(id: "${jobId}") { status } }`,
  },
  {
    action: "job.read",
    name: "a list of jobs",
    about: "job",
    graph: () => "{ imageJobs { nodes { status } } }",
  },
  {
    action: "job.read",
    name: "the steps of a job",
    about: "job",
    graph: ({ jobId }) => `subscription { imageJobProgress(id: "${jobId}") { status } }`,
  },
  {
    action: "job.read",
    name: "the steps of all jobs",
    graph: follow("imageJobChanged"),
    laterErrors: CURSOR_ERRORS,
  },
  {
    action: "job.content",
    name: "the images of a job",
    about: "job",
    rest: ofJob("GET"),
    graph: ({ jobId }) => `{ imageJob(id: "${jobId}") { images { b64Json } } }`,
  },
  {
    action: "job.content",
    name: "the images of a list",
    about: "job",
    graph: () => "{ imageJobs { nodes { images { b64Json } } } }",
  },
  {
    action: "job.content",
    name: "the images of a step",
    about: "job",
    graph: ({ jobId }) => `subscription { imageJobProgress(id: "${jobId}") { job { images { b64Json } } } }`,
  },
  {
    action: "job.cancel",
    name: "a cancellation",
    about: "job",
    rest: ofJob("DELETE"),
    graph: ({ jobId }) =>
      `mutation { cancelImageJob(input: { id: "${jobId}" }) { imageJob { id } userErrors { code } } }`,
    laterErrors: ["async_job_not_pending"],
  },
  { action: "account.read", name: "the account", rest: get("/v1/account") },
  {
    action: "balance.read",
    name: "the balance",
    rest: get("/v1/account/balance"),
    graph: ofSelf("balance { total }"),
  },
  {
    action: "balance.read",
    name: "the funds",
    rest: get("/v1/account/funds"),
    graph: follow("balanceChanged"),
    laterErrors: CURSOR_ERRORS,
  },
  { action: "deposit.read", name: "deposits", graph: ofSelf("deposits { nodes { id } }") },
  {
    action: "deposit.read",
    name: "new deposits",
    graph: follow("depositChanged"),
    laterErrors: CURSOR_ERRORS,
  },
  {
    action: "usage.read",
    name: "usage",
    rest: get("/v1/account/usage/stats"),
    graph: ofSelf("usage { __typename }"),
  },
  { action: "usage.read", name: "usage by day", rest: get("/v1/account/usage/daily") },
  {
    action: "request.read",
    name: "requests",
    rest: get("/v1/account/usage/history"),
    graph: ofSelf("requests { nodes { id evidence { verdict } } }"),
  },
  {
    action: "request.read",
    name: "a request and its evidence",
    about: "object",
    graph: ({ requestId }) => `{ request(id: "${requestId}") { id evidence { signature } } }`,
  },
  {
    action: "receipt.read",
    name: "the receipt of a request",
    about: "job",
    rest: { method: "GET", url: ({ requestId }) => `/v1/receipts/${requestId}` },
    laterErrors: ["receipt_pending"],
  },
  {
    action: "generation.read",
    name: "a request and its cost",
    about: "job",
    rest: { method: "GET", url: ({ requestId }) => `/v1/generation?id=${requestId}` },
  },
  { action: "own-key.read", name: "the key in use", rest: get("/v1/key") },
  { action: "credits.read", name: "credits", rest: get("/v1/credits") },
  {
    action: "api-key.read",
    name: "keys",
    rest: get("/v1/api-keys"),
    graph: () => "{ viewer { account { apiKeys { nodes { id } } } } }",
  },
  {
    action: "api-key.read",
    name: "changes of keys",
    graph: follow("keyChanged"),
    laterErrors: CURSOR_ERRORS,
  },
  {
    action: "api-key.create",
    name: "a new key",
    rest: post("/v1/api-keys", () => ({ name: newId() })),
    graph: () =>
      `mutation { createApiKey(input: { name: "${newId()}" }) { apiKey { id } userErrors { code } } }`,
  },
  {
    action: "api-key.update",
    name: "a change of a key",
    about: "object",
    rest: {
      method: "PATCH",
      url: ({ apiKeyId }) => `/v1/api-keys/${apiKeyId}`,
      body: () => ({ name: newId() }),
    },
    graph: ({ apiKeyId }) =>
      `mutation { updateApiKey(input: { id: "${apiKeyId}", name: "${newId()}" }) { apiKey { id } userErrors { code } } }`,
  },
  {
    action: "api-key.revoke",
    name: "revocation of a key",
    about: "object",
    rest: { method: "DELETE", url: ({ apiKeyId }) => `/v1/api-keys/${apiKeyId}` },
    graph: ({ apiKeyId }) =>
      `mutation { revokeApiKey(input: { id: "${apiKeyId}" }) { apiKey { id } userErrors { code } } }`,
  },
  {
    action: "management-key.read",
    name: "management keys",
    rest: get("/v1/management-keys"),
    graph: ofSelf("managementKeys { nodes { id } }"),
  },
  {
    action: "management-key.create",
    name: "a new management key",
    rest: post("/v1/management-keys", () => ({ name: newId(), scopes: ["account:read"] })),
    graph: () =>
      `mutation { createManagementKey(input: { name: "${newId()}", preset: READ_ONLY }) { managementKey { id } } }`,
  },
  {
    action: "management-key.update",
    name: "a change of a management key",
    about: "object",
    rest: {
      method: "PATCH",
      url: ({ managementKeyId }) => `/v1/management-keys/${managementKeyId}`,
      body: () => ({ name: newId() }),
    },
    graph: ({ managementKeyId }) =>
      `mutation { updateManagementKey(input: { id: "${managementKeyId}", name: "${newId()}" }) { managementKey { id } userErrors { code } } }`,
  },
  {
    action: "management-key.revoke",
    name: "revocation of a management key",
    about: "object",
    rest: { method: "DELETE", url: ({ managementKeyId }) => `/v1/management-keys/${managementKeyId}` },
    graph: ({ managementKeyId }) =>
      `mutation { revokeManagementKey(input: { id: "${managementKeyId}" }) { managementKey { id } userErrors { code } } }`,
  },
  {
    action: "webhook.read",
    name: "webhooks",
    rest: get("/v1/webhooks"),
    graph: () => "{ viewer { account { webhooks { totalCount nodes { id } } } } }",
  },
  {
    action: "tag-budget.read",
    name: "budgets of tags",
    rest: get("/v1/tag-budgets"),
    graph: ofSelf("tagBudgets { nodes { id } }"),
  },
  {
    action: "tag-budget.manage",
    name: "a change of a tag's budget",
    about: "object",
    rest: {
      method: "PATCH",
      url: ({ budgetId }) => `/v1/tag-budgets/${budgetId}`,
      body: () => ({ credit_limit: "1" }),
    },
    graph: ({ budgetId }) =>
      `mutation { updateTagBudget(input: { id: "${budgetId}", creditLimit: "1" }) { tagBudget { id } userErrors { code } } }`,
  },
  {
    action: "webhook.manage",
    name: "a test of a webhook",
    about: "object",
    rest: { method: "POST", url: ({ webhookId }) => `/v1/webhooks/${webhookId}/test` },
    graph: ({ webhookId }) =>
      `mutation { testWebhook(input: { id: "${webhookId}" }) { result { delivered } userErrors { code } } }`,
  },
  {
    action: "session.read",
    name: "the session",
    rest: get("/v1/auth/me"),
    graph: () => "{ viewer { session { expiresAt } } }",
    hiddenFrom: () => true,
  },
  {
    action: "session.end",
    name: "signing out",
    rest: post("/v1/auth/signout"),
    graph: () => "mutation { signOut { endedSessionCount } }",
  },
  {
    action: "node.read",
    name: "the operator's node",
    graph: () => "{ operatorNode { consensus { state } } }",
    laterErrors: ["access_denied"],
  },
  {
    action: "operations.read",
    name: "the state of the service",
    graph: () => "{ operations { grafanaUrl } }",
    laterErrors: ["access_denied"],
  },
  {
    action: "operations.manage",
    name: "an act of an operator",
    graph: () => "mutation { releaseExpiredHolds { releasedCount } }",
    laterErrors: ["access_denied"],
  },
];

let callers: CallerFixture;
let home: HomeObjects;
beforeAll(async () => {
  callers = await CallerFixture.open(stack().app, 10n ** 9n);
  const { secret } = callers.home;
  const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`;
  const submitted = await ask(
    stack().origin,
    secret,
    `mutation { submitImageJob(input: ${input}) { imageJob { jobId } } }`,
  );
  const jobId = submitted.data.submitImageJob.imageJob.jobId as string;
  const { origin } = stack();
  await until(async () => {
    const { data } = await ask(origin, secret, `{ imageJob(id: "${jobId}") { status } }`);
    return data.imageJob.status === "COMPLETED";
  });
  const { requestId } = await stack().app.jobs.get(callers.home, jobId);
  const wallet = { kind: "wallet-session", account: callers.home.account, sessionId: "none" } as const;
  const { webhook } = await stack().app.webhooks.create(wallet, {
    ...{ name: "hook", url: "http://127.0.0.1:1/", events: ["job.ended"] },
  });
  const budget = await stack().app.tagBudgets.create(callers.home.account, {
    ...{ name: "team", value: "search", creditLimit: 1n },
  });
  home = { jobId, requestId, webhookId: webhook.id, budgetId: budget.id };
});

/**
 * The outcome of a call: "" for permitted, "absent" for a caller to which the object does not exist,
 * otherwise the error code of the refusal.
 */
function verdictOf(code: string | undefined, hasContent: boolean, { laterErrors = [] }: Operation): string {
  if (code === undefined) return hasContent ? "" : "absent";
  if (laterErrors.includes(code)) return "";
  return code.endsWith("_not_found") ? "absent" : code;
}

async function restVerdict(
  operation: Operation,
  call: RestCall,
  objects: Objects,
  secret: string | undefined,
) {
  const body = call.body?.();
  const reply = await stack().server.inject({
    method: call.method,
    url: call.url(objects),
    headers: {
      ...(body && { "content-type": "application/json" }),
      ...(secret && { authorization: `Bearer ${secret}` }),
    },
    ...(body && { payload: body }),
  });
  if (reply.statusCode < 300) return "";
  return verdictOf(reply.json().error.code, true, operation);
}

async function graphVerdict(
  operation: Operation,
  query: string,
  secret: string | undefined,
): Promise<string> {
  const run = query.startsWith("subscription") ? firstOf : ask;
  const result = await run(stack().origin, secret, query);
  return verdictOf(failureCode(result), hasContent(result.data), operation);
}

/** Whether an answer has content: some leaf below its field that is not null. */
function hasContent(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (Array.isArray(value)) return value.some(hasContent);
  return typeof value !== "object" || Object.values(value).some(hasContent);
}

async function firstOf(origin: string, secret: string | undefined, query: string): Promise<GraphResult> {
  const following = await followEvents(origin, secret, query).catch((error: Error) => error);
  if (following instanceof Error) return JSON.parse(following.message.slice(4));
  const [first] = await until(() => following.results.length > 0 && following.results);
  await following.stop();
  return first ?? {};
}

/** The expected outcome, derived by hand from the caller's kind and account. */
function expected(caller: Caller, { action, about }: Operation): string {
  const refusal = caller.refusal(action);
  if (refusal !== "" || about === undefined) return refusal;
  if (caller.foreign) return "absent";
  const isKey = caller.refusal("inference.run") === "";
  return about === "job" && isKey && !caller.isMaker ? "absent" : "";
}

/** Whether GraphQL hides even the existence of the content from this caller. */
function isHidden(caller: Caller, { action, hiddenFrom }: Operation, refusal: string): boolean {
  if (!["insufficient_scope", "missing_authorization"].includes(refusal)) return false;
  // The content of a job is read through the job, which a management key of another account does not find.
  if (action === "job.content" && caller.foreign && caller.refusal("job.read") === "") return true;
  return hiddenFrom?.(caller) ?? false;
}

const noted: Record<string, string> = {};

describe.each(OPERATIONS)("$action: $name", (operation) => {
  test("has one verdict per credential, the same in both APIs", async () => {
    const verdicts: Record<string, Record<string, string>> = { rest: {}, graph: {} };
    const wanted: Record<string, Record<string, string>> = { rest: {}, graph: {} };
    // An empty list of the caller's own objects is a valid answer.
    const isOwn = operation.about === undefined;
    for (const caller of CALLERS) {
      const objects = { ...(await callers.owner()), ...home };
      const want = expected(caller, operation);
      if (operation.rest) {
        const secret = await callers.secretOf(caller);
        verdicts.rest = {
          ...verdicts.rest,
          [caller.name]: await restVerdict(operation, operation.rest, objects, secret),
        };
        wanted.rest = { ...wanted.rest, [caller.name]: want };
      }
      if (!operation.graph) continue;
      const secret = await callers.secretOf(caller);
      const self = await accountOf(secret);
      const verdict = await graphVerdict(operation, operation.graph({ ...objects, self }), secret);
      const hidden = isHidden(caller, operation, want);
      verdicts.graph = {
        ...verdicts.graph,
        [caller.name]: isOwn && verdict === "absent" && !hidden ? "" : verdict,
      };
      wanted.graph = { ...wanted.graph, [caller.name]: hidden ? "absent" : want };
    }
    expect(verdicts).toEqual(wanted);
    for (const [api, cells] of Object.entries(verdicts))
      for (const [name, verdict] of Object.entries(cells))
        noted[`${api} ${operation.name} ${name}`] = verdict;
  });
});

/** The account of this credential; undefined without a valid credential. */
async function accountOf(secret: string | undefined): Promise<string> {
  const principal = await stack()
    .app.authenticate(secret && `Bearer ${secret}`)
    .catch(() => undefined);
  return principal && "account" in principal ? principal.account : `0x${"0".repeat(40)}`;
}

test("every action has its cells, and there are more than 600", () => {
  expect([...new Set(OPERATIONS.map(({ action }) => action))].toSorted()).toEqual(
    Object.keys(PERMISSIONS).toSorted(),
  );
  const cells = Object.keys(noted).length;
  console.info(`${cells} cells of permission`);
  expect(cells).toBe(
    CALLERS.length * OPERATIONS.reduce((sum, { rest, graph }) => sum + (rest ? 1 : 0) + (graph ? 1 : 0), 0),
  );
  expect(cells).toBeGreaterThanOrEqual(600);
});

test("a wallet reads and cancels the job of a revoked key, and the key itself is answered that it was revoked", async () => {
  const { app, origin } = stack();
  const owner = await seedAccount(app.database, 10n ** 9n);
  const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`;
  const submitted = await ask(
    origin,
    owner.secret,
    `mutation { submitImageJob(input: ${input}) { imageJob { jobId } } }`,
  );
  const id = submitted.data.submitImageJob.imageJob.jobId as string;
  await app.apiKeys.revoke(owner.account, owner.keyId);
  const query = `{ imageJob(id: "${id}") { status images { b64Json } } }`;
  const session = await openSession(app, owner.account);
  const seen = await until(async () => {
    const { data, errors } = await ask(origin, session, query);
    expect(errors).toBeUndefined();
    return data.imageJob.status === "COMPLETED" && data.imageJob;
  });
  expect(seen.images).toHaveLength(1);
  const refused = await ask(origin, owner.secret, query);
  expect(refused.errors?.[0]?.extensions?.code).toBe("api_key_revoked");
  const { secret } = await app.managementKeys.create(owner.account, "all", SCOPES);
  const stood = await ask(origin, secret, query);
  expect(stood.data.imageJob).toEqual({ status: "COMPLETED", images: null });
  expect(stood.errors?.[0]).toMatchObject({
    path: ["imageJob", "images"],
    extensions: { code: "insufficient_scope" },
  });
});

test("all job steps are those of the key's own jobs for a key, and those of every key for the account", async () => {
  const { app, origin } = stack();
  const owner = await seedAccount(app.database, 10n ** 9n);
  const other = await app.apiKeys.create(owner.account, "another");
  const query = "subscription { imageJobChanged { jobId status } }";
  const session = await openSession(app, owner.account);
  const [own, others, all] = await Promise.all(
    [owner.secret, other.secret, session].map((secret) => followEvents(origin, secret, query)),
  );
  const submit = async (secret: string): Promise<string> => {
    const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`;
    const { data } = await ask(
      origin,
      secret,
      `mutation { submitImageJob(input: ${input}) { imageJob { jobId } } }`,
    );
    return data.submitImageJob.imageJob.jobId;
  };
  await until(() => app.events.openStreams >= 3);
  const [mine, theirs] = [await submit(owner.secret), await submit(other.secret)];
  const stepsOf = (following: typeof own) =>
    following?.results.map(({ data }) => data.imageJobChanged as { jobId: string; status: string }) ?? [];
  const ended = (following: typeof own, id: string) =>
    stepsOf(following).some(({ jobId, status }) => jobId === id && status === "COMPLETED");
  await until(() => ended(own, mine) && ended(others, theirs) && ended(all, mine) && ended(all, theirs));
  expect(new Set(stepsOf(own).map(({ jobId }) => jobId))).toEqual(new Set([mine]));
  expect(new Set(stepsOf(others).map(({ jobId }) => jobId))).toEqual(new Set([theirs]));
  await Promise.all([own, others, all].map((following) => following?.stop()));
});

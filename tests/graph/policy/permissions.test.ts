// @module-tag large
import { readFileSync } from "node:fs";
import { type DocumentNode, type FieldDefinitionNode, parse } from "graphql";
import { beforeAll, expect, test } from "vitest";
import { newId } from "../../../src/kernel/text/ids.ts";
import { PERMISSIONS, type Permission } from "../../../src/keys/auth/permissions.ts";
import { type Access, CALLERS, type Caller, CallerFixture, type Owner } from "../../support/callers.ts";
import { ask, failureCode, followEvents, type GraphResult } from "../../support/clients/graph-client.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();

/** Who is permitted to read a field, and the codes that permitted callers get: any of them, and another account. */
type Row = {
  readonly access: Access;
  readonly query: (owner: Owner) => string;
  readonly heard?: string;
  readonly foreign?: string;
};

const open = (query: string, heard = ""): Row => ({ access: "public", query: () => query, heard });
const ofAccount = (access: Access, field: string): Row => ({
  access,
  query: ({ account }) => `{ account(address: "${account}") { ${field} } }`,
  foreign: "insufficient_scope",
});
const ofViewer = (access: Access, field: string): Row => ({
  access,
  query: () => `{ viewer { account { ${field} { nodes { id } } } } }`,
});
// A permitted caller learns that the cursor is invalid: a refused stream never looks at it.
const followed = (access: Access, field: string): Row => ({
  access,
  query: () => `subscription { ${field}(after: "none") { id } }`,
  heard: "invalid_cursor",
});
const ofApiKey = (access: Access, field: string, more = ""): Row => ({
  access,
  query: ({ apiKeyId }) =>
    `mutation { ${field}(input: { id: "${apiKeyId}"${more} }) { userErrors { code } } }`,
  foreign: "api_key_not_found",
});
const ofManagementKey = (access: Access, field: string, more = ""): Row => ({
  access,
  query: ({ managementKeyId }) =>
    `mutation { ${field}(input: { id: "${managementKeyId}"${more} }) { userErrors { code } } }`,
  foreign: "management_key_not_found",
});

// A caller with the scope learns that it is not an operator: no other caller gets that far.
const ofOperator = (field: string): Row => ({
  access: "node.read",
  query: () => `{ operatorNode { ${field} } }`,
  heard: "access_denied",
});

const ofOperations = (field: string, input = ""): Row => ({
  access: "operations.manage",
  query: () => `mutation { ${field}${input && `(input: ${input})`} { userErrors { code } } }`,
  heard: "access_denied",
});

const ofNoWebhook = (field: string, more = ""): Row => ({
  access: "webhook.manage",
  query: () => `mutation { ${field}(input: { id: "${newId()}"${more} }) { userErrors { code } } }`,
  heard: "webhook_not_found",
  foreign: "webhook_not_found",
});

const ofNoBudget = (field: string, more = ""): Row => ({
  access: "tag-budget.manage",
  query: () => `mutation { ${field}(input: { id: "${newId()}"${more} }) { userErrors { code } } }`,
  heard: "tag_budget_not_found",
  foreign: "tag_budget_not_found",
});

const MOVE = `, owner: "0x${"2".repeat(40)}", to: "0x${"3".repeat(40)}", proofs: []`;
// A contract that is not read here: every caller gets the same error.
const ofToken = (field: string, more: string, selection = "{ data }"): Row =>
  open(`{ ${field}(contract: "0x${"1".repeat(40)}", tokenId: 1${more}) ${selection} }`, "not_found");

const NO_CHAT = '{ model: "none", messages: [{ role: "user", content: "Hello" }] }';

const NO_MESSAGE = '{ model: "none", messages: [{ role: USER, content: "Hello" }], maxTokens: 1 }';

const NO_EDIT = '{ model: "none", prompt: "a sea", images: [{ fileBase64: "AAAA" }] }';

const NOBODY = `0x${"1".repeat(40)}`;

const ORDER = `{ tokenId: "1", expectedPrice: "1", expireTime: "99999999999", nonce: "0x${"1".repeat(64)}" }`;
const OFFER = `{ tokenId: "1", offerPrice: "1", expireTime: "99999999999", nonce: "0x${"1".repeat(64)}" }`;

const JOBS = { access: "job.read" } as const;

/** Every root field, and every field that the supergraph guards. */
const MATRIX: Readonly<Record<string, Row>> = {
  "Query.viewer": open("{ viewer { __typename } }"),
  "Query.eventCursor": open("{ eventCursor }"),
  "Query.network": open("{ network { name } }"),
  "Query.networks": open("{ networks { name } }"),
  "Query.block": open("{ block { number } }"),
  "Query.contract": open("{ contract(name: FLOW) { address } }"),
  "Query.daSigners": open("{ daSigners { epochNumber } }"),
  "Query.wrappedBase": open("{ wrappedBase { wrappedToken } }"),
  "Query.inferenceServices": open("{ inferenceServices { nodes { modelId } } }"),
  "Query.inferenceService": open(`{ inferenceService(provider: "${NOBODY}") { modelId } }`),
  "Query.directRules": open("{ directRules { minimumLedger } }"),
  "Query.fineTuning": open("{ fineTuning { version } }"),
  "Query.fineTuningVersions": open("{ fineTuningVersions { version } }"),
  "Query.prepareAddLedger": open('{ prepareAddLedger(amount: "1") { data } }'),
  "Query.prepareDepositFund": open('{ prepareDepositFund(amount: "1") { data } }'),
  "Query.prepareTransferFund": open(
    `{ prepareTransferFund(provider: "${NOBODY}", service: INFERENCE, amount: "1") { data } }`,
  ),
  "Query.prepareRetrieveFund": open(
    `{ prepareRetrieveFund(providers: ["${NOBODY}"], service: INFERENCE) { data } }`,
  ),
  "Query.prepareRefund": open('{ prepareRefund(amount: "1") { data } }'),
  "Query.prepareAcknowledgeSigner": open(
    `{ prepareAcknowledgeSigner(provider: "${NOBODY}", service: INFERENCE) { data } }`,
  ),
  "Query.prepareAcknowledgeDeliverable": open(
    `{ prepareAcknowledgeDeliverable(provider: "${NOBODY}", deliverableId: "1") { data } }`,
  ),
  "Query.prepareRevokeTokens": open(`{ prepareRevokeTokens(provider: "${NOBODY}", tokenIds: [1]) { data } }`),
  "Query.prepareRevokeAllTokens": open(`{ prepareRevokeAllTokens(provider: "${NOBODY}") { data } }`),
  "Query.appSecretText": open(
    `{ appSecretText(account: "${NOBODY}", provider: "${NOBODY}") { digest } }`,
    "not_found",
  ),
  "Mutation.assembleAppSecret": open(
    'mutation { assembleAppSecret(input: { text: "none", signature: "0x00" }) { secret userErrors { code } } }',
    "invalid_parameter",
  ),
  "Query.operations": {
    access: "operations.read",
    query: () => "{ operations { grafanaUrl } }",
    heard: "access_denied",
  },
  "Mutation.closeProviderCircuits": ofOperations("closeProviderCircuits", `{ providerAddress: "${NOBODY}" }`),
  "Mutation.pauseProvider": ofOperations("pauseProvider", `{ providerAddress: "${NOBODY}", seconds: 60 }`),
  "Mutation.enableFaultyWebhook": ofOperations("enableFaultyWebhook", `{ id: "${newId()}" }`),
  "Mutation.verifyLedger": ofOperations("verifyLedger"),
  "Mutation.releaseExpiredHolds": ofOperations("releaseExpiredHolds"),
  "Query.operatorNode": open('{ operatorNode { diagnose(message: "-38002") { kind } } }'),
  "OperatorNode.consensus": ofOperator("consensus { state }"),
  "OperatorNode.execution": ofOperator("execution { state }"),
  "OperatorNode.engine": ofOperator("engine { state }"),
  "OperatorNode.preflight": ofOperator("preflight { rule }"),
  "Query.market": open("{ market { address } }"),
  "Query.marketOrderTypedData": open(`{ marketOrderTypedData(order: ${ORDER}) { hash } }`),
  "Query.marketOfferTypedData": open(`{ marketOfferTypedData(offer: ${OFFER}) { hash } }`),
  "Query.checkMarketOrder": open(`{ checkMarketOrder(order: ${ORDER}, signature: "0x00") { valid } }`),
  "Query.checkMarketOffer": open(`{ checkMarketOffer(offer: ${OFFER}, signature: "0x00") { valid } }`),
  "Query.prepareFulfillOrder": open(
    `{ prepareFulfillOrder(order: ${ORDER}, orderSignature: "0x00", offer: ${OFFER}, offerSignature: "0x00") { data } }`,
    "invalid_parameter",
  ),
  "Query.prepareMarketDeposit": open(
    `{ prepareMarketDeposit(account: "${NOBODY}", amount: "1") { data } }`,
    "contract_refused",
  ),
  "Query.prepareMarketWithdrawal": open(
    `{ prepareMarketWithdrawal(account: "${NOBODY}", amount: "1") { data } }`,
    "contract_refused",
  ),
  "Query.preparePartnerFeeWithdrawal": open(
    `{ preparePartnerFeeWithdrawal(partner: "${NOBODY}") { data } }`,
    "contract_refused",
  ),
  "Query.prepareMarketApproval": open('{ prepareMarketApproval(tokenId: "1000000") { data } }', "not_found"),
  "Query.prepareCurrencyApproval": open(
    `{ prepareCurrencyApproval(currency: "${NOBODY}", amount: "1", from: "${NOBODY}") { data } }`,
    "contract_not_found",
  ),
  "Subscription.orderFulfilled": open(
    'subscription { orderFulfilled(after: "none") { id } }',
    "invalid_cursor",
  ),
  "Query.models": open("{ models { nodes { id } } }"),
  "Query.model": open('{ model(id: "none") { id } }'),
  "Query.serviceTypes": open("{ serviceTypes { type providerCount } }"),
  "Query.providers": open("{ providers { nodes { id } } }"),
  "Query.provider": open(`{ provider(address: "0x${"1".repeat(40)}") { id } }`),
  "Query.agentToken": open(`{ agentToken(contract: "0x${"1".repeat(40)}", tokenId: 1) { id } }`),
  "Query.agentTokens": open("{ agentTokens { nodes { id } } }"),
  "Query.agentTokenHistory": open(
    `{ agentTokenHistory(contract: "0x${"1".repeat(40)}", tokenId: 1) { nodes { kind } } }`,
  ),
  "Query.agentContracts": open("{ agentContracts { address } }"),
  "Query.sealedKeys": open(`{ sealedKeys(to: "0x${"1".repeat(40)}") { nodes { id } } }`),
  "Query.accessProofTexts": ofToken("accessProofTexts", "", "{ text }"),
  "Query.prepareMint": open(
    `{ prepareMint(contract: "0x${"1".repeat(40)}", from: "0x${"2".repeat(40)}", to: "0x${"2".repeat(40)}") { data } }`,
    "not_found",
  ),
  "Query.prepareTransfer": ofToken("prepareTransfer", MOVE),
  "Query.prepareClone": ofToken("prepareClone", MOVE),
  "Query.prepareAuthorizeUsage": ofToken("prepareAuthorizeUsage", `, user: "0x${"2".repeat(40)}"`),
  "Query.prepareRevokeAuthorization": ofToken("prepareRevokeAuthorization", `, user: "0x${"2".repeat(40)}"`),
  "Query.prepareDelegateAccess": open(
    `{ prepareDelegateAccess(contract: "0x${"1".repeat(40)}", assistant: "0x${"2".repeat(40)}") { data } }`,
    "not_found",
  ),
  "Subscription.publishedSealedKey": followed("public", "publishedSealedKey"),
  "Subscription.tokenTransferred": followed("public", "tokenTransferred"),
  "Subscription.blockAdded": open("subscription { blockAdded { number } }"),
  "Query.files": open("{ files { nodes { root } } }"),
  "Query.prepareUpload": open(
    `{ prepareUpload(input: { content: "aGk=", from: "0x${"1".repeat(40)}" }) { root } }`,
  ),
  "Mutation.uploadSegment": open(
    `mutation { uploadSegment(input: { root: "0x${"0".repeat(64)}", index: 0, data: "aGk=",
      proof: { lemma: [], path: [] } }) { outcome userErrors { code } } }`,
    "file_not_found",
  ),
  // A stream of an unknown file waits, so the error is that of the cursor.
  "Subscription.fileProgress": {
    access: "public",
    query: () => `subscription { fileProgress(root: "0x${"0".repeat(64)}", after: "none") { id } }`,
    heard: "invalid_cursor",
  },
  "Query.storageStatus": open("{ storageStatus { nextTxSeq } }"),
  "Query.kvStream": open(`{ kvStream(streamId: "0x${"0".repeat(64)}") { streamId } }`),
  "Query.kvStreams": open("{ kvStreams { nodes { streamId } } }"),
  "Query.kvValue": open(`{ kvValue(streamId: "0x${"0".repeat(64)}", keyText: "none") { sizeBytes } }`),
  "Query.kvEntries": open(`{ kvEntries(streamId: "0x${"0".repeat(64)}") { nodes { sizeBytes } } }`),
  "Query.kvTransaction": open('{ kvTransaction(txSeq: "1000000") { result } }'),
  "Query.prepareKvWrite": open(
    `{ prepareKvWrite(input: { from: "0x${"1".repeat(40)}" }) { tags } }`,
    "invalid_parameter",
  ),
  "Subscription.kvChanged": {
    access: "public",
    query: () => `subscription { kvChanged(streamId: "0x${"0".repeat(64)}", after: "none") { id } }`,
    heard: "invalid_cursor",
  },
  "Query.file": open('{ file(txSeq: "1000000") { root } }'),
  "Query.request": { access: "request.read", query: () => '{ request(id: "none") { id } }' },
  "Query.receipt": { access: "receipt.read", query: () => '{ receipt(requestId: "none") { charge } }' },
  "Query.receiptLog": open("{ receiptLog { origin treeHead { size } } }"),
  "Query.node": open('{ node(id: "none") { id } }'),
  "Query.nodes": open('{ nodes(ids: ["none"]) { id } }'),
  "Query.account": open(`{ account(address: "${NOBODY}") { address direct { ledger { total } } } }`),
  "Account.balance": ofAccount("balance.read", "balance { total }"),
  "Account.vaultBalance": ofAccount("balance.read", "vaultBalance { balance }"),
  "Account.createdAt": ofAccount("account.read", "createdAt"),
  "Account.deposits": ofAccount("deposit.read", "deposits { nodes { id } }"),
  "Account.usage": ofAccount("usage.read", "usage { __typename }"),
  "Account.requests": ofAccount("request.read", "requests { nodes { id } }"),
  "Account.apiKeys": ofViewer("api-key.read", "apiKeys"),
  "Account.managementKeys": ofViewer("management-key.read", "managementKeys"),
  "Account.webhooks": ofViewer("webhook.read", "webhooks"),
  "Account.tagBudgets": ofViewer("tag-budget.read", "tagBudgets"),
  "Mutation.createTagBudget": {
    access: "tag-budget.manage",
    query: () =>
      `mutation { createTagBudget(input: { tag: { name: "team", value: "${newId()}" }, creditLimit: "1" }) { tagBudget { id } userErrors { code } } }`,
  },
  "Mutation.updateTagBudget": ofNoBudget("updateTagBudget", ', creditLimit: "1"'),
  "Mutation.deleteTagBudget": ofNoBudget("deleteTagBudget"),
  // The account of the callers soon has as many as it may have.
  "Mutation.createWebhook": {
    access: "webhook.manage",
    query: () =>
      `mutation { createWebhook(input: { name: "", url: "http://127.0.0.1:1", events: [SEALED_KEY_PUBLISHED] }) { userErrors { code } } }`,
    heard: "invalid_parameter",
  },
  "Mutation.updateWebhook": ofNoWebhook("updateWebhook", ', name: "renamed"'),
  "Mutation.deleteWebhook": ofNoWebhook("deleteWebhook"),
  "Mutation.testWebhook": ofNoWebhook("testWebhook"),
  "Mutation.rotateWebhookSecret": ofNoWebhook("rotateWebhookSecret"),
  "Mutation.replayWebhook": ofNoWebhook("replayWebhook", ', after: "none"'),
  "Mutation.createApiKey": {
    access: "api-key.create",
    query: () => `mutation { createApiKey(input: { name: "${newId()}" }) { apiKey { id } } }`,
  },
  "Mutation.updateApiKey": ofApiKey("api-key.update", "updateApiKey", ', name: "renamed"'),
  "Mutation.revokeApiKey": ofApiKey("api-key.revoke", "revokeApiKey"),
  "Mutation.createManagementKey": {
    access: "management-key.create",
    query: () =>
      `mutation { createManagementKey(input: { name: "${newId()}", preset: READ_ONLY }) { managementKey { id } } }`,
  },
  "Mutation.updateManagementKey": ofManagementKey(
    "management-key.update",
    "updateManagementKey",
    ', name: "renamed"',
  ),
  "Mutation.revokeManagementKey": ofManagementKey("management-key.revoke", "revokeManagementKey"),
  "Mutation.createSignInNonce": open("mutation { createSignInNonce { nonce } }"),
  "Mutation.signIn": open(
    'mutation { signIn(input: { message: "none", signature: "0x00" }) { token } }',
    "sign_in_refused",
  ),
  "Mutation.signOut": { access: "session.end", query: () => "mutation { signOut { endedSessionCount } }" },
  "Query.routingPreview": {
    access: "routing.preview",
    query: () => "{ routingPreview(serviceType: CHATBOT) { providers { id } } }",
  },
  // A permitted caller learns that the model does not exist: no other caller gets that far.
  "Mutation.completeChat": {
    access: "inference.run",
    query: () => `mutation { completeChat(input: ${NO_CHAT}) { userErrors { code } } }`,
    heard: "model_not_found",
  },
  "Mutation.createMessage": {
    access: "inference.run",
    query: () => `mutation { createMessage(input: ${NO_MESSAGE}) { userErrors { code } } }`,
    heard: "model_not_found",
  },
  "Subscription.createMessage": {
    access: "inference.run",
    query: () => `subscription { createMessage(input: ${NO_MESSAGE}) { bill { requestId } } }`,
    heard: "model_not_found",
  },
  "Query.messageTokenCount": {
    access: "inference.run",
    query: () => `{ messageTokenCount(input: ${NO_MESSAGE.replace(", maxTokens: 1", "")}) { inputTokens } }`,
    heard: "model_not_found",
  },
  "Mutation.generateImages": {
    access: "inference.run",
    query: () =>
      'mutation { generateImages(input: { model: "none", prompt: "a sea" }) { userErrors { code } } }',
    heard: "model_not_found",
  },
  "Mutation.editImages": {
    access: "inference.run",
    query: () => `mutation { editImages(input: ${NO_EDIT}) { userErrors { code } } }`,
    heard: "model_not_found",
  },
  "Mutation.submitImageEditJob": {
    access: "job.submit",
    query: () => `mutation { submitImageEditJob(input: ${NO_EDIT}) { userErrors { code } } }`,
    heard: "model_not_found",
  },
  "Mutation.createEmbeddings": {
    access: "inference.run",
    query: () =>
      'mutation { createEmbeddings(input: { model: "none", texts: ["a sea"] }) { userErrors { code } } }',
    heard: "model_not_found",
  },
  "Mutation.createSpeech": {
    access: "inference.run",
    query: () =>
      'mutation { createSpeech(input: { model: "none", text: "a sea", voice: "a" }) { userErrors { code } } }',
    heard: "model_not_found",
  },
  "Mutation.rerankDocuments": {
    access: "inference.run",
    query: () =>
      'mutation { rerankDocuments(input: { model: "none", query: "a", documents: ["b"] }) { userErrors { code } } }',
    heard: "model_not_found",
  },
  "Mutation.transcribeAudio": {
    access: "inference.run",
    query: () =>
      'mutation { transcribeAudio(input: { model: "none", fileBase64: "AAAA" }) { userErrors { code } } }',
    heard: "model_not_found",
  },
  "Subscription.completeChat": {
    access: "inference.run",
    query: () => `subscription { completeChat(input: ${NO_CHAT}) { bill { requestId } } }`,
    heard: "model_not_found",
  },
  "Query.imageJob": { ...JOBS, query: () => '{ imageJob(id: "none") { id } }' },
  "Query.imageJobs": { ...JOBS, query: () => "{ imageJobs { nodes { id } } }" },
  "Mutation.submitImageJob": {
    access: "job.submit",
    query: () =>
      'mutation { submitImageJob(input: { model: "none", prompt: "sea" }) { userErrors { code } } }',
    heard: "model_not_found",
  },
  "Mutation.cancelImageJob": {
    access: "job.cancel",
    query: () => 'mutation { cancelImageJob(input: { id: "none" }) { userErrors { code } } }',
    heard: "async_job_not_found",
  },
  "Subscription.imageJobProgress": {
    ...JOBS,
    query: () => 'subscription { imageJobProgress(id: "none") { id } }',
    heard: "async_job_not_found",
  },
  "Subscription.imageJobChanged": followed("job.read", "imageJobChanged"),
  "Query.batch": { ...JOBS, query: () => '{ batch(id: "none") { id } }' },
  "Query.batches": { ...JOBS, query: () => "{ batches { nodes { id } } }" },
  "Mutation.cancelBatch": {
    access: "job.cancel",
    query: () => 'mutation { cancelBatch(input: { id: "none" }) { userErrors { code } } }',
    heard: "batch_not_found",
  },
  "Subscription.batchProgress": {
    ...JOBS,
    query: () => 'subscription { batchProgress(id: "none") { id } }',
    heard: "batch_not_found",
  },
  "Subscription.batchChanged": followed("job.read", "batchChanged"),
  "Subscription.balanceChanged": followed("balance.read", "balanceChanged"),
  "Subscription.depositChanged": followed("deposit.read", "depositChanged"),
  "Subscription.keyChanged": followed("api-key.read", "keyChanged"),
};

test("every root field and every guarded field has its row, and every row its field", () => {
  const supergraph = parse(readFileSync("schema/supergraph.graphql", "utf8"));
  const found = supergraph.definitions.flatMap((type) =>
    type.kind === "ObjectTypeDefinition"
      ? (type.fields ?? [])
          .filter((field) => isDoor(type.name.value, field))
          .map(({ name }) => `${type.name.value}.${name.value}`)
      : [],
  );
  expect(found.toSorted()).toEqual(Object.keys(MATRIX).toSorted());
});

let callers: CallerFixture;
beforeAll(async () => {
  callers = await CallerFixture.open(stack().app);
});

test.each(Object.entries(MATRIX))(
  "%s permits the expected callers, and gives all others the reason",
  async (field, row) => {
    const owner = await callers.owner();
    const run = field.startsWith("Subscription") ? firstOf : ask;
    const heard: Record<string, string> = {};
    // In sequence, as some of them end objects that the others query.
    for (const caller of CALLERS) {
      const result = await run(stack().origin, await callers.secretOf(caller), row.query(owner));
      heard[caller.name] = failureCode(result) ?? "";
    }
    expect(heard).toEqual(Object.fromEntries(CALLERS.map((caller) => [caller.name, expected(caller, row)])));
  },
);

function expected(caller: Caller, row: Row): string {
  // An invalid credential is refused before the graph looks at the operation.
  const useless = caller.refusal("account.read");
  if (!["", "insufficient_scope", "missing_authorization"].includes(useless)) return useless;
  const refusal = caller.refusal(row.access);
  const heard = caller.isRestricted && row.heard === "model_not_found" ? "access_denied" : row.heard;
  return refusal || (caller.foreign && row.foreign) || heard || "";
}

async function firstOf(origin: string, secret: string | undefined, query: string): Promise<GraphResult> {
  const following = await followEvents(origin, secret, query).catch((error: Error) => error);
  // A request refused as a whole has the status that REST gives it.
  if (following instanceof Error) return JSON.parse(following.message.slice(4));
  const [first] = await until(() => following.results.length > 0 && following.results);
  await following.stop();
  return first ?? {};
}

test("the directives of the supergraph match the permission of each field's action", () => {
  const supergraph = parse(readFileSync("schema/supergraph.graphql", "utf8"));
  for (const [field, { access }] of Object.entries(MATRIX)) {
    const permission: Permission | undefined = access === "public" ? undefined : PERMISSIONS[access];
    const isForAccount = permission?.apiKey === "none";
    // Mutations and subscriptions that spend are refused by their services, which know the key's restrictions.
    const isForKeys = permission?.apiKey === "all" && !permission.session && field.startsWith("Query.");
    const forAccount = isForAccount ? (permission.scope ?? "wallet-session") : undefined;
    expect([field, directiveOf(supergraph, field)]).toEqual([field, isForKeys ? "api-key" : forAccount]);
  }
});

/** The scope or the policy that a field names. */
function directiveOf(supergraph: DocumentNode, coordinate: string): string | undefined {
  const [typeName, fieldName] = coordinate.split(".");
  const type = supergraph.definitions.find(
    (definition) => definition.kind === "ObjectTypeDefinition" && definition.name.value === typeName,
  );
  if (type?.kind !== "ObjectTypeDefinition") throw new Error(`there is no type ${typeName}`);
  const field = type.fields?.find(({ name }) => name.value === fieldName);
  const directive = field?.directives?.find(({ name }) => ["requiresScopes", "policy"].includes(name.value));
  const value = directive?.arguments?.[0]?.value;
  if (value?.kind !== "ListValue") return undefined;
  const [group] = value.values;
  const [named] = group?.kind === "ListValue" ? group.values : [];
  return named?.kind === "StringValue" ? named.value : undefined;
}

function isDoor(type: string, { directives = [] }: FieldDefinitionNode): boolean {
  if (["Query", "Mutation", "Subscription"].includes(type)) return true;
  return directives.some(({ name }) => ["requiresScopes", "policy"].includes(name.value));
}

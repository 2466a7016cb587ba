// @module-tag large
import { readFileSync } from "node:fs";
import {
  buildASTSchema,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isScalarType,
  parse,
} from "graphql";
import { beforeAll, describe, expect, test } from "vitest";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { agentProofs, mintAgent, newData, type Proof, randomHex } from "../support/chain/agents.ts";
import { newTrader, sendPrepared, signTyped, type Trader, testClient } from "../support/chain/market.ts";
import { ask } from "../support/clients/graph-client.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const PRICE = "1000";
const EOA = `0x${"11".repeat(20)}`;
const MATCH = `query ($order: MarketOrderInput!, $orderSignature: Hex!, $offer: MarketOfferInput!, $offerSignature: Hex!,
    $proofs: [TransferProofInput!]! = [], $payment: MarketPayment! = SENT, $from: Address) {
  prepareFulfillOrder(order: $order, orderSignature: $orderSignature, offer: $offer, offerSignature: $offerSignature,
    proofs: $proofs, payment: $payment, from: $from) { to data value warnings } }`;

type Variables = Readonly<Record<string, unknown>>;

const run = (query: string, variables: Variables = {}) => ask(stack().origin, undefined, query, variables);

async function faultOf(query: string, variables: Variables = {}) {
  const { errors } = await run(query, variables);
  const { code, param } = errors?.[0]?.extensions ?? {};
  return { code, param, message: errors?.[0]?.message };
}

async function signed(field: "Order" | "Offer", fields: Variables, trader: Trader) {
  const { data, errors } = await run(
    `query ($fields: Market${field}Input!) { signable: market${field}TypedData(${field.toLowerCase()}: $fields) { typedData nonce } }`,
    { fields },
  );
  expect(errors).toBeUndefined();
  const { nonce, typedData } = data.signable;
  return { input: { ...fields, nonce }, signature: await signTyped(trader, typedData) };
}

/** A token that its seller has put on sale with `order`, and an offer of a buyer. */
async function newMatch({
  order = {},
  offer = {},
}: {
  readonly order?: Variables;
  readonly offer?: Variables;
} = {}) {
  const { rpcUrl } = stack();
  const [seller, buyer] = [await newTrader(rpcUrl), await newTrader(rpcUrl)];
  const data = [newData("mind"), newData("memory")];
  const { tokenId } = await mintAgent(rpcUrl, { to: seller.address, data });
  const approval = await run(`{ prepareMarketApproval(tokenId: "${tokenId}") { to data value } }`);
  await sendPrepared(rpcUrl, seller, approval.data.prepareMarketApproval);
  const expireTime = String((await testClient(rpcUrl).getBlock()).timestamp + 3_600n);
  const fields = { tokenId: String(tokenId), expireTime };
  const [ordered, offered] = [
    await signed("Order", { ...fields, expectedPrice: PRICE, ...order }, seller),
    await signed("Offer", { ...fields, offerPrice: PRICE, needProof: false, ...offer }, buyer),
  ];
  const match = {
    order: ordered.input,
    orderSignature: ordered.signature,
    offer: offered.input as Variables,
    offerSignature: offered.signature,
  };
  return { seller, buyer, data, match };
}

const toInput = (proofs: readonly Proof[]) =>
  proofs.map(({ accessProof, ownershipProof }) => ({
    accessProof,
    ownershipProof: { ...ownershipProof, oracleType: "TEE" },
  }));

describe("a match is refused by the argument at fault,", () => {
  const BAD_SIGNATURE = `0x${"11".repeat(65)}`;

  test("an offer that differs from its signature, however it is paid", async () => {
    const { match, seller } = await newMatch();
    const changed = { ...match, offer: { ...match.offer, offerPrice: "1001" } };
    for (const [variables, refusal, param] of [
      [changed, /^The sender's balance does not cover/, "offer"],
      [
        { ...match, offer: { ...match.offer, tokenId: "2" } },
        /^The sender's balance does not cover/,
        "offer",
      ],
      [{ ...changed, payment: "BALANCE", from: seller.address }, /^Insufficient balance/, "payment"],
    ] as const) {
      const { errors } = await run(MATCH, variables);
      expect(errors?.[0]).toMatchObject({
        message: expect.stringMatching(refusal),
        extensions: { code: "contract_refused", param },
      });
      expect(errors?.[0]?.message).toMatch(
        /the offer's signature is by 0x\w+: if this is not the buyer, another account signed the offer, or a field differs from the signed offer\.$/,
      );
    }
    const currency = contractAddresses().devToken;
    const inDollars = await newMatch({ order: { currency } });
    const wrong = { ...inDollars.match, offer: { ...inDollars.match.offer, offerPrice: "1001" } };
    expect(await faultOf(MATCH, wrong)).toMatchObject({
      param: "offer",
      message: expect.stringMatching(/a field differs from the signed offer\.$/),
    });
  });

  test("an offer of another sender, whose signer is named, because it receives the token", async () => {
    const { match, seller, buyer } = await newMatch();
    const { data } = await run(MATCH, { ...match, from: seller.address });
    expect(data.prepareFulfillOrder.warnings.join(" ")).toContain(buyer.address.toLowerCase());
    expect(await faultOf(MATCH, { ...match, from: EOA })).toEqual({
      code: "contract_refused",
      param: "from",
      message: "The sender's balance does not cover the transaction's value.",
    });
  });

  test("a malformed signature, and a currency that is none", async () => {
    const { match, seller } = await newMatch();
    const from = seller.address;
    for (const [variables, param] of [
      [{ ...match, orderSignature: BAD_SIGNATURE }, "orderSignature"],
      [{ ...match, offerSignature: BAD_SIGNATURE, from }, "offerSignature"],
      [{ ...match, offerSignature: "0x11", from }, "offerSignature"],
      [{ ...match, offerSignature: "0x11" }, "offerSignature"],
      [(await newMatch({ order: { currency: EOA } })).match, "order.currency"],
    ] as const)
      expect([await faultOf(MATCH, variables), param]).toEqual([expect.objectContaining({ param }), param]);
  });

  test("a proof that the token's contract refuses", async () => {
    const { match, data, buyer } = await newMatch({ offer: { needProof: true } });
    const proofs = toInput(await agentProofs(data, { to: buyer }));
    const withProof = (part: "accessProof" | "ownershipProof", proof: string) =>
      proofs.map((one, n) => (n === 1 ? { ...one, [part]: { ...one[part], proof } } : one));
    for (const [given, param] of [
      [[], "proofs"],
      [withProof("accessProof", BAD_SIGNATURE), "proofs.1.accessProof.proof"],
      [withProof("accessProof", proofs[0]?.accessProof.proof ?? ""), "proofs.1.accessProof.proof"],
      [withProof("ownershipProof", "0x11"), "proofs.1.ownershipProof.proof"],
      [withProof("ownershipProof", proofs[0]?.accessProof.proof ?? ""), "proofs.1.ownershipProof.proof"],
    ] as const)
      expect([await faultOf(MATCH, { ...match, proofs: given }), param]).toEqual([
        expect.objectContaining({ code: "contract_refused", param }),
        param,
      ]);
  });
});

test("an order or offer is named with its argument, whichever field reads it", async () => {
  const order = { tokenId: "1", expectedPrice: "1", expireTime: "1" };
  const offer = { tokenId: "1", offerPrice: "1", expireTime: "1" };
  const typed = (kind: string) =>
    `query ($fields: Market${kind}Input!) { market${kind}TypedData(${kind.toLowerCase()}: $fields) { hash } }`;
  const check = (kind: string) =>
    `query ($fields: Market${kind}Input!) { checkMarket${kind}(${kind.toLowerCase()}: $fields, signature: "0x") { hash } }`;
  for (const [query, fields, param] of [
    [typed("Order"), order, "order.expireTime"],
    [typed("Offer"), offer, "offer.expireTime"],
    [check("Order"), order, "order.nonce"],
    [check("Offer"), offer, "offer.nonce"],
  ] as const)
    expect(await faultOf(query, { fields })).toMatchObject({ code: "invalid_parameter", param });
});

test("an address without the contract that an argument means is refused by its name", async () => {
  const { match, buyer } = await newMatch();
  const { agentMarket } = contractAddresses();
  const approve = (currency: string) =>
    `{ prepareCurrencyApproval(currency: "${currency}", amount: "1", from: "${buyer.address}") { data } }`;
  expect(await faultOf(approve(EOA))).toEqual({
    code: "contract_not_found",
    param: "currency",
    message: `There is no contract at ${EOA}.`,
  });
  expect(await faultOf(approve(agentMarket))).toMatchObject({ param: "currency" });
  const check = `query ($offer: MarketOfferInput!, $signature: Hex!, $payableIn: Address) {
    checkMarketOffer(offer: $offer, signature: $signature, payableIn: $payableIn) { valid } }`;
  for (const payableIn of [EOA, agentMarket])
    expect(
      await faultOf(check, { offer: match.offer, signature: match.offerSignature, payableIn }),
    ).toMatchObject({ param: "payableIn", message: expect.stringMatching(/is not an ERC-20\.$/) });
});

test("half of a surrogate pair is refused in a text that a ledger would store", async () => {
  const query = 'query ($d: String!) { prepareAddLedger(amount: "1", additionalInfo: $d) { data } }';
  expect(await faultOf(query, { d: "a\ud800" })).toMatchObject({
    code: "invalid_parameter",
    param: "additionalInfo",
  });
});

describe("every error of a root field of the chain", () => {
  const fields = Object.values(
    buildASTSchema(parse(readFileSync("schema/subgraphs/chain.graphql", "utf8")), { assumeValidSDL: true })
      .getQueryType()
      ?.getFields() ?? {},
  ).filter(({ name, args }) => args.length > 0 && !name.startsWith("_"));
  let samples: readonly Variables[] = [];
  beforeAll(() => {
    const { agentNft, devToken } = contractAddresses();
    samples = [
      { Address: EOA, BigInt: "1", Neuron: "0", Hex: "0x11", Int: 1, String: "a\ud800" },
      { Address: agentNft, BigInt: "0", Neuron: "1", Hex: `0x${"11".repeat(65)}`, Int: -1, String: "" },
      { Address: devToken, BigInt: "1", Neuron: "1", Hex: "0x", Int: 1_000, String: "x".repeat(1_000) },
    ];
  });

  test.each(fields.map((field) => [field.name, field] as const))(
    "%s names an argument of it, or none",
    async (name, { args, type }) => {
      const names = args.map((arg) => arg.name);
      const selection = isLeafType(getNamedType(type)) ? "" : "{ __typename }";
      const declared = args.map((arg) => `$${arg.name}: ${arg.type}`).join(", ");
      const given = names.map((arg) => `${arg}: $${arg}`).join(", ");
      for (const sample of samples)
        for (const isShort of [false, true]) {
          const sent = isShort ? args.filter((arg) => isNonNullType(arg.type)) : args;
          const variables = Object.fromEntries(sent.map((arg) => [arg.name, sampleOf(arg.type, sample)]));
          const { errors = [] } = await run(
            `query (${declared}) { ${name}(${given}) ${selection} }`,
            variables,
          );
          for (const { message, extensions } of errors) {
            const shown = `${extensions?.code} ${extensions?.param} ${message} ${JSON.stringify(variables).slice(0, 500)}`;
            expect(extensions?.code, shown).not.toBe("internal_error");
            const [first] = String(extensions?.param ?? names[0]).split(".");
            expect(names, shown).toContain(first);
          }
        }
    },
  );
});

/** A value of an input type, with the sample of its scalars. */
function sampleOf(type: GraphQLInputType, sample: Variables, depth = 0): unknown {
  if (isNonNullType(type)) return sampleOf(type.ofType, sample, depth);
  if (isListType(type)) return [sampleOf(type.ofType, sample, depth)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (isScalarType(type)) {
    const fixed: Variables = {
      Boolean: true,
      Hash32: randomHex(32) as Hex,
      DateTime: "2026-01-31T12:00:00Z",
    };
    return sample[type.name] ?? fixed[type.name] ?? null;
  }
  if (!isInputObjectType(type) || depth > 4) return undefined;
  const fields = Object.values(type.getFields());
  return Object.fromEntries(fields.map((field) => [field.name, sampleOf(field.type, sample, depth + 1)]));
}

import { z } from "zod";
import { DEFAULT_VAULT_EVENT } from "../accounts/vault-event.ts";
import { NETWORK_NAMES } from "../chain/networks.ts";
import { address, agentContracts, marketContract, type Settings, secp256k1Key, urls } from "./values.ts";

/** The network and the chain. */
export const NETWORK_SETTINGS = {
  NETWORK: {
    schema: z.enum(NETWORK_NAMES).default("devnet"),
    about:
      "The network to use. With devnet, whatever is missing is started on this machine; with the others, nothing is",
    example: "testnet",
  },
  RPC_URL: {
    schema: urls.optional(),
    about: "RPC endpoints of the chain, separated by commas; on devnet, a chain that is already running",
    example: "http://127.0.0.1:8545",
    isSecret: true,
  },
  ROUTER_PRIVATE_KEY: {
    schema: secp256k1Key.optional(),
    about:
      "The private key of the router's wallet. The wallet signs the credentials that providers accept, and providers charge its sub-accounts. It also pays for STORE_JOB_IMAGES. Required on a real network",
    example: `0x${"1".repeat(64)}`,
    isSecret: true,
  },
  START_BLOCK: {
    schema: z
      .string()
      .regex(/^\d{1,15}$/, "must be a whole number of at most 15 digits")
      .transform(BigInt)
      .optional(),
    about: "The first block to read from the chain",
    example: "940000",
  },
  REORG_BLOCKS: {
    schema: z.coerce.number().int().min(1).max(100_000).default(64),
    about:
      "The maximum depth of a reorg, in blocks beyond CONFIRMATIONS, that is rolled back automatically; a deeper one waits for npm run watcher:accept",
    example: "64",
  },
  AGENT_CONTRACTS: {
    schema: agentContracts.optional(),
    about:
      "Agent token contracts to read, separated by commas: generation (agent-nft or agentic-id), address and first block; unset: none (on devnet, its own)",
    example: "agent-nft:0x1111111111111111111111111111111111111111@1000",
  },
  AGENT_MARKET: {
    schema: marketContract.optional(),
    about:
      "The agent token market: its address, the address of the token contract it trades, and the first block; unset: none (on devnet, its own)",
    example: "0x2222222222222222222222222222222222222222/0x1111111111111111111111111111111111111111@1000",
  },
  WAIT_FINALIZED: {
    schema: z.enum(["on", "off"]).optional(),
    about:
      "Whether a deposit must also be in a finalized block, where the RPC reports finality; unset: on (on devnet, off)",
    example: "on",
  },
  ROUTER_SECRET: {
    schema: z.string().min(32, "must have 32 characters or more").optional(),
    about:
      "The secret that a third-party router sends to subgraph processes in x-zerograph-router, in addition to the client's Authorization (see docs/routers.md); unset: only zerograph's own gateways are accepted",
    example: "another-secret-of-at-least-32-characters",
    isSecret: true,
    mayBeEmpty: true,
  },
} as const satisfies Settings;

/** Deposits. */
export const DEPOSIT_SETTINGS = {
  VAULT_ADDRESS: {
    schema: address.optional(),
    about: "The vault contract that receives deposits; unset: the network's own",
    example: "0x0AD9690e0b34aB2d493DE02cDF149ee34f6C9939",
  },
  VAULT_EVENT: {
    schema: z.string().min(1).default(DEFAULT_VAULT_EVENT.event),
    about: "The vault's deposit event, in Solidity syntax",
    example: DEFAULT_VAULT_EVENT.event,
  },
  VAULT_ACCOUNT_ARGUMENT: {
    schema: z.string().min(1).default(DEFAULT_VAULT_EVENT.accountArgument),
    about: "The argument of the deposit event that names the credited account",
    example: "account",
  },
  VAULT_AMOUNT_ARGUMENT: {
    schema: z.string().min(1).default(DEFAULT_VAULT_EVENT.amountArgument),
    about: "The argument of the deposit event that holds the amount, in neuron",
    example: "amount",
  },
  CONFIRMATIONS: {
    schema: z.coerce.number().int().min(0).max(1_000).optional(),
    about: "Blocks that must follow a deposit before it is credited; unset: 12 (on devnet, 0)",
    example: "12",
  },
} as const satisfies Settings;

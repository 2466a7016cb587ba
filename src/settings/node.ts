import { z } from "zod";
import { addresses, baseUrl, baseUrls, httpUrl, type Settings } from "./values.ts";

/** The operator's own node. */
export const NODE_SETTINGS = {
  NODE_OPERATORS: {
    schema: addresses.optional(),
    about:
      "The wallets that may read the operator's node over GraphQL, separated by commas, besides those of OPERATORS; unset: none",
    example: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  },
  NODE_CONSENSUS_URL: {
    schema: baseUrl.optional(),
    about: "The RPC of the operator's consensus client",
    example: "http://127.0.0.1:26657",
  },
  NODE_EXECUTION_URL: {
    schema: httpUrl.optional(),
    about: "The JSON-RPC of the operator's execution client",
    example: "http://127.0.0.1:8545",
  },
  NODE_ENGINE_URL: {
    schema: httpUrl.optional(),
    about: "The engine API of the operator's execution client",
    example: "http://127.0.0.1:8551",
  },
  NODE_CONSENSUS_JWT_FILE: {
    schema: z.string().min(1).optional(),
    about: "The JWT secret file that the consensus client uses",
    example: "/srv/node/jwt.hex",
  },
  NODE_EXECUTION_JWT_FILE: {
    schema: z.string().min(1).optional(),
    about: "The JWT secret file that the execution client uses",
    example: "/srv/node/jwt.hex",
  },
  NODE_CONSENSUS_HOME: {
    schema: z.string().min(1).optional(),
    about: "The consensus client's home directory, with config and data",
    example: "/srv/node/0gchaind-home",
  },
  NODE_EXECUTION_DATA: {
    schema: z.string().min(1).optional(),
    about: "The execution client's data directory",
    example: "/srv/node/reth-home",
  },
  NODE_PUBLIC_ADDRESS: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9.:-]{1,253}$/, "must be a host or an IP address")
      .optional(),
    about: "The public host of the node's P2P ports, 26656 and 30303",
    example: "203.0.113.7",
  },
  NODE_PUBLIC_RPC_URL: {
    schema: httpUrl.optional(),
    about: "An RPC of the same chain to compare the node's height with; unset: the network's own",
    example: "https://evmrpc-testnet.0g.ai",
  },
  NODE_ETH_RPC_URL: {
    schema: httpUrl.optional(),
    about: "The Ethereum mainnet RPC that the consensus client uses for restaking",
    example: "https://ethereum-rpc.example.com",
    isSecret: true,
    mayBeEmpty: true,
  },
  NODE_OTHER_CONSENSUS_URLS: {
    schema: baseUrls.pipe(z.array(z.string()).max(16)).optional(),
    about:
      "Consensus RPCs of other machines that have, or had, the same validator key, separated by commas. A validator that signs on two machines is slashed",
    example: "http://10.0.0.8:26657",
  },
} as const satisfies Settings;

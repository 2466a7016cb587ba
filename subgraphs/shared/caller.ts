import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { App } from "../../src/app.ts";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import { openPrincipal, openReplayKey, PRINCIPAL_HEADER, REPLAY_KEY_HEADER } from "./principal-token.ts";

/** The header, and the connection parameter, with which a third-party router authenticates itself. */
export const ROUTER_HEADER = "x-zerograph-router";

/** The secrets that a subgraph process trusts. */
export type Trust = {
  /** Those with which our gateways may sign principals. */
  readonly secrets: readonly string[];
  /** The secret of third-party routers; undefined refuses all of them. */
  readonly routerSecret: string | undefined;
};

/** Members of a request's headers, or of a socket's connection parameters and the headers of its upgrade. */
type Presented = Readonly<Record<string, unknown>>;

type HeadersOf = Pick<IncomingMessage, "headers" | "rawHeaders">;

/** The calling process is not authorized. Its operation is not read. */
export class UnknownRouter extends AppError {
  constructor(options?: { readonly cause: unknown }) {
    super("invalid_api_key", "This process only answers its gateways.", options);
  }
}

/**
 * Identifies the caller of a subgraph request. Our own gateway sends a signed principal; a third-party router sends its
 * secret and forwards the client's `Authorization`, which is authenticated as at our own gateway. Throws UnknownRouter,
 * and what `authenticate` throws for a client's invalid credential.
 */
export async function identifyCaller(
  app: Pick<App, "authenticate" | "clock" | "internalRefusals">,
  { secrets, routerSecret }: Trust,
  presented: Presented,
): Promise<Caller> {
  const token = presented[PRINCIPAL_HEADER];
  if (token !== undefined) {
    const { principal, secret } = openOrRefuse(app, token, secrets);
    const replayKey = () => openReplayKey(presented[REPLAY_KEY_HEADER], { token, secret });
    return { principal, replayKey, isGateway: true };
  }
  if (routerSecret === undefined || !isSame(presented[ROUTER_HEADER], routerSecret))
    throw new UnknownRouter();
  const { authorization } = presented;
  if (Array.isArray(authorization)) throw new AppError("invalid_api_key", "Send one Authorization header.");
  const given = authorization === undefined || authorization === null ? undefined : String(authorization);
  const principal = await app.authenticate(given || undefined);
  return { principal, replayKey: () => ReplayKey.ofAuthorization(given), isGateway: false };
}

/** The caller. Our own gateway has checked the client's credential, and keeps checking it. */
export type Caller = {
  readonly principal: Principal;
  readonly replayKey: () => ReplayKey | undefined;
  readonly isGateway: boolean;
};

/** The headers of a request, with a list of `Authorization` if it was sent twice: Node keeps the first only. */
export function presentedHeaders({ headers, rawHeaders }: HeadersOf): Presented {
  const sent = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "authorization",
  );
  return sent.length > 1 ? { ...headers, authorization: sent } : headers;
}

/** The credential of a socket: some routers forward headers with the upgrade, others as connection parameters. */
export function socketCredential(parameters: unknown, upgrade: HeadersOf): Presented {
  const given = Object.entries(Object(parameters) as Presented);
  const named = given.map(([name, value]) => [name.toLowerCase(), value] as const);
  const headers = Object.fromEntries(named).headers;
  return {
    ...presentedHeaders(upgrade),
    ...(typeof headers === "object" ? headers : {}),
    ...Object.fromEntries(named),
  };
}

function openOrRefuse(
  { clock, internalRefusals }: Pick<App, "clock" | "internalRefusals">,
  token: unknown,
  secrets: readonly string[],
): ReturnType<typeof openPrincipal> {
  try {
    return openPrincipal(token, secrets, clock.now().getTime());
  } catch (cause) {
    internalRefusals.record("this process refuses a gateway", reasonOf(cause));
    throw new UnknownRouter({ cause });
  }
}

function reasonOf(failure: unknown): string {
  const { cause } = Object(failure);
  return typeof cause === "string" ? cause : "the token is malformed";
}

function isSame(given: unknown, wanted: string): boolean {
  const [one, other] = [Buffer.from(typeof given === "string" ? given : ""), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

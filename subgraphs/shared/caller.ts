import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { App } from "../../src/app.ts";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import { openPrincipal, openReplayKey, PRINCIPAL_HEADER, REPLAY_KEY_HEADER } from "./principal-token.ts";

/** The header, and the connection parameter, by which a router that is not ours shows that it may ask. */
export const ROUTER_HEADER = "x-zerograph-router";

/** What subgraph processes believe. */
export type Trust = {
  /** Signs principals between processes of ours. */
  readonly secret: string;
  /** What other routers show; none may ask when it is undefined. */
  readonly routerSecret: string | undefined;
};

/** Members of a request's headers, or of a socket's connection parameters and the headers of its upgrade. */
type Presented = Readonly<Record<string, unknown>>;

/** The asking process is none that may ask. What it asks is not looked at. */
export class UnknownRouter extends AppError {
  constructor() {
    super("invalid_api_key", "This process only answers its gateways.");
  }
}

/**
 * In whose name a subgraph is asked. A gateway of ours tells a principal, signed; another router shows its secret and
 * hands on the client's own `Authorization`, which is looked up as at our own door. Throws UnknownRouter, and for a
 * client's wrong credential what `authenticate` throws.
 */
export async function identifyCaller(
  app: Pick<App, "authenticate">,
  { secret, routerSecret }: Trust,
  presented: Presented,
): Promise<Caller> {
  const token = presented[PRINCIPAL_HEADER];
  if (token !== undefined) {
    const principal = openOrRefuse(token, secret);
    const replayKey = () => openReplayKey(presented[REPLAY_KEY_HEADER], { token, secret });
    return { principal, replayKey, isGateway: true };
  }
  if (routerSecret === undefined || !isSame(presented[ROUTER_HEADER], routerSecret))
    throw new UnknownRouter();
  const { authorization } = presented;
  const given = authorization === undefined || authorization === null ? undefined : String(authorization);
  const principal = await app.authenticate(given || undefined);
  return { principal, replayKey: () => ReplayKey.ofAuthorization(given), isGateway: false };
}

/** Who asks; a gateway of ours has looked at the credential, and keeps looking at it. */
export type Caller = {
  readonly principal: Principal;
  readonly replayKey: () => ReplayKey | undefined;
  readonly isGateway: boolean;
};

/** What a socket presents: routers differ in whether they hand headers on with the upgrade or as parameters. */
export function socketCredential(parameters: unknown, upgrade: IncomingHttpHeaders): Presented {
  const given = Object.entries(Object(parameters) as Presented);
  const named = given.map(([name, value]) => [name.toLowerCase(), value] as const);
  const headers = Object.fromEntries(named).headers;
  return { ...upgrade, ...(typeof headers === "object" ? headers : {}), ...Object.fromEntries(named) };
}

function openOrRefuse(token: unknown, secret: string): Principal {
  try {
    return openPrincipal(token, secret);
  } catch {
    throw new UnknownRouter();
  }
}

function isSame(given: unknown, wanted: string): boolean {
  const [one, other] = [Buffer.from(typeof given === "string" ? given : ""), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

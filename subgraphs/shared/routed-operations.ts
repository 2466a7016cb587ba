import { type DocumentNode, type ExecutionResult, Kind, type OperationDefinitionNode } from "graphql";
import type { App } from "../../src/app.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";
import type { Caller } from "./caller.ts";
import { requestsOf, rootFields } from "./schema/root-requests.ts";

type Services = Pick<App, "requestAuthenticator" | "keyUse">;

/** Root fields that are part of an operation already counted: entities for other subgraphs, and the schema. */
const SERVING: ReadonlySet<string> = new Set(["_entities", "_service"]);

/**
 * The operations that a third-party router sends in a client's name. Our own gateway counts its clients' operations and
 * records the use of their keys; for third-party routers both happen here.
 */
export class RoutedOperations {
  readonly #services: Services;
  readonly #caller: Caller;
  readonly #hop: Hop;

  constructor(services: Services, caller: Caller, hop: Hop) {
    this.#services = services;
    this.#caller = caller;
    this.#hop = hop;
  }

  /** Counts an operation against the client's rate limit. Throws `rate_limit_exceeded`. */
  async count(document: DocumentNode): Promise<void> {
    const operation = document.definitions.find(isOperation);
    if (this.#caller.isGateway || !operation) return;
    const isServing = [...rootFields(document, operation).values()].every((name) => SERVING.has(name));
    if (!isServing) await this.take(requestsOf(document, operation));
  }

  /** Counts requests against the client's rate limit. Throws `rate_limit_exceeded`. */
  async take(requests: number): Promise<void> {
    const { principal, isGateway } = this.#caller;
    if (!isGateway) await this.#services.requestAuthenticator.take({ principal, hop: this.#hop }, requests);
  }

  /** Records the use of the client's key if the result is a success. */
  recordResult({ data, errors }: Pick<ExecutionResult, "data" | "errors">): void {
    if (data && !errors?.length) this.recordUse();
  }

  /** Records the use of the client's key. The source address is the router's unless the router is a trusted proxy. */
  recordUse(): void {
    if (!this.#caller.isGateway) this.#services.keyUse.record(this.#caller.principal, this.#hop);
  }
}

function isOperation(definition: { readonly kind: Kind }): definition is OperationDefinitionNode {
  return definition.kind === Kind.OPERATION_DEFINITION;
}

import { type buildASTSchema, type DocumentNode, type ExecutionResult, parse, print } from "graphql";
import { createEngine } from "../../../../gateway/federation/engine/engine.ts";
import type {
  MaybePromise,
  SubgraphExecutor,
  SubgraphResult,
} from "../../../../gateway/federation/engine/subgraph-executor.ts";
import { importPeer } from "../../../peers/install.ts";
import { createNativePlanner } from "../../../support/native-planner.ts";

/** Runs an operation on a whole graph; the same document comes again as the same object. */
export type Run = (document: DocumentNode) => MaybePromise<ExecutionResult>;

type Executors = Readonly<Record<string, SubgraphExecutor<object>>>;
type Open = (supergraphSdl: string, executors: Executors) => Promise<Run>;

/** What a peer passes to the executor of a subgraph. */
type PeerRequest = { readonly document: DocumentNode; readonly variables?: Record<string, unknown> };

const CONTEXT = {};

/** The engines that are compared, each as its makers recommend it for JavaScript. */
export const ENGINES = {
  zerograph: async (supergraphSdl, executors) => {
    const engine = createEngine({ supergraphSdl, executors, planner: createNativePlanner(supergraphSdl) });
    return (document) => engine.execute({ document, context: CONTEXT });
  },
  "hive router-runtime": async (supergraphSdl, executors) => {
    const { unifiedGraphHandler } = await importPeer<{
      unifiedGraphHandler(
        options: object,
      ): Promise<{ executor(request: object): MaybePromise<ExecutionResult> }>;
    }>("@graphql-hive/router-runtime");
    const { buildASTSchema: build } = await importPeer<{ buildASTSchema: typeof buildASTSchema }>("graphql");
    const { executor } = await unifiedGraphHandler({
      unifiedGraph: build(parse(supergraphSdl), { assumeValid: true, assumeValidSDL: true }),
      getUnifiedGraphSDL: () => supergraphSdl,
      onSubgraphExecute: (name: string, request: PeerRequest) => askSubgraph(executors, name, request),
    });
    return (document) => executor({ document, context: CONTEXT });
  },
  "@apollo/gateway": async (supergraphSdl, executors) => {
    const { ApolloGateway } = await importPeer<{
      ApolloGateway: new (
        options: object,
      ) => {
        load(): Promise<{ executor(request: object): Promise<ExecutionResult> }>;
      };
    }>("@apollo/gateway");
    const parsed = new Map<string, DocumentNode>();
    const documentOf = (text: string) => {
      const document = parsed.get(text) ?? parse(text, { noLocation: true });
      parsed.set(text, document);
      return document;
    };
    const gateway = new ApolloGateway({
      supergraphSdl,
      buildService: ({ name }: { name: string }) => ({
        process: async ({ request }: { request: { query: string; variables?: Record<string, unknown> } }) =>
          askSubgraph(executors, name, { document: documentOf(request.query), ...request }),
      }),
    });
    const { executor } = await gateway.load();
    const { print } = await importPeer<{ print(document: DocumentNode): string }>("graphql");
    const requests = new Map<DocumentNode, object>();
    const requestOf = (document: DocumentNode) => {
      const source = print(document);
      return {
        document,
        operation: document.definitions[0],
        operationName: null,
        queryHash: source,
        source,
        schema: {},
        logger: console,
        metrics: {},
        cache: undefined,
        overallCachePolicy: undefined,
      };
    };
    return (document) => {
      const known = requests.get(document) ?? requestOf(document);
      requests.set(document, known);
      return executor({ ...known, request: { variables: {}, http: undefined }, context: CONTEXT });
    };
  },
  "schema stitching": async (supergraphSdl, executors) => {
    const { getStitchedSchemaFromSupergraphSdl } = await importPeer<{
      getStitchedSchemaFromSupergraphSdl(options: object): object;
    }>("@graphql-tools/federation");
    const { normalizedExecutor } = await importPeer<{
      normalizedExecutor(request: object): MaybePromise<ExecutionResult>;
    }>("@graphql-tools/executor");
    const names = new Map(Object.keys(executors).map((name) => [name.toLowerCase(), name]));
    const schema = getStitchedSchemaFromSupergraphSdl({
      supergraphSdl,
      batch: true,
      onSubschemaConfig(config: { name: string; executor: unknown }) {
        const name = names.get(config.name.toLowerCase()) ?? config.name;
        config.executor = (request: PeerRequest) => askSubgraph(executors, name, request);
      },
    });
    return (document) => normalizedExecutor({ schema, document, contextValue: CONTEXT });
  },
} as const satisfies Readonly<Record<string, Open>>;

export type EngineName = keyof typeof ENGINES;

const texts = new WeakMap<DocumentNode, string>();

/**
 * Peers keep the documents of their plans too; those that do not pay for the printing, as they would over
 * HTTP.
 */
function askSubgraph(
  executors: Executors,
  name: string,
  { document, variables = {} }: PeerRequest,
): MaybePromise<SubgraphResult> {
  const executor = executors[name];
  if (!executor) throw new Error(`there is no subgraph ${name}`);
  return executor.execute({
    document,
    get text() {
      const text = texts.get(document) ?? print(document);
      texts.set(document, text);
      return text;
    },
    variables,
    context: CONTEXT,
    scope: {},
    signal: undefined,
  });
}

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

type Schema = Readonly<Record<string, unknown>>;
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Operation = {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};

/** The parts of an OpenAPI document that tests read. */
export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** Compares answers with their description in a document. */
export class OpenApiCheck {
  readonly #document: OpenApi;
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: OpenApi) {
    this.#document = document;
    addFormats.default(this.#ajv);
    this.#ajv.addVocabulary(["components"]);
    this.#ajv.addSchema({ $id: "openapi", components: document.components });
  }

  /** Every operation, as `GET /v1/models`. */
  get operations(): readonly (readonly [string, Operation])[] {
    return Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
      ),
    );
  }

  /** The differences between an answer and the document; empty when it matches. */
  faults(name: string, status: number, contentType: string, text: string): readonly string[] {
    const operation = this.operations.find(([known]) => known === name)?.[1];
    if (!operation) return [`there is no ${name}`];
    const response = operation.responses[status] ?? operation.responses[`${Math.floor(status / 100)}XX`];
    if (!response) return [`${status} is not described: ${text}`];
    if (text === "" && !response.content) return [];
    const type = contentType.split(";")[0] ?? "";
    const described = response.content?.[type];
    if (!described) return [`${status} of type ${type} is not described`];
    const value: unknown = type === "application/json" ? JSON.parse(text) : text;
    const validate = this.#compile(described.schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }

  /** The description of an operation's body: its fields, and whether a body is valid. */
  bodyOf(
    name: string,
    type: string,
  ): { readonly properties: Schema; readonly takes: (body: unknown) => boolean } {
    const schema = this.operations.find(([known]) => known === name)?.[1].requestBody?.content[type]?.schema;
    if (!schema) throw new Error(`there is no body of ${name}`);
    const component =
      String(schema.$ref ?? "")
        .split("/")
        .at(-1) ?? "";
    const { properties = {} } = this.#document.components.schemas[component] ?? schema;
    return { properties: properties as Schema, takes: this.#compile(schema) };
  }

  /** Compiles every schema of the document. Throws for an invalid one. */
  compileAll(): number {
    for (const [, { parameters, requestBody, responses }] of this.operations) {
      for (const { schema } of parameters) this.#compile(schema);
      const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
      for (const content of contents)
        for (const { schema } of Object.values(content ?? {})) this.#compile(schema);
    }
    return this.#compiled.size;
  }

  #compile(schema: Schema): ValidateFunction {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/');
    const known = this.#compiled.get(text);
    if (known) return known;
    const validate = this.#ajv.compile(JSON.parse(text));
    this.#compiled.set(text, validate);
    return validate;
  }
}

import * as z from "zod";

const number = (min: number, max: number, text: string) =>
  z
    .string()
    .trim()
    .transform((value, context) => {
      if (value === "") return undefined;
      const read = Number(value);
      if (Number.isFinite(read) && read >= min && read <= max) return read;
      context.addIssue({ code: "custom", message: text });
      return z.NEVER;
    });
const whole = (min: number, max: number, text: string) =>
  number(min, max, text).refine((value) => value === undefined || Number.isInteger(value), text);

const MAX_INT = 2 ** 31 - 1;
const MAX_JSON = 50_000;
const NAME = /^[\w-]{1,64}$/;

/** The text of a field as JSON; undefined if it is empty. */
function json(context: z.RefinementCtx, text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: `This is not JSON: ${(error as Error).message}` });
    return z.NEVER;
  }
}

/** A tool in OpenAI's format; a bare function definition is one too. */
function toTool(given: unknown): object | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  if ("type" in given && given.type !== "function") return given;
  const definition = "function" in given ? given.function : given;
  if (typeof definition !== "object" || definition === null || !("name" in definition)) return undefined;
  if (typeof definition.name !== "string" || !NAME.test(definition.name)) return undefined;
  return { type: "function", function: definition };
}

const tools = z
  .string()
  .max(MAX_JSON, "At most 50,000 characters.")
  .transform((text, context) => {
    const given = json(context, text);
    if (given === undefined || given === z.NEVER) return given as undefined;
    const list = Array.isArray(given) ? given : [given];
    const read = list.map(toTool);
    const wrong = read.indexOf(undefined);
    if (wrong === -1) return read as readonly object[];
    context.addIssue({
      code: "custom",
      message: `Tool ${wrong + 1} is not a function definition: it needs a "name" of letters, digits, _ and -.`,
    });
    return z.NEVER;
  });

const schemaText = z
  .string()
  .max(MAX_JSON, "At most 50,000 characters.")
  .transform((text, context) => {
    const given = json(context, text);
    if (given === undefined || given === z.NEVER) return given as undefined;
    if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
    context.addIssue({ code: "custom", message: 'A JSON schema is an object, such as {"type": "object"}.' });
    return z.NEVER;
  });

/** How a chat is sent besides its messages: the fields of the form, and what a request has of them. */
export const parameterSchema = z.object({
  system: z.string().max(100_000, "At most 100,000 characters."),
  temperature: number(0, 2, "A number from 0 to 2."),
  topP: number(0, 1, "A number from 0 to 1."),
  maxTokens: whole(1, MAX_INT, "A whole number from 1 on."),
  seed: whole(-MAX_INT, MAX_INT, "A whole number."),
  effort: z.enum(["", "minimal", "low", "medium", "high"]),
  tools,
  schema: schemaText,
  sort: z.enum(["", "latency", "price", "throughput"]),
  only: z.array(z.string().regex(/^0x[0-9a-fA-F]{40}$/)).max(50),
  verify: z.boolean(),
});

export type ParameterFields = z.input<typeof parameterSchema>;
export type Parameters = z.output<typeof parameterSchema>;

export const NO_PARAMETERS: ParameterFields = {
  system: "",
  temperature: "",
  topP: "",
  maxTokens: "",
  seed: "",
  effort: "",
  tools: "",
  schema: "",
  sort: "",
  only: [],
  verify: false,
};

/** The parameters for a model of these providers: one that was chosen for another model does not restrict it. */
export function parametersFor(
  parameters: Parameters,
  providers: readonly { readonly address: string }[],
): Parameters {
  const only = parameters.only.filter((chosen) => providers.some(({ address }) => address === chosen));
  return { ...parameters, only };
}

/** How many of the fields are not as they are at first. */
export function changedCount(fields: ParameterFields): number {
  return Object.values(fields).filter((value) =>
    Array.isArray(value) ? value.length > 0 : value !== "" && value !== false,
  ).length;
}

import { isText } from "./elided-text.ts";
import { invalidField } from "./invalid-field.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A member of a body that requests tools which the provider runs, besides the list of tools. */
type HostedTools = {
  /** The member, as a path with dots. */
  readonly field: string;
  /** Where the field is documented. */
  readonly source: string;
  /** Whether a value requests tools; one that turns them off does not. */
  readonly isRequested: (value: unknown) => boolean;
};

/** Every field by which a prompt requests tools that its provider runs, besides `tools`. */
export const HOSTED_TOOLS: readonly HostedTools[] = [
  {
    field: "web_search_options",
    source: "https://platform.openai.com/docs/api-reference/chat/create",
    isRequested: (value) => value != null,
  },
  {
    field: "mcp_servers",
    source: "https://docs.claude.com/en/docs/agents-and-tools/mcp-connector",
    isRequested: isFilled,
  },
  {
    field: "container",
    source: "https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool",
    isRequested: (value) => value != null,
  },
  {
    field: "search_parameters",
    source: "https://docs.x.ai/docs/guides/live-search",
    isRequested: (value) => value != null && fieldsOf(value).mode !== "off",
  },
  {
    field: "enable_search",
    source: "https://www.alibabacloud.com/help/en/model-studio/web-search",
    isRequested: isOn,
  },
  {
    field: "compound_custom.tools.enabled_tools",
    source: "https://console.groq.com/docs/compound/built-in-tools",
    isRequested: isFilled,
  },
  ...(["web_search", "web_scraping", "x_search"] as const).map((name) => ({
    field: `venice_parameters.enable_${name}`,
    source: "https://docs.venice.ai/api-reference/api-spec",
    isRequested: (value: unknown) => isOn(value) && value !== "off",
  })),
  {
    field: "data_sources",
    source: "https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data",
    isRequested: isFilled,
  },
  {
    field: "connectors",
    source: "https://docs.cohere.com/v1/reference/chat",
    isRequested: isFilled,
  },
];

/**
 * The types of tools whose calls the client runs: functions, custom tools, and those of Anthropic's clients with the
 * version of their interface. Every other type is one that the provider runs, or is not known to be none.
 */
const CLIENT_TYPES = /^(?:function|custom|(?:bash|text_editor|computer|memory)_\d{8})$/;
/** The length of a type in an error. */
const MAX_TYPE = 64;
/** The members of a content part that have a file. */
const FILES = ["source", "file", "image_file"] as const;

/**
 * Throws `invalid_body`, naming the field, for a prompt whose provider would run tools: these have prices of their own,
 * which nothing here holds or charges.
 */
export function refuseHostedFields(body: Fields): void {
  for (const { field, isRequested } of HOSTED_TOOLS) {
    const value = field.split(".").reduce<unknown>((at, name) => fieldsOf(at)[name], body);
    if (isRequested(value)) throw invalidField(field, "tools that the provider runs are not supported");
  }
}

/**
 * Does so for a body of chats or messages, and for its list of tools; and for what an id at the provider leads to, since
 * all accounts share the router's own account there.
 */
export function refuseHosted(body: Fields): void {
  refuseHostedFields(body);
  const { tools, messages, system } = body;
  for (const [at, tool] of entriesOf(tools)) refuseHostedTool(fieldsOf(tool), `tools.${at}`);
  for (const [at, message] of entriesOf(messages)) {
    const { content, audio } = fieldsOf(message);
    refuseIds(content, `messages.${at}.content`);
    if (fieldsOf(audio).id != null)
      throw invalidField(
        `messages.${at}.audio.id`,
        "answers are not stored here: send the transcript as content",
      );
  }
  refuseIds(system, "system");
}

/** The text for a tool of a type that the client does not run. */
function unsupportedTool(type: unknown): string {
  if (typeof type !== "string") return "not supported";
  return `tools of type ${type.slice(0, MAX_TYPE)} are not supported`;
}

function refuseHostedTool(tool: Fields, path: string): void {
  const { type } = tool;
  if (typeof type === "string" && CLIENT_TYPES.test(type)) return;
  if (type != null)
    throw invalidField(`${path}.type`, isText(type) ? unsupportedTool(type) : "must be a string");
  // Some providers name a tool of theirs by its only member.
  const names = Object.keys(tool);
  if (names.length > 0 && !["name", "function", "custom"].some((name) => names.includes(name)))
    throw invalidField(path, "must be a function or a custom tool");
}

/** Throws for the id of a file in the parts of a content, or in the parts within them. */
function refuseIds(content: unknown, path: string): void {
  for (const [at, part] of entriesOf(content)) {
    const fields = fieldsOf(part);
    const place = `${path}.${at}`;
    refuseId(fields, place);
    for (const name of FILES) {
      const file = fieldsOf(fields[name]);
      refuseId(file, `${place}.${name}`);
      refuseIds(file.content, `${place}.${name}.content`);
    }
    refuseIds(fields.content, `${place}.content`);
  }
}

function refuseId({ file_id: id }: Fields, path: string): void {
  if (id != null) throw invalidField(`${path}.file_id`, "files are not stored here: send the file itself");
}

/** Any other value may turn a tool on: a lenient server takes the text `false` for true. */
function isOn(value: unknown): boolean {
  return value != null && value !== false;
}

/** Whether a list has an item; a value that is no list may request a tool. */
function isFilled(value: unknown): boolean {
  return value != null && !(Array.isArray(value) && value.length === 0);
}

function entriesOf(value: unknown): Iterable<readonly [number, unknown]> {
  return Array.isArray(value) ? value.entries() : [];
}

/** The own members of an object; none for any other value. */
function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

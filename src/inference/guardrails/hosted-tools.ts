type Fields = Readonly<Record<string, unknown>>;

/** Tools that a body asks its provider to run, besides its lists of tools. */
type HostedTools = {
  /** The member of the body, as a path with dots. */
  readonly field: string;
  /** Where the field is documented. */
  readonly source: string;
  /** The names by which an allowlist allows them; undefined for tools whose names the body does not have. */
  readonly namesOf: (value: unknown) => readonly (string | undefined)[];
};

/** The name of a search on the web, whatever the field that asks for it. */
const SEARCH = "web_search";

/**
 * Every field by which a request asks for tools that its provider runs, besides `tools` and `functions`. A value that
 * turns them off asks for nothing. OpenRouter's `plugins` are not here: they are refused for every key.
 */
export const HOSTED_TOOLS: readonly HostedTools[] = [
  {
    field: "web_search_options",
    source: "https://platform.openai.com/docs/api-reference/chat/create",
    namesOf: (value) => (value == null ? [] : [SEARCH]),
  },
  {
    field: "mcp_servers",
    source: "https://docs.claude.com/en/docs/agents-and-tools/mcp-connector",
    namesOf: (value) => eachOf(value, () => undefined),
  },
  {
    field: "container.skills",
    source: "https://docs.claude.com/en/docs/build-with-claude/skills-guide",
    namesOf: (value) => eachOf(value, (skill) => skill.skill_id),
  },
  {
    field: "search_parameters",
    source: "https://docs.x.ai/docs/guides/live-search",
    namesOf: (value) => (value == null || fieldsOf(value).mode === "off" ? [] : ["live_search"]),
  },
  {
    field: "enable_search",
    source: "https://www.alibabacloud.com/help/en/model-studio/web-search",
    namesOf: (value) => (isOn(value) ? [SEARCH] : []),
  },
  {
    field: "compound_custom.tools.enabled_tools",
    source: "https://console.groq.com/docs/compound/built-in-tools",
    namesOf: (value) => listOf(value).map(nameOf),
  },
  ...(["web_search", "web_scraping", "x_search"] as const).map((name) => ({
    field: `venice_parameters.enable_${name}`,
    source: "https://docs.venice.ai/api-reference/api-spec",
    namesOf: (value: unknown) => (isOn(value) && value !== "off" ? [name] : []),
  })),
  {
    field: "data_sources",
    source: "https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data",
    namesOf: (value) => eachOf(value, ({ type }) => type),
  },
  {
    field: "connectors",
    source: "https://docs.cohere.com/v1/reference/chat",
    namesOf: (value) => eachOf(value, ({ id }) => id),
  },
];

/** The first tool of a provider that a body asks for and `isAllowed` does not accept. */
export function refusedHostedTool(
  body: Fields,
  isAllowed: (name: string) => boolean,
): { readonly field: string; readonly name: string | undefined } | undefined {
  for (const { field, namesOf } of HOSTED_TOOLS) {
    const value = field.split(".").reduce<unknown>((at, name) => fieldsOf(at)[name], body);
    const names = namesOf(value);
    const refused = names.findIndex((name) => name === undefined || !isAllowed(name));
    if (refused !== -1) return { field, name: names[refused] };
  }
  return undefined;
}

/** Any other value may turn a tool on: a lenient server takes the text `false` for true. */
function isOn(value: unknown): boolean {
  return value != null && value !== false;
}

/** The name of each item; a value that is no list is one tool without a name. */
function eachOf(value: unknown, read: (item: Fields) => unknown): readonly (string | undefined)[] {
  return listOf(value).map((item) => nameOf(read(fieldsOf(item))));
}

function listOf(value: unknown): readonly unknown[] {
  if (value == null) return [];
  return Array.isArray(value) ? value : [undefined];
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The own members of an object; none for any other value. */
function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

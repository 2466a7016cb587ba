import { isText } from "./elided-text.ts";
import { PART_MEMBERS, refuseOtherCase, TOOL_MEMBERS } from "./field-case.ts";
import { type Fields, fieldsOf } from "./fields.ts";
import { invalidField } from "./invalid-field.ts";
import { eachPart, FILES } from "./message-parts.ts";
import { toolsInMessages } from "./message-tools.ts";
import { refuseFields } from "./refused-fields.ts";

/**
 * The types of tools whose calls the client runs: functions, custom tools, and those of Anthropic's clients with the
 * version of their interface. Every other type is one that the provider runs, or is not known to be none.
 */
const CLIENT_TYPES =
  /^(?:function|custom|(?:bash|text_editor|memory|(?:computer|browser)_toolset|computer)_\d{8})$/;
/** The length of a type in an error. */
const MAX_TYPE = 64;
/** Fields of responses by which a provider continues a conversation that it stores. */
const CONVERSATIONS = ["conversation", "previous_response_id"];

/**
 * Throws `invalid_body` for what `refuseFields` refuses in a body of chats or messages, for tools that the provider runs
 * wherever the body offers them, and for what an id at the provider leads to, since all accounts share the router's own
 * account there.
 */
export function refuseHosted(body: Fields): void {
  refuseFields(body);
  for (const name of CONVERSATIONS)
    if (body[name] != null) throw invalidField(name, "conversations are not stored here: send all messages");
  const { tools, messages, system } = body;
  for (const [at, tool] of entriesOf(tools)) refuseHostedTool(fieldsOf(tool), `tools.${at}`);
  for (const { tool, path } of toolsInMessages(body)) refuseHostedTool(fieldsOf(tool), path);
  for (const [at, message] of entriesOf(messages)) {
    refuseOtherCase(fieldsOf(message), (name) => PART_MEMBERS.has(name), `messages.${at}`);
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
  refuseOtherCase(tool, (name) => TOOL_MEMBERS.has(name), path);
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
  const isKnown = (name: string) => PART_MEMBERS.has(name);
  eachPart(content, path, (part, place) => {
    refuseOtherCase(part, isKnown, place);
    refuseId(part, place);
    for (const name of FILES) {
      const file = fieldsOf(part[name]);
      refuseOtherCase(file, isKnown, `${place}.${name}`);
      refuseId(file, `${place}.${name}`);
    }
  });
}

function refuseId({ file_id: id }: Fields, path: string): void {
  if (id != null) throw invalidField(`${path}.file_id`, "files are not stored here: send the file itself");
}

function entriesOf(value: unknown): Iterable<readonly [number, unknown]> {
  return Array.isArray(value) ? value.entries() : [];
}

import type { Fields } from "../body/fields.ts";
import { AnswerTexts } from "./answer-texts.ts";
import { readContent } from "./content-text.ts";

/** The format of an answer: an OpenAI chat, an Anthropic message or an OpenAI response. */
export type AnswerFormat = "chat" | "message" | "response";

/**
 * The countable texts of a whole answer: of every choice of a chat, every block of a message, or every item of a response.
 */
export function answerTexts(answer: unknown, format: AnswerFormat): readonly string[] {
  const { choices, content, output } = fieldsOf(answer);
  const texts = new AnswerTexts();
  if (format === "chat") listOf(choices).forEach((choice, at) => void addChoice(texts, choice, at));
  else if (format === "response") addOutput(texts, output);
  else listOf(content).forEach((block, at) => void addBlock(texts, block, at));
  return texts.take();
}

/**
 * Adds the texts of one choice of a chat or of a text completion, whole or a delta: content, reasoning, refusal, the
 * transcript of audio, and calls. Probabilities and annotations repeat the text, and audio itself is no text. `at` is the
 * place of a choice without an index.
 */
export function addChoice(texts: AnswerTexts, choice: unknown, at = 0): void {
  const part = partOf(choice);
  if (!part) return;
  const place = indexOf(choice, at);
  const {
    content,
    reasoning_content,
    reasoning,
    reasoning_details,
    refusal,
    tool_calls,
    function_call,
    audio,
  } = part;
  const { text, reasoning: thinking } = readContent(content) ?? { text: partsText(content), reasoning: "" };
  const thought = textOf(reasoning_content) || textOf(reasoning) || partsText(reasoning_details);
  if (thought !== "" || thinking !== "") texts.add(`${place} reasoning`, thought + thinking);
  if (text !== "") texts.add(`${place} content`, text);
  if (refusal) texts.add(`${place} refusal`, textOf(refusal));
  if (audio) texts.add(`${place} transcript`, textOf(fieldsOf(audio).transcript));
  if (function_call) addFunction(texts, `${place} function`, undefined, function_call);
  listOf(tool_calls).forEach((call, position) => {
    const { id, function: called, custom } = fieldsOf(call);
    addFunction(texts, `${place} ${indexOf(call, position)}`, id, called ?? custom);
  });
}

function addFunction(texts: AnswerTexts, place: string, id: unknown, called: unknown): void {
  const { name, arguments: given, input } = fieldsOf(called);
  const value = given ?? input;
  texts.addCall(place, { id, name, input: isFields(value) ? JSON.stringify(value) : textOf(value) });
}

/** Adds the texts of a content block, or of its delta in a stream: text, thinking and calls. */
export function addBlock(texts: AnswerTexts, block: unknown, index: unknown): void {
  const { text, thinking, id, name } = fieldsOf(block);
  const place = String(typeof index === "number" ? index : 0);
  const input = blockInput(block);
  texts.add(`${place} text`, textOf(text));
  texts.add(`${place} thinking`, textOf(thinking));
  if (input !== "" || name !== undefined) texts.addCall(place, { id, name, input });
}

/** Whether a content block, or its delta, has a text. The name of a tool alone is none. */
export function hasBlockText(block: unknown): boolean {
  const { text, thinking } = fieldsOf(block);
  return textOf(text) !== "" || textOf(thinking) !== "" || blockInput(block) !== "";
}

function blockInput(block: unknown): string {
  const { partial_json, input } = fieldsOf(block);
  const isGiven = isFields(input) && Object.keys(input).length > 0;
  return textOf(partial_json) + (isGiven ? JSON.stringify(input) : "");
}

/**
 * Adds the texts of the items of a response: of messages and reasoning, or what a tool is called with. A summary is not
 * counted beside the reasoning that it sums up.
 */
export function addOutput(texts: AnswerTexts, output: unknown): void {
  listOf(output).forEach((item, at) => {
    const { content, summary, arguments: given, input, call_id: id, name } = fieldsOf(item);
    const parts = listOf(content);
    parts.forEach((part, position) => void texts.add(`${at} part ${position}`, partText(part)));
    if (parts.length === 0) texts.add(`${at} summary`, partsText(summary));
    const called = textOf(given) + textOf(input);
    if (called !== "" || name !== undefined) texts.addCall(String(at), { id, name, input: called });
  });
}

/** Whether a choice carries content: any non-empty field besides the role. */
export function carriesContent(choice: unknown): boolean {
  const part = partOf(choice);
  if (!part) return false;
  for (const name in part) {
    const value = part[name];
    if (name === "role" || value === null || value === "" || value === undefined) continue;
    if (!Array.isArray(value) || value.length > 0) return true;
  }
  return false;
}

function partOf(choice: unknown): Fields | undefined {
  if (typeof choice !== "object" || choice === null) return undefined;
  const part = "delta" in choice ? choice.delta : "message" in choice ? choice.message : undefined;
  // Some servers add `text` to a chat as well.
  if (part === undefined && "text" in choice) return { content: choice.text };
  return isFields(part) ? part : undefined;
}

/** The texts of a list of parts: of content, of a summary, or of details of reasoning. */
function partsText(parts: unknown): string {
  return listOf(parts).map(partText).join("");
}

function partText(part: unknown): string {
  const { text, refusal, transcript, summary, thinking } = fieldsOf(part);
  const own = textOf(text) || textOf(refusal) || textOf(transcript) || textOf(summary) || textOf(thinking);
  return (
    own ||
    listOf(thinking)
      .map((inner) => textOf(fieldsOf(inner).text))
      .join("")
  );
}

function indexOf(value: unknown, at: number): number {
  const { index } = fieldsOf(value);
  return typeof index === "number" ? index : at;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

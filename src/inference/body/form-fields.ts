import { z } from "zod";
import { checkInput } from "../../kernel/check.ts";
import { type Form, textsOf } from "../../kernel/text/multipart.ts";
import { type GuardedRequest, guardedForm } from "../guardrails/guarded-request.ts";
import { invalidField } from "./invalid-field.ts";

/** The text field of every form that is for the router, and is not forwarded. The query parameter of this name, too. */
export const FORM_VERIFY_TEE = z
  .enum(["true", "false"])
  .optional()
  .meta({ description: "Whether the signature of the answer is verified, as the query parameter." });

/** A form of an inference request: its text fields, and the form to forward. */
type FormFields<Texts> = {
  readonly texts: Texts;
  readonly form: Form;
  readonly verifyTee: boolean;
  readonly guarded: GuardedRequest;
};

/** Reads the text fields of a form. Throws `invalid_body` for one that is wrong, and for routing, which headers state. */
export function readFormFields<Texts extends { readonly verify_tee?: "true" | "false" | undefined }>(
  schema: z.ZodType<Texts>,
  form: Form,
  sizeBytes: number,
): FormFields<Texts> {
  const routing = form.parts.find(({ name }) => /^provider(\[|$)/.test(name));
  if (routing)
    throw invalidField(routing.name, "is not read from a form: send the X-0G-Provider-* headers instead");
  const texts = checkInput(schema, textsOf(form));
  if (texts.verify_tee === undefined)
    return { texts, form, verifyTee: false, guarded: guardedForm(form, texts, sizeBytes) };
  const verifyTee = texts.verify_tee === "true";
  const { contentType, parts } = form;
  return {
    texts,
    form: { contentType, parts: parts.filter(({ name }) => name !== "verify_tee") },
    verifyTee,
    guarded: guardedForm(form, { ...texts, verify_tee: verifyTee }, sizeBytes),
  };
}

import { zodResolver } from "@hookform/resolvers/zod";
import { useEffect } from "react";
import { type UseFormReturn, useForm } from "react-hook-form";
import { readOwn, writeOwn } from "../../../data/session/own-storage.ts";
import { NO_PARAMETERS, type ParameterFields, type Parameters, parameterSchema } from "./parameters.ts";

const NAME = "parameters";
/** While the user types, it is written at most this often. */
const WRITE_AFTER_MS = 300;

type Form = UseFormReturn<ParameterFields, unknown, Parameters>;

/** The form of a chat's parameters, which this browser keeps. `read` has undefined for fields with errors. */
export function useParameters(address: string): {
  readonly form: Form;
  read(): Promise<Parameters | undefined>;
} {
  const form = useForm<ParameterFields, unknown, Parameters>({
    resolver: zodResolver(parameterSchema),
    defaultValues: readKept(address),
    mode: "onChange",
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = form.subscribe({
      formState: { values: true },
      callback: ({ values }) => {
        clearTimeout(timer);
        timer = setTimeout(() => writeOwn("local", address, NAME, values), WRITE_AFTER_MS);
      },
    });
    return stop;
  }, [form, address]);
  const read = async () => {
    const isValid = await form.trigger(undefined, { shouldFocus: true });
    return isValid ? parameterSchema.safeParse(form.getValues()).data : undefined;
  };
  return { form, read };
}

/** What was kept, field by field: another version of the dashboard may have kept other fields. */
function readKept(address: string): ParameterFields {
  const kept = readOwn("local", address, NAME);
  const fields = typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>) : {};
  const merged: Record<string, unknown> = { ...NO_PARAMETERS };
  for (const [name, value] of Object.entries(NO_PARAMETERS)) {
    const given = fields[name];
    const isSame = Array.isArray(value)
      ? Array.isArray(given) && given.every((item) => typeof item === "string")
      : typeof given === typeof value;
    if (isSame) merged[name] = given;
  }
  return merged as ParameterFields;
}

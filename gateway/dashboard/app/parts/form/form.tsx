import { zodResolver } from "@hookform/resolvers/zod";
import { Button, Group, Stack } from "@mantine/core";
import { type ReactNode, useRef } from "react";
import { type DefaultValues, type FieldPath, type FieldValues, FormProvider, useForm } from "react-hook-form";
import type * as z from "zod";
import { InputRefused, reasonOf } from "../../data/query/graph.ts";
import { Failure } from "../page/states.tsx";
import { changesOf } from "./changes.ts";

type Props<Input extends FieldValues, Output> = {
  /** What the fields hold, and what `send` gets of them. */
  readonly schema: z.ZodType<Output, Input>;
  readonly defaultValues: DefaultValues<Input>;
  /**
   * Sends the form: all its values, or, for what exists already, only its changes. What it throws is shown:
   * `InputRefused` at the fields, anything else above the button.
   */
  send(values: Output, changes: Partial<Output>): Promise<unknown>;
  /** The text of the button. */
  readonly label: string;
  /** The field of the form for a field of the mutation's input, where the names differ. */
  readonly fieldOf?: Readonly<Record<string, FieldPath<Input>>>;
  /** Before the button that sends. */
  readonly buttons?: ReactNode;
  /** Whether the form is emptied when it was sent. */
  readonly isCleared?: boolean;
  readonly disabled?: boolean;
  readonly children: ReactNode;
};

/**
 * A form that sends once at a time. Its fields are those of `fields.tsx`: an error of the schema or of the server is
 * shown at its field, which gets the focus; one of no field above the button.
 */
export function GraphForm<Input extends FieldValues, Output extends object>(props: Props<Input, Output>) {
  const { schema, defaultValues, send, label, fieldOf, buttons, isCleared = false, children } = props;
  const form = useForm<Input, unknown, Output>({ resolver: zodResolver(schema), defaultValues });
  const { isSubmitting, errors, dirtyFields } = form.formState;
  const element = useRef<HTMLFormElement>(null);
  const submit = form.handleSubmit(async (values) => {
    const incomplete = incompleteFields(element.current);
    if (incomplete.length > 0) return showIncomplete(incomplete);
    try {
      await send(values, changesOf(values, dirtyFields));
      if (isCleared) form.reset(defaultValues);
    } catch (error) {
      showError(error);
    }
  });
  const showIncomplete = (names: readonly string[]) => {
    for (const [n, name] of names.entries())
      form.setError(name as FieldPath<Input>, { message: INCOMPLETE }, { shouldFocus: n === 0 });
  };
  const showError = (error: unknown) => {
    const rest: string[] = [];
    let isFirst = true;
    for (const { field, message } of error instanceof InputRefused ? error.userErrors : []) {
      const name = field && (fieldOf?.[field] ?? field.split(".")[0]);
      if (!name || !(name in form.getValues())) rest.push(message);
      else form.setError(name as FieldPath<Input>, { message }, { shouldFocus: isFirst });
      isFirst = false;
    }
    if (!(error instanceof InputRefused)) rest.push(reasonOf(error));
    if (rest.length > 0) form.setError("root", { message: rest.join(" ") });
  };
  return (
    <FormProvider {...form}>
      <form ref={element} onSubmit={submit} noValidate>
        <Stack gap="sm">
          {children}
          {errors.root?.message && <Failure reason={errors.root.message} />}
          <Group justify="flex-end" gap="xs">
            {buttons}
            <Button type="submit" loading={isSubmitting} disabled={props.disabled ?? false}>
              {label}
            </Button>
          </Group>
        </Stack>
      </form>
    </FormProvider>
  );
}

const INCOMPLETE = "Enter the whole date and time, or clear the field.";

/** The fields of a form whose text the browser cannot read, such as a date without its time: they have no value. */
function incompleteFields(form: HTMLFormElement | null): readonly string[] {
  return [...(form?.elements ?? [])].flatMap((field) =>
    field instanceof HTMLInputElement && field.validity.badInput ? field.name : [],
  );
}

import {
  Checkbox,
  Fieldset,
  NativeSelect,
  PasswordInput,
  Stack,
  Textarea,
  TextInput,
  type TextInputProps,
} from "@mantine/core";
import { useController, useFormContext } from "react-hook-form";

type Common = {
  /** The field of the form's values. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly required?: boolean;
  readonly placeholder?: string;
};

/** What an input of Mantine takes for a field of the form. */
function useField({ name, label, hint, required = false, placeholder }: Common) {
  const { field, fieldState } = useController({ name });
  return {
    field,
    input: {
      name,
      label,
      description: hint,
      withAsterisk: required,
      "aria-required": required,
      placeholder: placeholder ?? "",
      error: fieldState.error?.message,
      ref: field.ref,
      onBlur: field.onBlur,
      autoComplete: "off",
    },
  };
}

/** One line of text. The first one of a dialog has `data-autofocus`. */
export function TextField({
  name,
  label,
  hint,
  required,
  placeholder,
  ...rest
}: Common & Omit<TextInputProps, keyof Common>) {
  const { field, input } = useField({
    name,
    label,
    hint,
    ...(required !== undefined && { required }),
    ...(placeholder !== undefined && { placeholder }),
  });
  return <TextInput {...rest} {...input} value={field.value ?? ""} onChange={field.onChange} />;
}

/** A secret that is entered: hidden unless its reader wants to see it. */
export function SecretField(props: Common) {
  const { field, input } = useField(props);
  return <PasswordInput {...input} value={field.value ?? ""} onChange={field.onChange} />;
}

/** Several lines of text. */
export function LongTextField({ rows = 3, ...props }: Common & { readonly rows?: number }) {
  const { field, input } = useField(props);
  return <Textarea {...input} rows={rows} value={field.value ?? ""} onChange={field.onChange} />;
}

/** One of a few values: `options` has their texts. */
export function SelectField({
  options,
  ...props
}: Common & { readonly options: Readonly<Record<string, string>> }) {
  const { field, input } = useField(props);
  const data = Object.entries(options).map(([value, label]) => ({ value, label }));
  return <NativeSelect {...input} data={data} value={field.value ?? ""} onChange={field.onChange} />;
}

/** Yes or no. */
export function CheckField(props: Common) {
  const { field, input } = useField(props);
  const { placeholder: _, withAsterisk: __, autoComplete: ___, ...rest } = input;
  return <Checkbox {...rest} checked={field.value === true} onChange={field.onChange} />;
}

/** Several of some values, as an array: `options` has their texts. */
export function ChecksField({
  name,
  label,
  options,
}: Pick<Common, "name" | "label"> & { readonly options: Readonly<Record<string, string>> }) {
  const { field, fieldState } = useController({ name });
  return (
    <Fieldset legend={label} variant="default">
      <Checkbox.Group value={field.value ?? []} onChange={field.onChange} error={fieldState.error?.message}>
        <Stack gap="xs">
          {Object.entries(options).map(([value, text]) => (
            <Checkbox key={value} value={value} label={text} name={name} />
          ))}
        </Stack>
      </Checkbox.Group>
    </Fieldset>
  );
}

/** A file, as `File`. */
export function FileField({ accept, ...props }: Common & { readonly accept?: string }) {
  const { input } = useField(props);
  const { setValue } = useFormContext();
  return (
    <TextInput
      {...input}
      type="file"
      {...(accept && { accept })}
      onChange={({ currentTarget: { files } }) =>
        setValue(props.name, files?.[0] ?? null, { shouldValidate: true })
      }
    />
  );
}

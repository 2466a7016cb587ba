import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";

const TYPING_MS = 350;

type Props = Omit<TextInputProps, "value" | "onChange" | "pattern"> & {
  readonly value: string | undefined;
  /** Whether a text can be a filter; otherwise `hint` says what is wrong, and the list stays as it is. */
  readonly pattern?: RegExp;
  readonly hint?: string;
  onFilter(text: string | undefined): void;
};

/** A text that filters a list once its reader pauses, presses Enter, or leaves the field. */
export function TypedFilter({ value = "", pattern, hint, onFilter, ...rest }: Props) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const isValid = text === "" || !pattern || pattern.test(text);
  const send = (next: string) => {
    if (next !== "" && pattern && !pattern.test(next)) return;
    sent.current = next;
    onFilter(next === "" ? undefined : next);
  };
  const sendSoon = useDebouncedCallback(send, TYPING_MS);
  // A filter that is cleared elsewhere, or by Back.
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
    sendSoon.cancel();
  }, [value, sendSoon]);
  return (
    <TextInput
      size="xs"
      {...rest}
      value={text}
      error={isValid ? undefined : hint}
      onChange={({ currentTarget }) => {
        const next = currentTarget.value.trim();
        setText(currentTarget.value);
        sendSoon(next);
      }}
      onKeyDown={({ key }) => {
        if (key === "Enter") sendSoon.flush();
      }}
      // The field may be gone before the pause is over.
      onBlur={() => sendSoon.flush()}
    />
  );
}

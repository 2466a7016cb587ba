import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

const TYPING_MS = 350;
/** The digits of a year arrive one by one: `2026` is the years 2, 20 and 202 before. */
const IS_WHOLE = /^(?:19[7-9]\d|[2-9]\d{3})-/;

type Props = Omit<TextInputProps, "value" | "onChange" | "type"> & {
  readonly type: "date" | "datetime-local";
  readonly value: string | undefined;
  /** Takes what was entered, from 1970 on; undefined for a field that was emptied. */
  onFilter(time: string | undefined): void;
};

/**
 * A date or a time that filters once its reader pauses, or leaves the field. Until then the field has what was typed: if
 * its value was set meanwhile, the browser would begin the number that is being typed again.
 */
export function TypedTime({ value = "", onFilter, ...rest }: Props) {
  const [typed, setTyped] = useState<string>();
  const sendSoon = useDebouncedCallback(onFilter, TYPING_MS);
  return (
    <TextInput
      size="xs"
      {...rest}
      value={typed ?? value}
      onChange={({ currentTarget: { value: next, validity } }) => {
        setTyped(next);
        if (IS_WHOLE.test(next)) sendSoon(next);
        else if (next === "" && !validity.badInput) sendSoon(undefined);
        else sendSoon.cancel();
      }}
      onBlur={() => {
        sendSoon.flush();
        setTyped(undefined);
      }}
    />
  );
}

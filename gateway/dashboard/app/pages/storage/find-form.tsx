import { Button, TextInput } from "@mantine/core";
import { useState } from "react";

/** One line of text that opens or finds something; what is wrong with it is shown at the field. */
export function FindForm({
  label,
  button,
  value = "",
  placeholder = "",
  faultOf,
  onFind,
}: {
  label: string;
  button: string;
  value?: string;
  placeholder?: string;
  /** What is wrong with the text; undefined if it can be found. */
  faultOf(text: string): string | undefined;
  onFind(text: string): void;
}) {
  const [text, setText] = useState(value);
  const [fault, setFault] = useState<string>();
  return (
    <form
      className="find-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const found = faultOf(text);
        setFault(found);
        if (found === undefined) onFind(text);
      }}
    >
      <TextInput
        label={label}
        value={text}
        placeholder={placeholder}
        error={fault}
        autoComplete="off"
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setFault(undefined);
        }}
      />
      <Button type="submit" variant="default">
        {button}
      </Button>
    </form>
  );
}

/** What is wrong with 32 bytes in hexadecimal, such as a root; `what` begins the sentence. */
export function hash32Fault(text: string, what: string): string | undefined {
  return /^0x[0-9a-fA-F]{64}$/.test(text.trim()) ? undefined : `${what} is 0x and 64 hexadecimal digits.`;
}

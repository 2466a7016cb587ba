import { Button } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { type DefaultValues, type FieldValues, useFormContext } from "react-hook-form";
import type * as z from "zod";
import { GraphForm } from "../../../parts/form/form.tsx";
import { CodeButton } from "../api/code-button.tsx";
import { type Failure, failureOf } from "../api/failure.ts";
import { FailureNote } from "../api/failure-note.tsx";
import type { ApiRequest } from "../api/request.ts";
import { send } from "../api/send.ts";
import { usePlaygroundKey } from "../key/playground-key.tsx";

type Props<Input extends FieldValues, Output extends object> = {
  readonly schema: z.ZodType<Output, Input>;
  readonly defaultValues: DefaultValues<Input>;
  /** The text of the button. */
  readonly label: string;
  toRequest(values: Output): ApiRequest;
  /** Before a request is sent. */
  onStart?(): Promise<void> | void;
  /** Takes the answer. What it throws is shown as the failure of the request. */
  onAnswer(response: Response, values: Output): Promise<void>;
  readonly children: ReactNode;
};

/** The form of one kind of request: it sends it with the key of the page, shows it as code, and says why it failed. */
export function RequestForm<Input extends FieldValues, Output extends object>(props: Props<Input, Output>) {
  const { schema, defaultValues, label, toRequest, onStart, onAnswer, children } = props;
  const { take, countAnswer } = usePlaygroundKey();
  const [failure, setFailure] = useState<Failure>();
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);
  // Work for a page that was left stops.
  useEffect(() => () => running.current?.abort(), []);
  const run = async (values: Output) => {
    const abort = new AbortController();
    running.current = abort;
    setFailure(undefined);
    setBusy(true);
    try {
      await onStart?.();
      const key = await take();
      await onAnswer(await send(toRequest(values), key, abort.signal), values);
    } catch (error) {
      if (!abort.signal.aborted) setFailure(failureOf(error));
    } finally {
      setBusy(false);
      countAnswer();
    }
  };
  return (
    <>
      <GraphForm
        label={label}
        schema={schema}
        defaultValues={defaultValues}
        send={run}
        buttons={
          <>
            {isBusy && (
              <Button
                variant="default"
                onClick={({ currentTarget: { form } }) => {
                  running.current?.abort();
                  // This button is gone with the request.
                  form?.querySelector<HTMLElement>("select, input, textarea")?.focus();
                }}
              >
                Stop
              </Button>
            )}
            <FormCode schema={schema} toRequest={toRequest} />
          </>
        }
      >
        {children}
      </GraphForm>
      {failure && <FailureNote failure={failure} />}
    </>
  );
}

/** The request of the form around it, as code. */
function FormCode<Input extends FieldValues, Output extends object>({
  schema,
  toRequest,
}: Pick<Props<Input, Output>, "schema" | "toRequest">) {
  const form = useFormContext<Input>();
  const read = async () => {
    if (!(await form.trigger(undefined, { shouldFocus: true }))) return undefined;
    const { data } = schema.safeParse(form.getValues());
    return data === undefined ? undefined : [{ name: "request", request: toRequest(data) }];
  };
  return <CodeButton read={read} />;
}

import { Button, type ButtonProps } from "@mantine/core";
import type { ButtonHTMLAttributes } from "react";
import { useAction } from "../../data/use-action.ts";

type Props = ButtonProps &
  Omit<ButtonHTMLAttributes<HTMLButtonElement>, keyof ButtonProps | "onClick"> & {
    act(): Promise<unknown>;
    /** What a toast says after a success. */
    readonly done?: string;
  };

/** A button for an asynchronous action: it cannot be pressed twice, and a toast says why the action failed. */
export function ActionButton({ act, done, variant = "default", ...rest }: Props) {
  const { run, isBusy } = useAction(act, done === undefined ? {} : { done });
  return <Button {...rest} type="button" variant={variant} loading={isBusy} onClick={run} />;
}

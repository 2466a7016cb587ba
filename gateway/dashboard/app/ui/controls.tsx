import {
  type ButtonHTMLAttributes,
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { reasonOf } from "../graph.ts";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  readonly kind?: "primary" | "plain" | "danger";
};

export function Button({ kind = "plain", type = "button", className = "", ...rest }: ButtonProps) {
  return <button {...rest} type={type} className={`button ${kind} ${className}`} />;
}

/** A button for an asynchronous action: it cannot be pressed twice, and shows a failure. */
export function ActionButton({
  act,
  children,
  ...rest
}: Omit<ButtonProps, "onClick"> & { act(): Promise<unknown> }) {
  const [state, setState] = useState<"idle" | "busy" | { reason: string }>("idle");
  const run = async () => {
    setState("busy");
    try {
      await act();
      setState("idle");
    } catch (error) {
      setState({ reason: reasonOf(error) });
    }
  };
  return (
    <>
      <Button {...rest} disabled={rest.disabled || state === "busy"} onClick={run}>
        {state === "busy" ? "Please wait…" : children}
      </Button>
      {typeof state === "object" && <Failure reason={state.reason} />}
    </>
  );
}

/** A form that sends one request at a time and shows why it failed. */
export function Form({
  send,
  label,
  children,
}: {
  send(form: FormData): Promise<unknown>;
  label: string;
  children: ReactNode;
}) {
  const [state, setState] = useState<"idle" | "busy" | { reason: string }>("idle");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setState("busy");
    try {
      await send(new FormData(event.currentTarget));
      setState("idle");
    } catch (error) {
      setState({ reason: reasonOf(error) });
    }
  };
  return (
    <form onSubmit={submit} className="form">
      {children}
      {typeof state === "object" && <Failure reason={state.reason} />}
      <Button type="submit" kind="primary" disabled={state === "busy"}>
        {state === "busy" ? "Please wait…" : label}
      </Button>
    </form>
  );
}

type Labelled = { readonly label: string; readonly hint?: string };

export function Field({ label, hint, ...rest }: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input autoComplete="off" {...rest} id={id} aria-describedby={hint ? `${id}-hint` : undefined} />
      {hint && (
        <small id={`${id}-hint`} className="quiet">
          {hint}
        </small>
      )}
    </div>
  );
}

export function TextField({ label, hint, ...rest }: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea {...rest} id={id} aria-describedby={hint ? `${id}-hint` : undefined} />
      {hint && (
        <small id={`${id}-hint`} className="quiet">
          {hint}
        </small>
      )}
    </div>
  );
}

export function Choice({
  label,
  hint,
  options,
  ...rest
}: Labelled &
  SelectHTMLAttributes<HTMLSelectElement> & { readonly options: Readonly<Record<string, string>> }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select {...rest} id={id} aria-describedby={hint ? `${id}-hint` : undefined}>
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      {hint && (
        <small id={`${id}-hint`} className="quiet">
          {hint}
        </small>
      )}
    </div>
  );
}

/** The first field of a form, or the answer to a question that changes nothing. */
const FIRST_CONTROL = "form :is(input, select, textarea), :not(header) > button";

/**
 * A native dialog: it traps the focus and restores it. `mayClose` is called before Escape or the cross closes it.
 */
export function Dialog({
  title,
  onClose,
  mayClose = () => true,
  children,
}: {
  title: string;
  onClose(): void;
  mayClose?(): boolean;
  children: ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    if (!element.current?.open) element.current?.showModal();
    // By default the browser would focus the cross, which comes first.
    element.current?.querySelector<HTMLElement>(FIRST_CONTROL)?.focus();
    // The dialog is unmounted, not closed, so the browser does not restore the focus.
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const close = () => {
    if (mayClose()) onClose();
  };
  return (
    <dialog
      ref={element}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <Button onClick={close} aria-label="Close">
          ×
        </Button>
      </header>
      {children}
    </dialog>
  );
}

/** Asks for confirmation of an action that cannot be undone. */
export function Confirm({
  title,
  label,
  act,
  onClose,
  children,
}: {
  title: string;
  label: string;
  act(): Promise<unknown>;
  onClose(): void;
  children: ReactNode;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <ActionButton
          kind="danger"
          act={async () => {
            await act();
            onClose();
          }}
        >
          {label}
        </ActionButton>
      </footer>
    </Dialog>
  );
}

/** An error message, announced to screen readers. */
export function Failure({ reason }: { reason: string }) {
  return (
    <p role="alert" className="failure">
      {reason}
    </p>
  );
}

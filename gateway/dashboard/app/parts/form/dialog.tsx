import { Button, Group, Modal } from "@mantine/core";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { useAction } from "../../data/use-action.ts";
import { useOwnClose } from "./use-own-close.ts";

/**
 * A dialog while it is mounted. It has the focus, first on the element with `data-autofocus`, else on its first field, and
 * gives it back to where it was. `mayClose` is called before Escape, the cross or a click beside it closes it.
 */
export function Dialog({
  title,
  onClose,
  mayClose = () => true,
  size = "md",
  children,
}: {
  title: string;
  onClose(): void;
  mayClose?(): boolean;
  size?: "md" | "lg" | "xl";
  children: ReactNode;
}) {
  const before = useRef<Element | null>(null);
  // Another dialog that this one follows has given back the focus by now: its effect was undone first.
  useLayoutEffect(() => {
    before.current = document.activeElement;
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);
  return (
    <Modal
      opened
      onClose={() => mayClose() && onClose()}
      title={title}
      size={size}
      returnFocus={false}
      closeOnClickOutside={false}
      // Its header is not the banner of the page.
      attributes={{ header: { role: "presentation" } }}
    >
      <div ref={markFirstField}>{children}</div>
    </Modal>
  );
}

/** Marks the first field for the focus, which would otherwise be on the cross, unless the dialog names another place. */
function markFirstField(content: HTMLDivElement | null): void {
  if (!content || content.querySelector("[data-autofocus]")) return;
  const field = content.querySelector("input:not([type=hidden]), select, textarea");
  field?.setAttribute("data-autofocus", "true");
}

/** The buttons at the end of a dialog. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return (
    <Group justify="flex-end" gap="xs" mt="lg">
      {children}
    </Group>
  );
}

/**
 * Asks for confirmation of an action, in red unless it `isHarmless`: it destroys nothing of anyone. A toast says `done`
 * when it was carried out.
 */
export function ConfirmDialog({
  title,
  label,
  act,
  done,
  isHarmless = false,
  onClose,
  children,
}: {
  title: string;
  label: string;
  isHarmless?: boolean;
  act(): Promise<unknown>;
  done?: string;
  onClose(): void;
  children: ReactNode;
}) {
  const close = useOwnClose(title, onClose);
  const { run, isBusy } = useAction(act, done === undefined ? {} : { done });
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <DialogButtons>
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button
          {...(!isHarmless && { color: "red" })}
          loading={isBusy}
          onClick={async () => (await run()) && close()}
        >
          {label}
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

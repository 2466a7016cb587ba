import { ActionIcon, Button, FileButton, Group, Kbd, Textarea } from "@mantine/core";
import ImagePlus from "lucide-react/icons/image-plus";
import SendHorizontal from "lucide-react/icons/send-horizontal";
import Square from "lucide-react/icons/square";
import X from "lucide-react/icons/x";
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useDropGuard } from "../../../parts/form/use-drop-guard.ts";
import { IMAGE_TYPES, MAX_IMAGES, readImages } from "./attachments.ts";

/** More is pasted by accident, and slows the page down. */
const MAX_CHARACTERS = 500_000;

/** A question that is being written. */
export type Draft = { readonly text: string; readonly images: readonly string[] };

type Props = {
  readonly draft: Draft;
  /** Changes the draft as it is then: it may be edited, or sent, while images are read. */
  onChange(change: (draft: Draft) => Draft): void;
  readonly isComing: boolean;
  onSend(): void;
  onStop(): void;
  /** About images, where the models may not read them. */
  readonly imageNote: string | undefined;
};

/** Where a question is written, with images by button, drop or paste. Ctrl+Enter sends it. */
export function Composer({ draft, onChange, isComing, onSend, onStop, imageNote }: Props) {
  const [problem, setProblem] = useState<string>();
  const [isOver, setOver] = useState(false);
  useDropGuard();
  const { text, images } = draft;
  const isEmpty = text.trim() === "" && images.length === 0;
  const add = async (files: readonly File[]) => {
    const read = await readImages(files, MAX_IMAGES - images.length);
    setProblem(read.problem);
    onChange((now) => ({ ...now, images: [...now.images, ...read.images].slice(0, MAX_IMAGES) }));
  };
  const input = useRef<HTMLTextAreaElement>(null);
  const sender = useRef<HTMLButtonElement>(null);
  // The button that stops becomes the one that sends, which an empty question disables: the focus would be lost.
  useLayoutEffect(() => {
    if (!isComing && document.activeElement === sender.current) input.current?.focus({ preventScroll: true });
  }, [isComing]);
  const drop = (event: DragEvent) => {
    setOver(false);
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    void add([...event.dataTransfer.files]);
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!isEmpty && !isComing) onSend();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button beside it does the same by keyboard.
    <div
      className={isOver ? "composer over" : "composer"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {images.length > 0 && (
        <ul className="attached" aria-label="Attached images">
          {images.map((url, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be attached twice.
            <li key={n}>
              <img src={url} alt={`Attachment ${n + 1}`} />
              <ActionIcon
                size="xs"
                variant="filled"
                color="dark"
                aria-label={`Remove image ${n + 1}`}
                onClick={() => {
                  onChange((now) => ({ ...now, images: now.images.filter((_, m) => m !== n) }));
                  input.current?.focus();
                }}
              >
                <X size={11} />
              </ActionIcon>
            </li>
          ))}
        </ul>
      )}
      <Textarea
        ref={input}
        aria-label="Your question"
        placeholder="Ask anything. Drop or paste images."
        autosize
        minRows={2}
        maxRows={12}
        maxLength={MAX_CHARACTERS}
        variant="unstyled"
        value={text}
        onChange={({ currentTarget: { value } }) => onChange((now) => ({ ...now, text: value }))}
        onKeyDown={press}
        onPaste={paste}
        error={problem}
      />
      {images.length > 0 && imageNote && <p className="quiet">{imageNote}</p>}
      <Group justify="space-between" gap="xs">
        <FileButton onChange={(files) => void add(files)} accept={IMAGE_TYPES.join(",")} multiple>
          {(props) => (
            <Button
              {...props}
              size="compact-md"
              variant="subtle"
              color="gray"
              leftSection={<ImagePlus size={16} />}
            >
              Image
            </Button>
          )}
        </FileButton>
        <Group gap="sm">
          <span className="quiet send-keys">
            <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd>
          </span>
          {isComing ? (
            <Button ref={sender} variant="default" leftSection={<Square size={13} />} onClick={onStop}>
              Stop
            </Button>
          ) : (
            <Button
              ref={sender}
              rightSection={<SendHorizontal size={15} />}
              disabled={isEmpty}
              onClick={onSend}
            >
              Send
            </Button>
          )}
        </Group>
      </Group>
    </div>
  );
}

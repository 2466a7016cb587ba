import { Note } from "../../parts/page/states.tsx";

type Key = {
  readonly index: number;
  readonly dataHash: string | null;
  readonly key: string;
  readonly sizeBytes: number;
  readonly truncated: boolean;
};

/** Sealed keys, each of which opens to show what it decrypts. */
export function SealedKeys({ keys }: { keys: readonly Key[] }) {
  return keys.map((key) => (
    <details key={key.index} className="sealed-key">
      <summary>
        key {key.index}, {key.sizeBytes} bytes
      </summary>
      <p>
        Opens <code className="selectable">{key.dataHash ?? "unknown data"}</code>
      </p>
      <code className="selectable">{key.key}</code>
      {key.truncated && <Note>The key is truncated here.</Note>}
    </details>
  ));
}

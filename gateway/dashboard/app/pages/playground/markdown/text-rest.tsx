import { Button } from "@mantine/core";
import Download from "lucide-react/icons/download";
import { saveFile } from "../../../data/save-file.ts";

/** Says how much of a text is shown, with a button that saves all of it; nothing if it is shown whole. */
export function TextRest({ text, shown }: { text: string; shown: string }) {
  if (shown.length === text.length) return null;
  const [first, all] = [shown, text].map(({ length }) => length.toLocaleString("en"));
  return (
    <p className="facts">
      <span>
        The first {first} of {all} characters are shown.
      </span>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<Download size={14} />}
        onClick={() => saveFile("text.txt", new Blob([text], { type: "text/plain" }))}
      >
        Download all
      </Button>
    </p>
  );
}

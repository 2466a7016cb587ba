import { Button, NativeSelect, Stack } from "@mantine/core";
import Code from "lucide-react/icons/code";
import { useState } from "react";
import { CodeSnippet } from "../../../parts/code/code-snippet.tsx";
import { Dialog } from "../../../parts/form/dialog.tsx";
import { Note } from "../../../parts/page/states.tsx";
import { codeOf } from "./code.ts";
import type { ApiRequest } from "./request.ts";

/** A request with the name under which it is chosen, where there are several. */
export type NamedRequest = { readonly name: string; readonly request: ApiRequest };

/**
 * A button that shows the current request as code. `read` makes the requests from what is entered; it resolves to
 * undefined when that has errors, which are then shown at their fields.
 */
export function CodeButton({ read }: { read(): Promise<readonly NamedRequest[] | undefined> }) {
  const [requests, setRequests] = useState<readonly NamedRequest[]>();
  return (
    <>
      <Button
        variant="default"
        leftSection={<Code size={15} />}
        onClick={async () => setRequests(await read())}
      >
        View code
      </Button>
      {requests && <CodeDialog requests={requests} onClose={() => setRequests(undefined)} />}
    </>
  );
}

function CodeDialog({ requests, onClose }: { requests: readonly NamedRequest[]; onClose(): void }) {
  const [chosen, setChosen] = useState(0);
  const request = requests[chosen]?.request;
  return (
    <Dialog title="Code of this request" onClose={onClose} size="xl">
      <Stack gap="sm">
        {requests.length > 1 && (
          <NativeSelect
            label="Model"
            value={String(chosen)}
            data={requests.map(({ name }, n) => ({ value: String(n), label: name }))}
            onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
          />
        )}
        {request && <CodeSnippet key={chosen} label="Code" snippets={codeOf(request, location.origin)} />}
        <Note>
          It reads the key from the environment: <code>export ZEROGRAPH_API_KEY=sk-…</code>
        </Note>
      </Stack>
    </Dialog>
  );
}

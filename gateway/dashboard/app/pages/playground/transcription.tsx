import { useState } from "react";
import * as z from "zod";
import { toBase64 } from "../../data/base64.ts";
import { graphql, resultOf } from "../../data/graph.ts";
import { FileField, SelectField } from "../../parts/fields.tsx";
import { GraphForm } from "../../parts/form.tsx";
import { Section } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Bill, BillLine } from "./chat.tsx";
import { clientOfKey } from "./playground-client.ts";

const TRANSCRIBE = graphql(`
  mutation Transcribe($input: TranscribeAudioInput!) {
    transcribeAudio(input: $input) {
      transcription { text language bill { requestId providerAddress cost { total } } }
      userErrors { field message }
    }
  }
`);

/** In base64 slightly less than the 512 KiB that the GraphQL API accepts. */
const MAX_FILE_BYTES = 380_000;

const schema = z.object({
  model: z.string().min(1),
  file: z
    .file("Choose an audio file.")
    .min(1, "Choose an audio file.")
    .max(MAX_FILE_BYTES, "This page accepts up to 380 kB. Send larger files to /v1/audio/transcriptions."),
});

/** Transcribes an audio file. */
export function Transcription({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
  const [result, setResult] = useState<{ text: string; bill: Bill }>();
  return (
    <Section title="Transcription">
      {models.length === 0 ? (
        <EmptyState title="No provider transcribes at the moment." />
      ) : (
        <GraphForm
          label="Transcribe"
          schema={schema}
          defaultValues={{ model: models[0] ?? "" }}
          fieldOf={{ fileBase64: "file" }}
          send={async ({ model, file }) => {
            const fileBase64 = toBase64(new Uint8Array(await file.arrayBuffer()));
            const input = { model, fileBase64, filename: file.name };
            const { transcribeAudio } = await clientOfKey(apiKey).mutate(TRANSCRIBE, { input });
            setResult(resultOf(transcribeAudio).transcription ?? undefined);
          }}
        >
          <SelectField
            label="Model"
            name="model"
            options={Object.fromEntries(models.map((id) => [id, id]))}
          />
          <FileField label="Audio file" name="file" accept="audio/*" required />
        </GraphForm>
      )}
      {result && (
        <>
          <blockquote>{result.text}</blockquote>
          <BillLine bill={result.bill} />
        </>
      )}
    </Section>
  );
}

import { useState } from "react";
import { stringifyDocument } from "urql";
import * as z from "zod";
import { graphql } from "../../../data/query/graph.ts";
import { FileField, SelectField, TextField } from "../../../parts/form/fields.tsx";
import { Columns, Section } from "../../../parts/page/page.tsx";
import { EmptyState } from "../../../parts/page/states.tsx";
import { CopyButton } from "../../../parts/value/copyable.tsx";
import { type Bill, billOf } from "../api/bill.ts";
import { BillLine } from "../api/bill-line.tsx";
import type { ApiRequest } from "../api/request.ts";
import { modelOptions, useFirstModel } from "./models.ts";
import { RequestForm } from "./request-form.tsx";

const TRANSCRIBE = graphql(`
  mutation Transcribe($input: TranscribeAudioInput!) {
    transcribeAudio(input: $input) {
      transcription { text language bill { requestId cost { total } } }
      userErrors { field message }
    }
  }
`);
/** What OpenAI's API accepts. */
const MAX_FILE_BYTES = 25 * 1_048_576;

const schema = z.object({
  model: z.string().min(1),
  file: z
    .file("Choose an audio file.")
    .min(1, "The file is empty.")
    .max(MAX_FILE_BYTES, "A file may have 25 MiB."),
  language: z
    .string()
    .trim()
    .regex(/^(?:[a-z]{2,3})?$/, "A code such as en."),
});
const answer = z.object({
  text: z.string(),
  language: z.string().optional(),
  duration: z.number().optional(),
  x_0g_trace: z.unknown(),
});

type Transcript = {
  readonly text: string;
  readonly about: string | undefined;
  readonly bill: Bill | undefined;
};

function toRequest({ model, file, language }: z.output<typeof schema>): ApiRequest {
  const more = language === "" ? {} : { language };
  const fileBase64 = `<${file.name} in base64>`;
  return {
    path: "/v1/audio/transcriptions",
    body: { model, response_format: "json", ...more },
    file: { name: "file", fileName: file.name, bytes: file },
    graph: {
      document: stringifyDocument(TRANSCRIBE),
      variables: { input: { model, fileBase64, filename: file.name, ...more } },
      isStream: false,
    },
  };
}

/** Transcribes an audio file. */
export function Transcription({ models }: { models: readonly string[] }) {
  const [transcript, setTranscript] = useState<Transcript>();
  const [output, setOutput] = useState<HTMLElement | null>(null);
  const first = useFirstModel(models);
  if (models.length === 0) return <EmptyState title="No provider transcribes at the moment." />;
  return (
    <Columns>
      <Section title="Request">
        <RequestForm
          label="Transcribe"
          schema={schema}
          defaultValues={{ model: first, language: "" }}
          toRequest={toRequest}
          onAnswer={async (response) => {
            const { text, language, duration, x_0g_trace: trace } = answer.parse(await response.json());
            const about = [language, duration === undefined ? undefined : `${duration.toFixed(1)} s`];
            setTranscript({
              text,
              about: about.filter((part) => part !== undefined).join(", ") || undefined,
              bill: billOf(trace),
            });
          }}
        >
          <SelectField label="Model" name="model" options={modelOptions(models)} />
          <FileField label="Audio file" name="file" accept="audio/*" required />
          <TextField label="Language" name="language" placeholder="recognised" />
        </RequestForm>
      </Section>
      <Section title="Transcript" {...(transcript?.about !== undefined && { about: transcript.about })}>
        {transcript ? (
          <>
            <blockquote ref={setOutput}>{transcript.text}</blockquote>
            <div>
              <CopyButton text={transcript.text} element={() => output} />
            </div>
            {transcript.bill && <BillLine bill={transcript.bill} />}
          </>
        ) : (
          <EmptyState title="Nothing transcribed yet.">The text of the recording appears here.</EmptyState>
        )}
      </Section>
    </Columns>
  );
}

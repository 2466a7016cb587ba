import { Button } from "@mantine/core";
import Download from "lucide-react/icons/download";
import { useEffect, useState } from "react";
import { stringifyDocument } from "urql";
import * as z from "zod";
import { bytes } from "../../../data/amounts.ts";
import { graphql } from "../../../data/query/graph.ts";
import { saveFile } from "../../../data/save-file.ts";
import { LongTextField, SelectField, TextField } from "../../../parts/form/fields.tsx";
import { Columns, Section } from "../../../parts/page/page.tsx";
import { EmptyState, Note } from "../../../parts/page/states.tsx";
import { type Bill, billOf } from "../api/bill.ts";
import { BillLine } from "../api/bill-line.tsx";
import type { ApiRequest } from "../api/request.ts";
import { modelOptions, useFirstModel } from "./models.ts";
import { RequestForm } from "./request-form.tsx";

const SPEAK = graphql(`
  mutation Speak($input: CreateSpeechInput!) {
    createSpeech(input: $input) {
      speech { audioBase64 contentType bill { requestId cost { total } } }
      userErrors { field message }
    }
  }
`);
const FORMATS = ["mp3", "wav", "opus", "aac", "flac"] as const;
/** As in the REST API. */
const MAX_CHARACTERS = 16_384;

const schema = z.object({
  model: z.string().min(1),
  input: z.string().trim().min(1, "The text to speak.").max(MAX_CHARACTERS, "At most 16,384 characters."),
  voice: z.string().trim().min(1, "The name of a voice of the model, such as alloy."),
  format: z.enum(FORMATS),
  speed: z
    .string()
    .trim()
    .transform((text) => (text === "" ? undefined : Number(text)))
    .refine((speed) => speed === undefined || (speed >= 0.25 && speed <= 4), "A number from 0.25 to 4."),
});

type Spoken = {
  readonly audio: Blob;
  readonly url: string;
  readonly extension: string;
  readonly bill: Bill | undefined;
};

function toRequest({ model, input, voice, format, speed }: z.output<typeof schema>): ApiRequest {
  const more = speed === undefined ? {} : { speed };
  const variables = { input: { model, text: input, voice, format: format.toUpperCase(), ...more } };
  return {
    path: "/v1/audio/speech",
    body: { model, input, voice, response_format: format, ...more },
    graph: { document: stringifyDocument(SPEAK), variables, isStream: false },
  };
}

/** Speaks a text: the audio is played here, and can be saved. */
export function Speech({ models }: { models: readonly string[] }) {
  const [spoken, setSpoken] = useState<Spoken>();
  const url = spoken?.url;
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  const first = useFirstModel(models);
  if (models.length === 0) return <EmptyState title="No provider speaks at the moment." />;
  return (
    <Columns>
      <Section title="Request">
        <RequestForm
          label="Speak"
          schema={schema}
          defaultValues={{ model: first, input: "", voice: "alloy", format: "mp3", speed: "" }}
          toRequest={toRequest}
          onAnswer={async (response) => {
            const audio = await response.blob();
            setSpoken({
              audio,
              url: URL.createObjectURL(audio),
              extension: extensionOf(audio.type),
              bill: billOf(readTrace(response.headers.get("x-0g-trace"))),
            });
          }}
        >
          <SelectField label="Model" name="model" options={modelOptions(models)} />
          <LongTextField label="Text" name="input" rows={5} placeholder="The sea is salt." required />
          <div className="pair-of-fields">
            <TextField label="Voice" name="voice" required />
            <SelectField
              label="Format"
              name="format"
              options={Object.fromEntries(FORMATS.map((format) => [format, format]))}
            />
            <TextField label="Speed" name="speed" placeholder="1" inputMode="decimal" />
          </div>
        </RequestForm>
      </Section>
      <Section title="Audio">
        {spoken ? (
          <>
            {/* biome-ignore lint/a11y/useMediaCaption: what it says is the text beside it. */}
            <audio controls src={spoken.url} aria-label="Speech" />
            <div className="row-of-controls">
              <Button
                variant="default"
                leftSection={<Download size={15} />}
                onClick={() => saveFile(`speech.${spoken.extension}`, spoken.audio)}
              >
                Download
              </Button>
              <Note>
                {spoken.audio.type}, {bytes(String(spoken.audio.size))}
              </Note>
            </div>
            {spoken.bill && <BillLine bill={spoken.bill} />}
          </>
        ) : (
          <EmptyState title="Nothing spoken yet.">The audio appears here, to play and to save.</EmptyState>
        )}
      </Section>
    </Columns>
  );
}

function readTrace(header: string | null): unknown {
  try {
    return JSON.parse(header ?? "null");
  } catch {
    return undefined;
  }
}

function extensionOf(type: string): string {
  const [, subtype = "bin"] = /^audio\/(?:x-)?([a-z0-9]{1,8})/.exec(type) ?? [];
  return subtype === "mpeg" ? "mp3" : subtype;
}

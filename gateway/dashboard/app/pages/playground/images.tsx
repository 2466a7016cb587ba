import { useState } from "react";
import * as z from "zod";
import { graphql, resultOf } from "../../data/graph.ts";
import { LongTextField, SelectField } from "../../parts/fields.tsx";
import { GraphForm } from "../../parts/form.tsx";
import { Section } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { JobView } from "../jobs/job-view.tsx";
import { clientOfKey } from "./playground-client.ts";

const SUBMIT = graphql(`
  mutation SubmitJob($input: SubmitImageJobInput!) {
    submitImageJob(input: $input) { imageJob { jobId } userErrors { field message } }
  }
`);
const schema = z.object({
  model: z.string().min(1),
  prompt: z.string().trim().min(1, "What the image shows."),
});

/** Generates images as a job, which is shown while it runs. */
export function Images({ apiKey, models }: { apiKey: string; models: readonly string[] }) {
  const [job, setJob] = useState<string>();
  return (
    <Section title="Image">
      {models.length === 0 ? (
        <EmptyState title="No provider generates images at the moment." />
      ) : (
        <GraphForm
          label="Generate"
          schema={schema}
          defaultValues={{ model: models[0] ?? "", prompt: "" }}
          send={async (input) => {
            const { submitImageJob } = await clientOfKey(apiKey).mutate(SUBMIT, { input });
            setJob(resultOf(submitImageJob).imageJob?.jobId);
          }}
        >
          <SelectField
            label="Model"
            name="model"
            options={Object.fromEntries(models.map((id) => [id, id]))}
          />
          <LongTextField label="Prompt" name="prompt" required rows={2} />
        </GraphForm>
      )}
      {job && <JobView key={job} id={job} />}
    </Section>
  );
}

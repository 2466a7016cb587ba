import { useParams } from "@tanstack/react-router";
import { Hash } from "../../parts/hash.tsx";
import { Page } from "../../parts/page.tsx";
import { JobView } from "./job-view.tsx";

/** One job with its steps and images. */
export function JobPage() {
  const { id } = useParams({ from: "/jobs/$id" });
  return (
    <Page title="Job" about={<Hash of={id} isWhole withCopy />}>
      <JobView key={id} id={id} />
    </Page>
  );
}

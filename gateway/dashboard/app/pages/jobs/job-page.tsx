import { useParams } from "@tanstack/react-router";
import { Breadcrumb } from "../../parts/page/breadcrumb.tsx";
import { Page } from "../../parts/page/page.tsx";
import { JobView } from "./job-view.tsx";

/** One job with its steps and images. */
export function JobPage() {
  const { id } = useParams({ from: "/jobs/$id" });
  return (
    <Page title="Job" above={<Breadcrumb list="Jobs" to="/jobs" id={id} />}>
      <JobView key={id} id={id} />
    </Page>
  );
}

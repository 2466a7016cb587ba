import Download from "lucide-react/icons/download";

/** Where the content of a file is; the browser saves it as it arrives, without holding it in memory. */
export function contentUrl(id: string): string {
  return `/v1/files/${encodeURIComponent(id)}/content`;
}

/** A link that downloads a file of a batch; without one, why there is none. */
export function FileLink({ id, name, none }: { id: string | null; name: string; none?: string }) {
  if (id === null) return <span className="quiet">{none}</span>;
  return (
    <a href={contentUrl(id)} download className="file-link">
      <Download size={14} aria-hidden="true" /> {name}
    </a>
  );
}

import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** The tabs of the playground by types of service; it has none for those that edit images. */
const TABS: Readonly<Record<string, string>> = {
  CHATBOT: "chat",
  TEXT_TO_IMAGE: "images",
  SPEECH_TO_TEXT: "transcription",
  TEXT_TO_SPEECH: "speech",
  EMBEDDING: "embeddings",
  RERANK: "rankings",
};

/** Opens the playground with a model; nothing for one that it cannot try. */
export function TryLink({ model }: { model: { modelId: string; name: string; serviceType: string } }) {
  const { modelId, name, serviceType } = model;
  const tab = TABS[serviceType];
  if (tab === undefined) return null;
  const search = { tab, model: modelId };
  return (
    <Button
      size="compact-sm"
      variant="default"
      renderRoot={(props) => (
        <Link to="/playground" search={search as never} {...props} aria-label={`Try ${name}`} />
      )}
    >
      Try
    </Button>
  );
}

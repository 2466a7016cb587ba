/** A pattern of stripes for an SVG, of the class `hatch`, so that a bad cell differs by more than its colour. */
export function Hatch({ id }: { id: string }) {
  return (
    <defs>
      <pattern id={id} className="hatch" width="4" height="4" patternUnits="userSpaceOnUse">
        <path d="M-1 1 1 -1M0 4 4 0M3 5 5 3" />
      </pattern>
    </defs>
  );
}

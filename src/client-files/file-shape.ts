/** The bytes of each part of an uploaded file, before encryption, except the last one. */
export const PART_BYTES = 262_144;

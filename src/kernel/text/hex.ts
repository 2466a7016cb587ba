/** `0x` and an even number of hexadecimal digits: the chain's format for bytes. */
export type Hex = `0x${string}`;

/** Whether `text` is an address in any letter case, `0x` and 40 hexadecimal digits. */
export function isAddress(text: string): text is Hex {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

/** Whether `text` is a 32-byte hash, `0x` and 64 hexadecimal digits. */
export function isHash32(text: string): text is Hex {
  return /^0x[0-9a-fA-F]{64}$/.test(text);
}

/** The canonical form in which hex is stored and compared: lower case. */
export function lowerHex(hex: string): Hex {
  return hex.toLowerCase() as Hex;
}

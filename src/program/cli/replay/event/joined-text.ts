/** Joins texts to one text that can be taken apart again. */

/** With its length, because a text may contain any character. */
export function joinedPart(text: string): string {
  return `${text.length}:${text}`;
}

/** The texts that were joined, each after its length. */
export function partsOf(key: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < key.length;) {
    const colon = key.indexOf(':', at);
    const end = colon + 1 + Number(key.slice(at, colon));
    parts.push(key.slice(colon + 1, end));
    at = end;
  }
  return parts;
}

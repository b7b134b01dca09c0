/** Descriptors as text, as `weir explain --descriptor` reads them: `key=value,key=value`, with %2C for a comma in a value. */

export interface Entry {
  readonly key: string;
  readonly value: string;
}

export class DescriptorTextError extends Error {
  override readonly name = 'DescriptorTextError';
}

/** @throws DescriptorTextError */
export function readDescriptor(text: string): Entry[] {
  return text.split(',').map((part) => {
    const at = part.indexOf('=');
    const key = decode(at < 0 ? part : part.slice(0, at)).trim();
    if (key === '') throw new DescriptorTextError(`"${text}": an entry has no key; write key=value,key=value`);
    return { key, value: at < 0 ? '' : decode(part.slice(at + 1)) };
  });
}

export function writeDescriptor(entries: readonly Entry[]): string {
  return entries.map(({ key, value }) => `${encode(key)}=${encode(value)}`).join(',');
}

/** Without escapes, for people. */
export function showDescriptor(entries: readonly { readonly key: string; readonly value?: string }[]): string {
  return entries.map(({ key, value }) => (value === undefined ? `${key}=*` : `${key}=${value}`)).join(', ');
}

function encode(text: string): string {
  return text.replace(/[%,\n\r]/g, (found) => encodeURIComponent(found));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DescriptorTextError(`"${text}": a % is not followed by two hexadecimal digits; write %25 for a percent sign`);
  }
}

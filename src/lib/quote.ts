/** Formats texts of a configuration or a setting for messages. */

const SHOWN_MAX = 60;

/** Quotes the text, on one line and shortened. */
export function show(text: string): string {
  return JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text);
}

/** A field below a path: `descriptors[0]` and `key` make `descriptors[0].key`. */
export function joinPath(path: string, field: string): string {
  const shown = /^(?:[\w-]{1,60}|<<)$/.test(field) ? field : show(field);
  return path === '' ? shown : `${path}.${shown}`;
}

/** Fills in the placeholders of a body, each escaped for its kind. */

import { jsonText } from '../../rule/body/json-text';
import type { Placeholder } from '../../rule/body/placeholders';
import type { BodyContent } from '../../rule/body/response-body';
import type { Template } from '../../rule/body/template';

export type Value = string | number | boolean | readonly string[];

export interface PlaceholderValues {
  /** Undefined: it has none in this answer. */
  of(placeholder: Placeholder): Value | undefined;
}

/** The text for a value that is absent, as in Envoy's access log. */
const ABSENT = '-';

export function fillIn(content: BodyContent, values: PlaceholderValues): string {
  if ('text' in content) return fillText(content.text, values);
  let json = '';
  for (const part of content.json) json += typeof part === 'string' ? part : fillJson(part, values);
  return json;
}

/** A string that is one placeholder becomes its value: a number stays a number, and an absent value is null. */
function fillJson(template: Template, values: PlaceholderValues): string {
  return jsonText(template.only === undefined ? fillText(template, values) : (values.of(template.only) ?? null));
}

/** A text about a wait that does not help would be wrong, so the reason replaces all of it. */
function fillText({ pieces, saysWait }: Template, values: PlaceholderValues): string {
  if (saysWait && values.of({ name: 'retry_after_s' }) === undefined) return oneLine(values.of({ name: 'detail' }));
  let text = '';
  for (const piece of pieces) text += typeof piece === 'string' ? piece : oneLine(values.of(piece));
  return text;
}

/** Values bring no lines of their own. */
function oneLine(value: Value | undefined): string {
  if (value === undefined) return ABSENT;
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, '?');
}

/** The body of denied responses as configured: none, a text, or JSON, with placeholders to fill in. */

import { jsonText } from './json-text';
import { bytesMaxOf } from './placeholders';
import { isTemplateProblem, parseTemplate, type Template } from './template';

/** Most bytes of a body, whatever fills its placeholders. */
export const BODY_BYTES_MAX = 16 * 1024;

/** Levels of maps and lists in JSON. */
export const BODY_DEPTH_MAX = 16;

/** Words for a body that needs no template. */
export const BODY_WORDS = ['off', 'problem'] as const;

export type BodyWord = (typeof BODY_WORDS)[number];

/** JSON whose strings are templates. */
export type BodyJson = string | number | boolean | null | readonly BodyJson[] | { readonly [name: string]: BodyJson };

/** Fixed JSON, and strings to fill in. */
export type JsonParts = readonly (string | Template)[];

/** The body that is sent: the text, or the JSON. */
export type BodyContent = { readonly text: Template } | { readonly json: JsonParts };

export interface ResponseBody {
  /** As written in the configuration: a word, or the kind of its template. */
  readonly kind: BodyWord | 'text' | 'json';
  readonly contentType: string;
  readonly content: BodyContent;
  /** Instead of `content`, if no wait helps. */
  readonly neverFits?: BodyContent;
}

/** Not even the charset may be guessed: a browser must not see HTML in the values of a caller. */
export const TEXT_TYPE = 'text/plain; charset=utf-8';
export const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

/** No body. */
export const NO_BODY: ResponseBody = { kind: 'off', contentType: TEXT_TYPE, content: { json: [] } };

/** The problem type of draft-ietf-httpapi-ratelimit-headers, in the form of RFC 9457. */
const QUOTA_EXCEEDED = {
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
  status: 429,
  detail: '{detail}',
  'violated-policies': '{violated_policies}',
};

export const PROBLEM: ResponseBody = {
  kind: 'problem',
  contentType: PROBLEM_TYPE,
  content: { json: toJsonParts({ ...QUOTA_EXCEEDED, 'retry-after': '{retry_after_s}' }) },
  neverFits: { json: toJsonParts({ ...QUOTA_EXCEEDED, 'never-fits': true, 'most-at-once': '{most_at_once}' }) },
};

export function bodyOfWord(word: BodyWord): ResponseBody {
  return word === 'off' ? NO_BODY : PROBLEM;
}

/** The parts of JSON whose strings are templates without problems. */
export function toJsonParts(json: BodyJson): JsonParts {
  const parts: (string | Template)[] = [];
  const add = (part: string | Template): void => {
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
    else parts.push(part);
  };
  addJson(json, add);
  return parts;
}

function addJson(json: BodyJson, add: (part: string | Template) => void): void {
  if (typeof json === 'string') {
    const template = parseTemplate(json);
    add(isTemplateProblem(template) ? jsonText(json) : (fixedJson(template) ?? template));
  } else if (typeof json !== 'object' || json === null) {
    add(jsonText(json));
  } else if (isList(json)) {
    json.forEach((item, index) => {
      add(index === 0 ? '[' : ',');
      addJson(item, add);
    });
    add(json.length === 0 ? '[]' : ']');
  } else {
    const fields = Object.entries(json);
    fields.forEach(([name, value], index) => {
      add(`${index === 0 ? '{' : ','}${jsonText(name)}:`);
      addJson(value, add);
    });
    add(fields.length === 0 ? '{}' : '}');
  }
}

/** The JSON of a text without placeholders. */
function fixedJson({ pieces }: Template): string | undefined {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'object') return undefined;
    text += piece;
  }
  return jsonText(text);
}

function isList(json: BodyJson): json is readonly BodyJson[] {
  return Array.isArray(json);
}

/** Most bytes that the content may have when it is filled in. */
export function contentBytesMax(content: BodyContent): number {
  const parts = 'text' in content ? [content.text] : content.json;
  let bytes = 0;
  for (const part of parts) {
    if (typeof part === 'string') bytes += Buffer.byteLength(part);
    else bytes += templateBytesMax(part, { isJson: 'json' in content });
  }
  return bytes;
}

/** In JSON the fixed text is escaped and quoted, or replaced by `{detail}`. */
function templateBytesMax({ pieces, saysWait }: Template, { isJson }: { readonly isJson: boolean }): number {
  let bytes = 2;
  for (const piece of pieces) {
    if (typeof piece === 'object') bytes += bytesMaxOf(piece);
    else bytes += Buffer.byteLength(isJson ? jsonText(piece) : piece);
  }
  return saysWait ? Math.max(bytes, bytesMaxOf({ name: 'detail' }) + 2) : bytes;
}

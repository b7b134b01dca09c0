/** The fields of `response_body`, and the type of the field itself: a word, or a map of them. */

import { joinPath } from '../../../lib/quote';
import { bodyOfWord, BODY_WORDS, JSON_TYPE, TEXT_TYPE, type BodyContent, type ResponseBody } from '../../../domain/rule/body/response-body';
import { bodyJson, bodyNeverFits, bodyText, jsonContentType } from '../field-types/body-types';
import { defineLevel, type Field, type FieldReader, type FieldType, type ValuesOf } from '../field-types/field';
import { oneOf } from '../field-types/scalar-types';
import { isNull, type MapNode } from '../../yaml/config-node';

const field = <T>(row: Field<T>): Field<T> => row;

const NEITHER = 'has neither text nor json; give it one of them';
const NO_TYPE = `has no effect on text, which is always ${TEXT_TYPE}; use json, or remove it`;
const OTHER_KIND = { text: 'must be text, as text beside it', json: 'must be a map, as json beside it' };

const FIELDS = {
  text: field({
    name: 'text',
    type: bodyText(),
    of: 'Weir',
    unset: '`json`',
    meaning: `The body as text, sent as \`${TEXT_TYPE}\`.`,
    example: '"Too many requests. Retry in {retry_after_s} s."',
  }),
  json: field({
    name: 'json',
    type: bodyJson(),
    of: 'Weir',
    unset: '`text`',
    meaning: 'The body as JSON. A text that is one placeholder becomes its value: a number stays a number.',
    example: '{ error: rate_limited, retry_after_s: "{retry_after_s}" }',
    mistakes: [
      { write: 'text: a, json: {}', says: 'conflicts with text; remove one of them' },
      { write: 'json: ~, text: ~', says: NEITHER },
    ],
  }),
  contentType: field({
    name: 'content_type',
    type: jsonContentType(),
    of: 'Weir',
    unset: `\`${JSON_TYPE}\``,
    meaning: 'Media type of the `json`.',
    example: 'application/vnd.shop+json',
    beside: 'json: {}',
    mistakes: [{ write: `text: a, content_type: ${JSON_TYPE}`, says: NO_TYPE }],
  }),
  neverFits: field({
    name: 'never_fits',
    type: bodyNeverFits(),
    of: 'Weir',
    unset: 'the same body, with `{detail}` for each text that says how long to wait',
    meaning: 'The body if no wait helps: more hits than the limit ever holds, a limit of 0, or a block without an end.',
    example: '"At most {most_at_once} at once."',
    mistakes: [
      { write: 'text: a, never_fits: { a: b }', says: OTHER_KIND.text },
      { write: 'json: {}, never_fits: a', says: OTHER_KIND.json },
    ],
  }),
};

const NOT_NULL = { not: { type: 'null' } };
const IS_TEXT = {
  required: ['text'],
  properties: { text: NOT_NULL, json: { type: 'null' }, content_type: { type: 'null' }, never_fits: { not: { type: 'object' } } },
};
const IS_JSON = {
  required: ['json'],
  properties: { json: NOT_NULL, text: { type: 'null' }, never_fits: { type: ['object', 'null'] } },
};

export const RESPONSE_BODY = defineLevel({
  name: 'response_body',
  title: 'response_body',
  home: 'inside response_body',
  meaning: 'The field `response_body` of a file, of a limit, or of `in_flight`, if it is a map ([headers.md](headers.md#bodies)).',
  fields: FIELDS,
  conditions: { oneOf: [IS_TEXT, IS_JSON] },
  least: { text: 'a' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, response_body: ${map} } }] }`,
});

type BodyFields = ValuesOf<typeof FIELDS>;

/** A word, or a map of the fields above. */
export function responseBody(): FieldType<ResponseBody> {
  const word = oneOf({ names: BODY_WORDS, what: 'body', misspelled: ['problm', 'problem'] });
  return {
    accepts: `${word.accepts}, or a map: [${RESPONSE_BODY.name}](#${RESPONSE_BODY.name})`,
    schema: { anyOf: [...(word.schema.anyOf as readonly []), { $ref: `#/$defs/${RESPONSE_BODY.name}` }] },
    mistakes: word.mistakes,
    read(node, at, name) {
      if (node.kind !== 'map') {
        const chosen = word.read(node, at, name);
        return chosen && bodyOfWord(chosen);
      }
      const path = joinPath(at.path, name);
      const fields = at.readMap(node, { level: RESPONSE_BODY, path });
      return fields && toBody(fields, { node, at, path });
    },
  };
}

interface Place {
  readonly node: MapNode;
  readonly at: FieldReader;
  readonly path: string;
}

function toBody(fields: BodyFields, { node, at, path }: Place): ResponseBody | undefined {
  const fault = faultOf(fields, node);
  if (fault !== undefined) {
    at.problems.report({
      offset: fault.offset,
      path: fault.name === undefined ? path : joinPath(path, fault.name),
      message: fault.message,
    });
    return undefined;
  }
  const { text, json, contentType, neverFits } = fields;
  const content = (json ?? text)?.value;
  // A field that is unusable is reported already.
  if (content === undefined) return undefined;
  const kind = kindOf(content);
  const ofKind = kind === 'text' ? TEXT_TYPE : JSON_TYPE;
  const body = { kind, contentType: contentType?.value ?? ofKind, content } as const;
  return neverFits === undefined ? body : { ...body, neverFits: neverFits.value };
}

interface Fault {
  /** Absent: the whole map. */
  readonly name?: string;
  readonly offset: number;
  readonly message: string;
}

/** Why fields that are good by themselves are not, together. */
function faultOf({ text, json, contentType, neverFits }: BodyFields, node: MapNode): Fault | undefined {
  if (json !== undefined && text !== undefined) {
    return { name: 'json', offset: json.offset, message: 'conflicts with text; remove one of them' };
  }
  const content = (json ?? text)?.value;
  if (content === undefined) return gives(node, 'text') || gives(node, 'json') ? undefined : { offset: node.offset, message: NEITHER };
  const kind = kindOf(content);
  if (contentType !== undefined && kind === 'text') return { name: 'content_type', offset: contentType.offset, message: NO_TYPE };
  if (neverFits === undefined || kindOf(neverFits.value) === kind) return undefined;
  return { name: 'never_fits', offset: neverFits.offset, message: OTHER_KIND[kind] };
}

function kindOf(content: BodyContent): 'text' | 'json' {
  return 'text' in content ? 'text' : 'json';
}

function gives({ fields }: MapNode, name: string): boolean {
  const node = fields.get(name)?.value;
  return node !== undefined && !isNull(node);
}

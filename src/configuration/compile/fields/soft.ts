/** The fields of an item of `soft`: a part of a limit from which on requests pass with headers that say so. */

import { WHOLE_AT, type SoftHeader, type SoftLine } from '../../../domain/rule/soft/soft-line';
import { show } from '../../../lib/quote';
import { defineLevel, type Field, type FieldType, type ValuesOf } from '../field-types/field';
import { percentText, readText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const HEADERS_MAX = 8;
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const VALUE = /^[!-~](?:[ -~]{0,254}[!-~])?$/;

/** Envoy and HTTP decide by these, or forbid them. */
const RESERVED =
  /^(?:host|connection|content-length|content-type|transfer-encoding|te|trailer|upgrade|keep-alive|expect|content-encoding|(?:proxy-)?authorization|cookie|set-cookie|forwarded|x-forwarded-.*|x-envoy-.*)$/;

/** A map of header names in small letters to values of printable ASCII. */
function headers(): FieldType<readonly SoftHeader[]> {
  return {
    accepts: `a map of at most ${HEADERS_MAX} names of headers to values`,
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: HEADERS_MAX,
      propertyNames: { pattern: NAME.source },
      additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: 256 },
    },
    mistakes: [
      { write: '[a]', says: 'must be a map of names of headers to values, not a list' },
      { write: '{ X_Tier: economy }', says: '"X_Tier" is not a name of a header; use small letters, digits and -' },
      {
        write: '{ host: a }',
        says: '"host" is a header that HTTP or Envoy decides by; use one of your own',
        unseen: 'a schema has no list of them',
      },
      {
        write: '{ x-tier: "é" }',
        says: 'the value of "x-tier" must have 1 to 256 printable ASCII characters',
        unseen: 'a schema compares no bytes',
      },
    ],
    read(node, at, name) {
      if (node.kind !== 'map') {
        at.refuse(node, name, `must be a map of names of headers to values, not a ${node.kind}`);
        return undefined;
      }
      const made: SoftHeader[] = [];
      for (const [header, { value }] of node.fields) {
        const text = readText(value, at, name);
        const fault = text === undefined ? undefined : faultOf(header, text);
        if (fault !== undefined) at.refuse(value, name, fault);
        else if (text !== undefined) made.push({ name: header, value: text });
        if (made.length > HEADERS_MAX) break;
      }
      if (node.fields.size > HEADERS_MAX) at.refuse(node, name, `has ${node.fields.size} headers; use at most ${HEADERS_MAX}`);
      else if (node.fields.size === 0) at.refuse(node, name, 'is empty; name at least one header, or remove it');
      else if (made.length === node.fields.size) return made;
      return undefined;
    },
  };
}

function faultOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return `${show(name)} is not a name of a header; use small letters, digits and -`;
  if (RESERVED.test(name)) return `${show(name)} is a header that HTTP or Envoy decides by; use one of your own`;
  return VALUE.test(value) ? undefined : `the value of ${show(name)} must have 1 to 256 printable ASCII characters`;
}

const FIELDS = {
  at: field({
    name: 'at',
    type: percentText(),
    of: 'Weir',
    required: 'set the used share of the limit, such as 80%',
    meaning: 'Used share of the limit (of its burst, if it has one) from which on the line is passed.',
    example: '80%',
    mistakes: [{ write: 'at: ~', says: 'is missing; set the used share of the limit, such as 80%' }],
  }),
  requestHeaders: field({
    name: 'request_headers',
    type: headers(),
    of: 'Weir',
    unset: 'none',
    meaning: 'Headers that the backend gets.',
    example: '{ x-tier: economy }',
  }),
  responseHeaders: field({
    name: 'response_headers',
    type: headers(),
    of: 'Weir',
    unset: 'none',
    meaning: 'Headers that the client gets.',
    example: '{ x-limit-warning: 80% used }',
  }),
};

export const SOFT = defineLevel({
  name: 'soft',
  title: 'an item of soft',
  home: 'inside an item of soft',
  meaning: 'An item of `soft` of a limit ([headers.md](headers.md#soft-lines)).',
  fields: FIELDS,
  least: { at: '80%' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, soft: [${map}] } }] }`,
});

/** The lines in ascending order; those without a readable share are left out. */
export function softLinesOf(items: readonly { readonly fields: ValuesOf<typeof FIELDS> }[]): readonly SoftLine[] {
  return items
    .flatMap(({ fields: { at, requestHeaders, responseHeaders } }) =>
      at === undefined
        ? []
        : [
            {
              at: Math.round(at.value * WHOLE_AT),
              requestHeaders: requestHeaders?.value ?? [],
              responseHeaders: responseHeaders?.value ?? [],
            },
          ],
    )
    .sort((one, other) => one.at - other.at);
}

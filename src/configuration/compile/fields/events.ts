/** The fields of `events` of a limit: used shares that are sent to a receiver. */

import { WHOLE_AT } from '../../../domain/rule/soft/soft-line';
import type { EventLine } from '../../../domain/rule/soft/event-line';
import { show } from '../../../lib/quote';
import { readPercentText } from '../../../lib/value-texts';
import { defineLevel, type Field, type FieldType, type ValuesOf } from '../field-types/field';
import { firstItems } from '../field-types/nested-types';
import { kindOf, readText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

/** Lines of one limit: each may have an event of each bucket in each window. */
const LINES_MAX = 8;

/** A list of used shares, each once, in any order. */
function percentList(): FieldType<readonly number[]> {
  return {
    accepts: `a list of 1 to ${LINES_MAX} percentages over \`0%\` and at most \`100%\``,
    schema: {
      type: 'array',
      items: { type: 'string', pattern: '^(?=.*[1-9])\\d{1,3}(\\.\\d{1,4})?%$' },
      minItems: 1,
      maxItems: LINES_MAX,
      uniqueItems: true,
    },
    mistakes: [
      { write: '80%', says: 'must be a list, not text; write [80%]' },
      { write: '[80]', says: '"80" is not accepted; use a percentage over 0% and at most 100%, such as 80%' },
      { write: '[80%, 80%]', says: 'names 80% twice; remove one' },
      { write: '[]', says: 'is empty; name at least one share, or remove it' },
    ],
    read(node, at, name) {
      if (node.kind !== 'list') {
        const advice = node.kind === 'scalar' ? `; write [${node.text}]` : '';
        at.refuse(node, name, `must be a list, not ${kindOf(node)}${advice}`);
        return undefined;
      }
      const lines: number[] = [];
      for (const item of firstItems(node, LINES_MAX)) {
        const text = readText(item, at, name);
        if (text === undefined) return undefined;
        const share = readPercentText(text);
        const line = share === undefined ? 0 : Math.round(share * WHOLE_AT);
        const fault =
          share === undefined
            ? `${show(text)} is not accepted; use a percentage over 0% and at most 100%, such as 80%`
            : lines.includes(line)
              ? `names ${text} twice; remove one`
              : undefined;
        if (fault !== undefined) {
          at.refuse(item, name, fault);
          return undefined;
        }
        lines.push(line);
      }
      if (node.length > LINES_MAX) at.refuse(node, name, `has ${node.length} shares; use at most ${LINES_MAX}`);
      else if (lines.length === 0) at.refuse(node, name, 'is empty; name at least one share, or remove it');
      else return lines.sort((one, other) => one - other);
      return undefined;
    },
  };
}

const FIELDS = {
  at: field({
    name: 'at',
    type: percentList(),
    of: 'Weir',
    required: 'list used shares of the limit, such as [80%, 100%]',
    meaning: 'Used shares of the limit, as `at` of `soft`.',
    example: '[50%, 80%, 100%]',
    mistakes: [{ write: 'at: ~', says: 'is missing; list used shares of the limit, such as [80%, 100%]' }],
  }),
};

export const EVENTS = defineLevel({
  name: 'events',
  title: 'events',
  home: 'inside events',
  meaning: 'The field `events` of a limit ([events.md](events.md)).',
  fields: FIELDS,
  least: { at: '[80%]' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, events: ${map} } }] }`,
});

/** Undefined: the shares are unreadable. */
export function eventLinesOf({ at }: ValuesOf<typeof FIELDS>): readonly EventLine[] | undefined {
  return at?.value.map((line) => ({ at: line }));
}

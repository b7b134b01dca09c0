/** JSON that is too deep or too large is rejected before it is parsed, in any chunks. */

import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../../../src/domain/descriptor/descriptor-bounds';
import { parseRequest } from '../../../../src/server/transport/messages/json';
import { JSON_DEPTH_MAX, JSON_ITEMS_MAX, JsonScan } from '../../../../src/server/transport/http/json-scan';
import { toRequest } from '../../../../src/server/transport/messages/request';
import { randomFrom, seeded } from '../../../support/random/random';

function refusalOf(text: string, chunkBytes = Infinity): string | undefined {
  const scan = new JsonScan();
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    const wrong = scan.push(bytes.subarray(from, from + chunkBytes));
    if (wrong !== undefined) return wrong.message;
  }
  return undefined;
}

const FIELDS = '"limit":{"requestsPerUnit":1,"unit":"DAY","unitMultiplier":1},"hitsAddend":"1","isNegativeHits":false';

/** As large as a request may be. */
function largest(): string {
  const entries = Array.from({ length: ENTRIES_MAX }, () => '{"key":"k","value":"v"}').join(',');
  return `{"domain":"d","hitsAddend":1,"descriptors":[${Array.from({ length: DESCRIPTORS_MAX }, () => `{"entries":[${entries}],${FIELDS}}`).join(',')}]}`;
}

test('a request of the maximum size is accepted', () => {
  expect(refusalOf(largest())).toBeUndefined();
  expect(toRequest(parseRequest(Buffer.from(largest()))).descriptors).toHaveLength(DESCRIPTORS_MAX);
});

test.each([
  ['lists within one another', '['.repeat(JSON_DEPTH_MAX + 1), /nests lists and objects more than 16 deep/],
  ['objects within one another', '{"a":'.repeat(JSON_DEPTH_MAX + 1), /nests lists and objects more than 16 deep/],
  ['a long list', `{"descriptors":[${'{},'.repeat(JSON_ITEMS_MAX)}`, /has over 1024 items/],
  ['an object of many fields', `{${'"a":1,'.repeat(JSON_ITEMS_MAX)}`, /has over 1024 items/],
  ['values without a list', '1,'.repeat(JSON_ITEMS_MAX), /has over 1024 items/],
  ['many lists of few', `[${`[${'[],'.repeat(500)}1],`.repeat(500)}`, /has more fields and items than 128 descriptors of 64 entries each/],
])('%s are rejected', (_what, text, message) => {
  expect(refusalOf(text)).toMatch(message);
  expect(refusalOf(text, 1)).toMatch(message);
});

test('the contents of a string do not count', () => {
  const marks = '[{,:'.repeat(5_000);
  for (const text of [marks, `\\"${marks}`, `${marks}\\\\`, `${'x'.repeat(100)}\\"${marks}`]) {
    for (const chunkBytes of [Infinity, 1, 7, 64]) expect(refusalOf(`{"domain":"${text}"}`, chunkBytes)).toBeUndefined();
    expect(refusalOf(`{"domain":"${text}",${'['.repeat(20)}`)).toMatch(/deep/);
  }
});

test('the verdict on JSON is the same for any chunks', () => {
  const { numRuns, seed } = seeded(2_000);
  const random = randomFrom({ seed });
  const pieces = ['[', ']', '{', '}', ',', ':', '"', '\\', '\\"', '\\\\', 'x'.repeat(40), 'é', ' ', '1', '[[[[[[', '"[[[[[["'];
  for (let i = 0; i < numRuns; i += 1) {
    const text = Array.from({ length: 60 }, () => pieces[random(pieces.length)]).join('');
    const whole = refusalOf(text);
    expect([text, refusalOf(text, 1 + random(50))]).toEqual([text, whole]);
  }
});

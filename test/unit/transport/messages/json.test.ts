/** `/json` reads what protojson allows, and names the path of each error. */

import { BadRequestError } from '../../../../src/lib/errors';
import { parseRequest } from '../../../../src/server/transport/messages/json';
import { formatResponse } from '../../../../src/server/transport/messages/response';
import type { WireRequest, WireResponse } from '../../../../src/server/transport/messages/wire';

function parse(text: string): WireRequest {
  return parseRequest(Buffer.from(text));
}

describe('parseRequest', () => {
  it.each<[string, string, WireRequest]>([
    ['camelCase', '{"domain":"d","hitsAddend":2}', { domain: 'd', hits_addend: 2 }],
    ['snake_case', '{"domain":"d","hits_addend":2}', { domain: 'd', hits_addend: 2 }],
    ['a number as a string', '{"hitsAddend":"4294967295"}', { hits_addend: 4294967295 }],
    ['null as absent', '{"domain":null,"descriptors":null}', {}],
    ['hits of a descriptor as a number', '{"descriptors":[{"hitsAddend":0}]}', { descriptors: [{ hits_addend: { value: '0' } }] }],
    [
      'hits of a descriptor as a string',
      '{"descriptors":[{"hits_addend":"18446744073709551615","isNegativeHits":true}]}',
      { descriptors: [{ hits_addend: { value: '18446744073709551615' }, is_negative_hits: true }] },
    ],
    [
      'the largest hits as a number',
      '{"descriptors":[{"hitsAddend":18446744073709551615}]}',
      { descriptors: [{ hits_addend: { value: '18446744073709551615' } }] },
    ],
    [
      'a unit by name',
      '{"descriptors":[{"limit":{"requestsPerUnit":1,"unit":"WEEK","unitMultiplier":2}}]}',
      { descriptors: [{ limit: { requests_per_unit: 1, unit: 7, unit_multiplier: { value: 2 } } }] },
    ],
    ['a unit by number', '{"descriptors":[{"limit":{"unit":99}}]}', { descriptors: [{ limit: { unit: 99 } }] }],
    [
      'text as UTF-8 bytes',
      '{"domain":"é","descriptors":[{"entries":[{"key":"\\u0000","value":"\\ud83d\\ude00"}]}]}',
      { domain: '\xc3\xa9', descriptors: [{ entries: [{ key: '\0', value: '\xf0\x9f\x98\x80' }] }] },
    ],
    [
      'a whole number however JSON writes it, as a string too',
      '{"hitsAddend":"1e1","descriptors":[{"hitsAddend":"20.0"},{"hitsAddend":30e-1}]}',
      { hits_addend: 10, descriptors: [{ hits_addend: { value: '20' } }, { hits_addend: { value: '3' } }] },
    ],
  ])('parseRequest accepts %s', (_name, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  it.each<readonly [string, string]>([
    ['[]', 'the body must be an object'],
    ['{"domain":1}', 'domain must be a string'],
    ['{"nope":1}', 'nope is not a known field; remove it'],
    ['{"__proto__":{"domain":"d"}}', '__proto__ is not a known field; remove it'],
    ['{"hitsAddend":1,"hits_addend":1}', 'hits_addend is given twice; remove one'],
    ['{"hitsAddend":4294967296}', 'hitsAddend must be a whole number from 0 to 4294967295'],
    ['{"hitsAddend":-1}', 'hitsAddend must be a whole number from 0 to 4294967295'],
    ['{"hitsAddend":1.5}', 'hitsAddend must be a whole number from 0 to 4294967295'],
    ['{"hitsAddend":"x"}', 'hitsAddend must be a whole number from 0 to 4294967295'],
    ...['01', '+1', '0x1', ' 1', '', '1e-1', '-1', '1e400', '1e', `1.${'0'.repeat(63)}`].map(
      (text) => [`{"hitsAddend":"${text}"}`, 'hitsAddend must be a whole number from 0 to 4294967295'] as const,
    ),
    ['{"domain":"d\\ud800"}', 'domain must be a string without halves of surrogate pairs'],
    [
      '{"descriptors":[{"entries":[{"value":"\\udc00\\ud800"}]}]}',
      'descriptors[0].entries[0].value must be a string without halves of surrogate pairs',
    ],
    [
      '\ufeff{}',
      'the body is not JSON in UTF-8; post a RateLimitRequest, such as {"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}',
    ],
    ['{"descriptors":{}}', 'descriptors must be a list'],
    ['{"descriptors":[null]}', 'descriptors[0] must be an object'],
    ['{"descriptors":[{},{"entries":[{"keys":"k"}]}]}', 'descriptors[1].entries[0].keys is not a known field; did you mean key?'],
    ['{"descriptors":[{"isNegativeHits":"true"}]}', 'descriptors[0].isNegativeHits must be true or false'],
    [
      '{"descriptors":[{"hitsAddend":"18446744073709551616"}]}',
      'descriptors[0].hitsAddend must be a whole number from 0 to 18446744073709551615',
    ],
    [
      '{"descriptors":[{"limit":{"unit":"FORTNIGHT"}}]}',
      'descriptors[0].limit.unit must be SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR or its number',
    ],
  ])('parseRequest rejects %s', (text, message) => {
    expect(() => parse(text)).toThrow(new BadRequestError(message));
  });

  it('parseRequest rejects bytes that are not UTF-8, and JSON that is too deep', () => {
    expect(() => parseRequest(Buffer.from('{"domain":"\xff"}', 'latin1'))).toThrow(BadRequestError);
    expect(() => parse('['.repeat(500_000))).toThrow(BadRequestError);
  });
});

describe('formatResponse', () => {
  it.each<[string, WireResponse, string]>([
    [
      'defaults left out',
      { overall_code: 1, statuses: [{ code: 1, limit_remaining: 0 }] },
      '{"overallCode":"OK","statuses":[{"code":"OK"}]}',
    ],
    [
      'everything',
      {
        overall_code: 2,
        statuses: [
          {
            code: 2,
            current_limit: { requests_per_unit: 3, unit: 2, name: 'n', unit_multiplier: { value: 5 } },
            limit_remaining: 4294967295,
            duration_until_reset: { seconds: 57 },
          },
        ],
      },
      '{"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":3,"unit":"MINUTE","name":"n","unitMultiplier":5},"limitRemaining":4294967295,"durationUntilReset":"57s"}]}',
    ],
    [
      'a limit and a duration of zero',
      {
        overall_code: 2,
        statuses: [{ code: 2, current_limit: { requests_per_unit: 0, unit: 1 }, limit_remaining: 0, duration_until_reset: { seconds: 0 } }],
      },
      '{"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":{"unit":"SECOND"},"durationUntilReset":"0s"}]}',
    ],
    [
      'headers, body and metadata',
      {
        overall_code: 1,
        statuses: [],
        response_headers_to_add: [{ key: 'RateLimit', value: '"a";r=1' }],
        raw_body: Buffer.from('zu spät'),
        dynamic_metadata: {
          fields: {
            text: { stringValue: 't' },
            none: { nullValue: 0 },
            list: { listValue: { values: [{ numberValue: 0 }, { boolValue: false }] } },
            map: { structValue: { fields: {} } },
          },
        },
      },
      '{"overallCode":"OK","statuses":[],"responseHeadersToAdd":[{"key":"RateLimit","value":"\\"a\\";r=1"}],"rawBody":"enUgc3DDpHQ=","dynamicMetadata":{"text":"t","none":null,"list":[0,false],"map":{}}}',
    ],
  ])('formatResponse writes %s', (_name, response, text) => {
    expect(formatResponse(response)).toBe(text);
  });
});

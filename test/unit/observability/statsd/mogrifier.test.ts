/** A mogrifier's pattern has Go's syntax, and takes linear time. */

import { MogrifierError, Mogrifiers } from '../../../../src/server/observability/statsd/mogrifier';
import { cpuMs } from '../../../support/clock/cpu-time';

const NAME = 'ratelimit.service.rate_limit.mongo.user.total_hits';

function mogrifier({
  pattern,
  name = 'n',
  tags = {},
}: {
  readonly pattern: string;
  readonly name?: string;
  readonly tags?: Record<string, string>;
}) {
  return { variable: 'DOG_STATSD_MOGRIFIER_A_PATTERN', pattern, name, tags: new Map(Object.entries(tags)) };
}

test('groups of the pattern replace their numbers', () => {
  const pattern = String.raw`^ratelimit\.service\.rate_limit\.(?P<domain>.*)\.(.*)\.(.*)$`;
  const mogrifiers = new Mogrifiers([mogrifier({ pattern, name: 'rl.$3', tags: { domain: '$1', descriptor: '$2', all: '$0' } })]);
  expect(mogrifiers.of(NAME)).toEqual({ name: 'rl.total_hits', tags: ['domain:mongo', 'descriptor:user', `all:${NAME}`] });
});

test('the first matching mogrifier wins, and a name without one stays', () => {
  const mogrifiers = new Mogrifiers([
    mogrifier({ pattern: 'nothing' }),
    mogrifier({ pattern: '(?i)MONGO', name: 'b' }),
    mogrifier({ pattern: '.', name: 'c' }),
  ]);
  expect(mogrifiers.of(NAME).name).toBe('b');
  expect(mogrifiers.of('other').name).toBe('c');
  expect(new Mogrifiers([]).of(NAME)).toEqual({ name: NAME, tags: [] });
});

test('an unmatched group is empty', () => {
  expect(new Mogrifiers([mogrifier({ pattern: '(x)?rate', name: 'a$1b' })]).of(NAME).name).toBe('ab');
});

test.each(['(', '(?=lookahead)', String.raw`(a)\1`])('%s is rejected, with its variable', (pattern) => {
  expect(() => new Mogrifiers([mogrifier({ pattern })])).toThrow(MogrifierError);
  expect(() => new Mogrifiers([mogrifier({ pattern })])).toThrow('DOG_STATSD_MOGRIFIER_A_PATTERN: invalid regular expression in Go syntax');
});

test('an unknown group is rejected', () => {
  expect(() => new Mogrifiers([mogrifier({ pattern: '(a)', tags: { t: '$2' } })])).toThrow(
    'its pattern has 1 groups, so $2 does not exist',
  );
});

test('a pattern that backtracks exponentially elsewhere takes linear time', () => {
  const spentMs = cpuMs(() => {
    new Mogrifiers([mogrifier({ pattern: '^(a+)+$' })]).of(`${'a'.repeat(2_000)}!`);
  });
  expect(spentMs).toBeLessThan(2_000);
});

/** Mogrifiers: other names and tags, by patterns as Go writes them, in time that is linear in the name. */

import { MogrifierError, Mogrifiers } from '../../../src/observability/mogrifier';

const NAME = 'ratelimit.service.rate_limit.mongo.user.total_hits';

function mogrifier({ pattern, name = 'n', tags = {} }: { readonly pattern: string; readonly name?: string; readonly tags?: Record<string, string> }) {
  return { variable: 'DOG_STATSD_MOGRIFIER_A_PATTERN', pattern, name, tags: new Map(Object.entries(tags)) };
}

test('groups of the pattern stand where their numbers do', () => {
  const pattern = String.raw`^ratelimit\.service\.rate_limit\.(?P<domain>.*)\.(.*)\.(.*)$`;
  const mogrifiers = new Mogrifiers([mogrifier({ pattern, name: 'rl.$3', tags: { domain: '$1', descriptor: '$2', all: '$0' } })]);
  expect(mogrifiers.of(NAME)).toEqual({ name: 'rl.total_hits', tags: ['domain:mongo', 'descriptor:user', `all:${NAME}`] });
});

test('the first that is found wins, and without one a name stays', () => {
  const mogrifiers = new Mogrifiers([mogrifier({ pattern: 'nothing' }), mogrifier({ pattern: '(?i)MONGO', name: 'b' }), mogrifier({ pattern: '.', name: 'c' })]);
  expect(mogrifiers.of(NAME).name).toBe('b');
  expect(mogrifiers.of('other').name).toBe('c');
  expect(new Mogrifiers([]).of(NAME)).toEqual({ name: NAME, tags: [] });
});

test('a group that took no part is nothing', () => {
  expect(new Mogrifiers([mogrifier({ pattern: '(x)?rate', name: 'a$1b' })]).of(NAME).name).toBe('ab');
});

test.each(['(', '(?=lookahead)', String.raw`(a)\1`])('%s is refused, with the variable', (pattern) => {
  expect(() => new Mogrifiers([mogrifier({ pattern })])).toThrow(MogrifierError);
  expect(() => new Mogrifiers([mogrifier({ pattern })])).toThrow('DOG_STATSD_MOGRIFIER_A_PATTERN: it is no regular expression as Go writes them');
});

test('a group that is not there is refused', () => {
  expect(() => new Mogrifiers([mogrifier({ pattern: '(a)', tags: { t: '$2' } })])).toThrow('its pattern has 1 groups, but $2 is asked for');
});

test('a pattern that backtracks for ever elsewhere takes no time', () => {
  const startedMs = performance.now();
  new Mogrifiers([mogrifier({ pattern: '^(a+)+$' })]).of(`${'a'.repeat(2_000)}!`);
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});

/** Sets come in from anywhere: each is in force or refused whole, and who offered it learns which. */

import { compileConfig } from '../../../src/config/compile';
import type { ReadDocument } from '../../../src/config/config-document';
import type { ConfigNode } from '../../../src/config/config-node';
import { describeConfig } from '../../../src/config/describe-rules';
import { RulesInForce, type ConfigSet, type LoadOutcome } from '../../../src/config/rules-in-force';

const ok = (name: string): ConfigSet => ({ documents: [{ name: `${name}.yaml`, text: `domain: ${name}\n` }] });
const BAD: ConfigSet = { documents: [{ name: 'a.yaml', text: 'domain: ""\n' }, { name: 'b.yaml', text: 'domain: b\nx: 1\n' }] };

function makeRules(): RulesInForce {
  return new RulesInForce({
    compile: async ({ documents, problems = [] }, generation) => {
      await Promise.resolve();
      return compileConfig({ files: documents, problems, defaultAlgorithm: 'fixed_window', generation });
    },
  });
}

function errorOf(outcome: LoadOutcome): string[] {
  return 'error' in outcome ? outcome.error.message.split('\n') : [];
}

/** As a source builds it whose resources are messages. */
function node(value: unknown): ConfigNode {
  const placed = { offset: 0, size: 1 };
  if (Array.isArray(value)) return { kind: 'list', items: value.map(node), ...placed };
  if (typeof value === 'object' && value !== null) {
    return { kind: 'map', fields: new Map(Object.entries(value).map(([key, field]) => [key, { keyOffset: 0, value: node(field) }])), ...placed };
  }
  return { kind: 'scalar', text: String(value), plain: typeof value !== 'string', ...placed };
}

test('/rlconfig before any set says that there is none', async () => {
  const rules = makeRules();
  expect(describeConfig(rules)).toEqual(['# config: none yet']);
  await rules.offer(BAD);
  expect(describeConfig(rules)[0]).toBe('# config: none yet; what was loaded last is refused:');
  await rules.offer(ok('one'));
  expect(describeConfig(rules)).toEqual([]);
});

test('the first good set is generation 1, each further one the next; a bad one leaves the last good one', async () => {
  const rules = makeRules();
  expect([rules.ruleSet, rules.error]).toEqual([undefined, undefined]);
  expect(errorOf(await rules.offer(BAD))).toEqual(['a.yaml:1:9: domain: must not be empty', expect.stringMatching(/^b\.yaml:2:1: x: /) as unknown]);
  expect(rules.ruleSet).toBeUndefined();
  await rules.offer(ok('one'));
  expect([rules.ruleSet?.generation, rules.error]).toEqual([1, undefined]);
  await rules.offer(BAD);
  expect([rules.ruleSet?.generation, rules.error?.problems.length]).toEqual([1, 2]);
  await rules.offer(ok('two'));
  expect([rules.ruleSet?.generation, [...rules.ruleSet!.domains.keys()], rules.error]).toEqual([2, ['two'], undefined]);
});

test('sets are taken up in the order in which they come, and each gets its own answer', async () => {
  const rules = makeRules();
  const told: (number | string)[] = [];
  rules.onLoad((outcome) => told.push('ruleSet' in outcome ? outcome.ruleSet.generation : 'refused'));
  const outcomes = await Promise.all([rules.offer(ok('one')), rules.offer(BAD), rules.offer(ok('two'))]);
  expect(outcomes.map((outcome) => 'ruleSet' in outcome)).toEqual([true, false, true]);
  expect(told).toEqual([1, 'refused', 2]);
});

test('what never was text is taken too, and its problems are told by name and path', async () => {
  const rules = makeRules();
  const limit = { unit: 'hour', requests_per_unit: 7 };
  const document = (rateLimit: unknown): ReadDocument => ({ name: 'resource-1', root: node({ domain: 'd', descriptors: [{ key: 'k', rate_limit: rateLimit }] }) });
  expect(errorOf(await rules.offer({ documents: [document({ ...limit, unit: 'eon' })] }))).toEqual([
    expect.stringMatching(/^resource-1: descriptors\[0\]\.rate_limit\.unit: "eon" is no unit/) as unknown,
  ]);
  expect('ruleSet' in (await rules.offer({ documents: [document(limit)] }))).toBe(true);
});

test('what could not be got at all refuses the set, along with what is wrong with the rest', async () => {
  const rules = makeRules();
  const problems = [{ file: 'c.yaml', line: 0, column: 0, path: '', message: "can't be read" }];
  expect(errorOf(await rules.offer({ ...BAD, problems }))).toHaveLength(3);
  expect(errorOf(await rules.offer({ ...ok('d'), problems }))).toEqual(["c.yaml: can't be read"]);
});

test('a fault of ours is no refusal, and does not keep the next set from coming', async () => {
  let isBroken = true;
  const rules = new RulesInForce({
    compile: ({ documents }, generation) => {
      if (isBroken) return Promise.reject(new TypeError('broken'));
      return Promise.resolve(compileConfig({ files: documents, defaultAlgorithm: 'fixed_window', generation }));
    },
  });
  const broken = rules.offer(ok('one'));
  await expect(broken).rejects.toThrow('broken');
  isBroken = false;
  expect('ruleSet' in (await rules.offer(ok('two')))).toBe(true);
});

test('a generation that somebody else has given is kept', async () => {
  const rules = makeRules();
  await rules.offer(ok('one'), { generation: 41 });
  await rules.offer(ok('two'));
  expect(rules.ruleSet?.generation).toBe(42);
});

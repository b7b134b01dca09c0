/** Metrics by rule and by request value are bounded in number and bytes. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Registry } from 'prom-client';
import { RuleMetrics, type DescriptorRecord } from '../../../../src/server/observability/metrics/rule-metrics';

const RECORD: DescriptorRecord = {
  domain: 'edge',
  path: ['user'],
  sent: false,
  hits: 1,
  fits: true,
  remaining: 9,
  capacity: 10,
  shadow: false,
  cached: false,
  denied: false,
  isReport: false,
  debt: 0,
  cut: 0,
};

const PREFIX = 'ratelimit_service_rate_limit_';

/** Of values as long as they may be. */
const LONG_VALUES = 500;
const VALUE_BYTES = 64 * 1024;

describe('RuleMetrics', () => {
  let registry: Registry;
  let metrics: RuleMetrics;

  beforeEach(() => {
    registry = new Registry();
    metrics = new RuleMetrics({ registry, seriesMax: 2, nearLimitRatio: 0.8, sanitizeDots: false });
  });

  async function series(): Promise<string[]> {
    const text = await registry.metrics();
    return text
      .split('\n')
      .flatMap((line) => (line.startsWith(PREFIX) ? [line.slice(PREFIX.length)] : line.startsWith('weir_overdraft') ? [line] : []));
  }

  it.each<[string, Partial<DescriptorRecord>, boolean, string[]]>([
    ['hits that fit', {}, false, ['total_hits 1', 'within_limit 1']],
    ['hits that do not fit', { fits: false, hits: 3 }, true, ['total_hits 3', 'over_limit 3']],
    [
      'hits that did not fit as was known',
      { fits: false, hits: 3, cached: true },
      true,
      ['total_hits 3', 'over_limit 3', 'over_limit_with_local_cache 3'],
    ],
    ['hits that would fit, of a denied request', {}, true, ['total_hits 1']],
    ['hits over a rule in shadow mode', { fits: false, shadow: true }, false, ['total_hits 1', 'over_limit 1', 'shadow_mode 1']],
    ['a check', { hits: 0 }, false, []],
    ['a refund', { hits: -5 }, false, ['total_negative_hits 5']],
    ['a refund of a denied request, which was not applied', { hits: -5 }, true, []],
    ['hits up to the near limit', { hits: 2, remaining: 2 }, false, ['total_hits 2', 'within_limit 2']],
    ['hits across the near limit', { hits: 3, remaining: 1 }, false, ['total_hits 3', 'near_limit 1', 'within_limit 3']],
    ['hits past the near limit', { hits: 2, remaining: 0 }, false, ['total_hits 2', 'near_limit 2', 'within_limit 2']],
  ])('RuleMetrics counts %s', async (_name, change, denied, expected) => {
    metrics.record({ ...RECORD, ...change, denied });
    expect(await series()).toEqual(expected.map((line) => line.replace(' ', '{domain="edge",key1="user"} ')));
  });

  it.each<[string, Partial<DescriptorRecord>, string[]]>([
    ['one that fits, of a denied request', { hits: 3, remaining: 4, denied: true }, ['total_hits 3', 'within_limit 3']],
    [
      'one that goes below zero',
      { hits: 9, fits: false, remaining: 0, debt: 2, denied: true },
      ['total_hits 9', 'over_limit 9', 'weir_overdraft_hits_total 2'],
    ],
    [
      'one that begins below zero',
      { hits: 3, fits: false, remaining: 0, debt: 7, denied: true },
      ['total_hits 3', 'over_limit 3', 'weir_overdraft_hits_total 3'],
    ],
    [
      'one that is cut off',
      { hits: 9, fits: false, remaining: 0, debt: 10, cut: 4, denied: true },
      ['total_hits 9', 'over_limit 9', 'weir_overdraft_hits_total 5', 'weir_overdraft_cut_hits_total 4'],
    ],
    ['a refund, of a denied request', { hits: -3, denied: true }, ['total_negative_hits 3']],
  ])('a usage report counts as charged with any answer: %s', async (_name, change, expected) => {
    metrics.record({ ...RECORD, isReport: true, ...change });
    expect((await series()).sort()).toEqual(expected.map((line) => line.replace(' ', '{domain="edge",key1="user"} ')).sort());
  });

  it('rules beyond the bound count as one, and known ones go on', async () => {
    for (const key of ['a', 'b', 'c', 'd', 'a']) metrics.record({ ...RECORD, path: [key], fits: false, denied: true });
    expect((await series()).filter((line) => line.startsWith('over_limit'))).toEqual([
      'over_limit{domain="edge",key1="a"} 2',
      'over_limit{domain="edge",key1="b"} 1',
      'over_limit{domain="other",key1="other"} 2',
    ]);
  });

  it('near_limit starts where it does in the reference, which multiplies in single precision', async () => {
    registry = new Registry();
    metrics = new RuleMetrics({ registry, seriesMax: 2, nearLimitRatio: 0.29, sanitizeDots: false });
    metrics.record({ ...RECORD, capacity: 100, remaining: 71, denied: false });
    expect((await series()).join()).not.toContain('near_limit');
    metrics.record({ ...RECORD, capacity: 100, remaining: 70, denied: false });
    expect(await series()).toContain('near_limit{domain="edge",key1="user"} 1');
  });

  it('request values take half of the bound, and no more', async () => {
    for (const key of ['v1', 'v2', 'v3']) metrics.record({ ...RECORD, path: [key], sent: true, fits: false, denied: true });
    metrics.record({ ...RECORD, fits: false, denied: true });
    expect((await series()).filter((line) => line.startsWith('over_limit')).sort()).toEqual([
      'over_limit{domain="edge",key1="user"} 1',
      'over_limit{domain="edge",key1="v1"} 1',
      'over_limit{domain="other",key1="other"} 2',
    ]);
  });

  it('the first hundred unknown domains count under their names', async () => {
    for (let i = 0; i < 150; i += 1) metrics.recordUnknownDomain(`d${i}`);
    metrics.recordUnknownDomain('d7');
    const lines = (await series()).filter((line) => line.startsWith('domain_not_found'));
    expect(lines).toHaveLength(101);
    expect(lines).toContain('domain_not_found{domain="d7"} 2');
    expect(lines).toContain('domain_not_found{domain="other"} 50');
  });

  it.each([
    [false, 'host_10_0_0_1', 'v1.2'],
    [true, 'host_10_0_0_1', 'v1_2'],
  ])('names equal those of the reference (SANITIZE_DESCRIPTOR_METRIC_DOTS=%s)', async (sanitizeDots, host, version) => {
    registry = new Registry();
    metrics = new RuleMetrics({ registry, seriesMax: 2, nearLimitRatio: 0.8, sanitizeDots });
    metrics.record({ ...RECORD, domain: 'a.b', path: ['host_10.0.0.1', 'v1.2', 'p|q:r'], fits: false, denied: true });
    expect(await series()).toContain(`over_limit{domain="a.b",key1="${host}",key2="${version}",key3="p_q_r"} 1`);
  });

  it('eight levels have a label each, and deeper ones share the last', async () => {
    metrics.record({ ...RECORD, domain: '\xc3\xa9', path: 'abcdefghij'.split(''), denied: true });
    expect(await series()).toEqual([
      'total_hits{domain="é",key1="a",key2="b",key3="c",key4="d",key5="e",key6="f",key7="g",key8="h.i.j"} 1',
    ]);
  });

  it.each<[string, (metrics: RuleMetrics, text: string, i: number) => void]>([
    [
      'a series keeps only the shown characters of a long value',
      (of, text) => {
        of.record({ ...RECORD, path: [`client_${text}`], sent: true, denied: false });
      },
    ],
    [
      'a counted domain keeps nothing else of its long message',
      (of, text, i) => {
        of.recordUnmatched(text.slice(0, text.indexOf(`${i},`) + 4), 1);
      },
    ],
  ])('a long label is bounded: %s', (_title, count) => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const heapBytes = () => {
      gc();
      return process.memoryUsage().heapUsed;
    };
    metrics = new RuleMetrics({ registry: new Registry(), seriesMax: 2 * LONG_VALUES, nearLimitRatio: 0.8, sanitizeDots: false });
    const before = heapBytes();
    for (let i = 0; i < LONG_VALUES; i += 1) {
      count(metrics, Buffer.alloc(VALUE_BYTES, `a value of no end, number ${i}, `).toString(), i);
    }
    expect(heapBytes() - before).toBeLessThan((LONG_VALUES * VALUE_BYTES) / 10);
  });

  test('labels with request values have a bound in bytes together, and further ones count as other', async () => {
    const registry = new Registry();
    metrics = new RuleMetrics({ registry, seriesMax: 100_000, nearLimitRatio: 0.8, sanitizeDots: false });
    for (let i = 0; i < 5_000; i += 1) {
      const path = Array.from({ length: 8 }, (_, level) => `${i}-${level}-`.padEnd(256, 'x'));
      metrics.record({ ...RECORD, path, sent: true });
    }
    const text = await registry.metrics();
    expect(Buffer.byteLength(text)).toBeLessThan(4 * 1024 * 1024);
    expect(text).toMatch(/total_hits{domain="other",key1="other"} 4\d{3}\n/);
  });
});

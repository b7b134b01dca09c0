/** Writes the figures of docs/sizing.md from bench/results.md: `node scripts/generate/sizing.mjs`, after `npm run bench`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, isMain } from '../process/repository.mjs';
import { rowOf, tableBelow, withSection } from './results-tables.mjs';

const PAGE = join(ROOT, 'docs', 'sizing.md');
const RESULTS = join(ROOT, 'bench', 'results.md');

const SERVER = 'Weir, Redis, lean';
const FULL_LOAD = '4 x 64';
/** The rows of the table of rates. */
const RATES = [2_000, 10_000];
/** The rows of the table of full load, by the number of descriptors. */
const REQUESTS = {
  1: '100,000 keys',
  3: '100,000 keys, 3 descriptors',
  5: '100,000 keys, 5 descriptors',
  10: '100,000 keys, 10 descriptors',
};

/** The worked example. Each instance gets a rate of the first table. */
const EXAMPLE = { perSecond: 30_000, instances: 3, descriptors: /** @type {const} */ (3), buckets: 2_000_000 };

/** @param {number} value */
const count = (value) => value.toLocaleString('en');
/** @param {number} share */
const percent = (share) => `${Math.round(share * 100)} %`;
/** @param {number} cores */
const cores = (cores) => cores.toFixed(2);

/**
 * The section with the figures.
 *
 * @param {string} results
 */
function renderFigures(results) {
  const rates = RATES.map((perSecond) => ({ perSecond, ...costAt(results, perSecond) }));
  const full = Object.entries(REQUESTS).map(([descriptors, request]) => ({ descriptors, ...costOf(results, request) }));
  const bucketBytes = numberOf(rowOf(tableBelow(results, '### The memory of a bucket'), ['Redis'])[2]);
  return [
    'Requests with one descriptor at a fixed rate, on one instance:',
    '',
    '| requests a second | CPU of Weir for each | of a core | CPU of Redis for each | of a core | p99 |',
    '|---|---|---|---|---|---|',
    ...rates.map(
      ({ perSecond, weir, redis, p99 }) =>
        `| ${count(perSecond)} | ${weir} µs | ${percent((perSecond * weir) / 1e6)} | ${redis} µs | ${percent((perSecond * redis) / 1e6)} | ${p99} ms |`,
    ),
    '',
    'As many as one instance and one Redis decide, with 256 requests under way:',
    '',
    '| descriptors | requests a second | CPU of Weir for each | CPU of Redis for each | memory of Weir |',
    '|---|---|---|---|---|',
    ...full.map(
      ({ descriptors, perSecond, weir, redis, mebibytes }) =>
        `| ${descriptors} | ${count(perSecond)} | ${weir} µs | ${redis} µs | ${mebibytes} MiB |`,
    ),
    '',
    ...exampleOf({ rates, full, bucketBytes }),
    '',
    ...clusterOf({ results, full }),
  ].join('\n');
}

/** Primaries by the rate of all instances together. */
const TOTALS = [10_000, 100_000, 1_000_000];

/** The busiest that a primary or an instance is planned. */
const PLANNED_BUSY = 0.7;

/**
 * What primaries of a Redis Cluster cost, and how many a rate needs.
 *
 * @param {{ results: string, full: readonly { descriptors: string, redis: number }[] }} figures
 */
function clusterOf({ results, full }) {
  const loads = tableBelow(results, '## Redis Cluster');
  const of = (/** @type {string} */ load, /** @type {number} */ primaries) => figuresOf(loads, rowOf(loads, [load, String(primaries)]));
  const busy = tableBelow(results, '### Instances on one primary');
  const busyOf = figuresOf(busy, rowOf(busy, ['40', '1']));
  const [one, three] = [full[0], full.find(({ descriptors }) => descriptors === '3')];
  if (one === undefined || three === undefined) throw new Error('bench/results.md has no rows for requests with 1 and 3 descriptors');
  const oneUs = busyOf('Redis CPU µs');
  const threeUs = oneUs + three.redis - one.redis;
  const weirUs = of('as fast as they go', 12)('CPU µs');
  const primaries = (/** @type {number} */ perSecond, /** @type {number} */ us) => Math.ceil((perSecond * us) / 1e6 / PLANNED_BUSY);
  const primaryCounts = [1, 3, 6, 12];
  const row = (/** @type {string} */ load) =>
    `| ${load} | ${primaryCounts.map((count) => `${of(load, count)('Redis CPU µs')} µs`).join(' | ')} |`;
  return [
    '## On a Redis Cluster',
    '',
    'CPU of all primaries for each decision, with `hash_tag`. Each tenant has its slot, and a script decides one slot. Many primaries with few calls each share less work:',
    '',
    `| load of one instance | ${primaryCounts.join(' | ')} primaries |`,
    `|---|${'---|'.repeat(primaryCounts.length)}`,
    ...[
      'as fast as they go',
      '6,000 a second',
      '500 a second for each primary',
      '1,500 a second',
      '1,500 a second, buckets in two slots',
    ].map(row),
    '',
    `A busy primary works off what has arrived meanwhile, so the cost falls with the load: 40 instances, each with one call under way on one primary, cost it ${oneUs} µs for each decision. Arithmetic from that row, with 0.7 of a core on each primary and instance:`,
    '',
    '| decisions a second | primaries, 1 descriptor | primaries, 3 descriptors of a tenant | instances |',
    '|---|---|---|---|',
    ...TOTALS.map(
      (perSecond) =>
        `| ${count(perSecond)} | ${primaries(perSecond, oneUs)} | ${primaries(perSecond, threeUs)} | ${Math.max(2, primaries(perSecond, weirUs) + 1)} |`,
    ),
    '',
    `Assumed: cores like these, keys that spread evenly, all buckets of a request in one slot (${threeUs.toFixed(1)} µs with 3 descriptors), instances as busy as in the first row (${weirUs} µs) and one to spare. No more than 12 primaries and ${count(Math.round(busyOf('per second')))} decisions a second on one were run.`,
  ];
}

/**
 * @param {{
 *   rates: readonly { perSecond: number, weir: number, redis: number }[],
 *   full: readonly { descriptors: string, weir: number, redis: number, mebibytes: number }[],
 *   bucketBytes: number,
 * }} figures
 */
function exampleOf({ rates, full, bucketBytes }) {
  const { perSecond, instances, descriptors, buckets } = EXAMPLE;
  const each = perSecond / instances;
  const rate = rates.find((row) => row.perSecond === each);
  const [one, more] = [full[0], full.find((row) => row.descriptors === String(descriptors))];
  if (rate === undefined || one === undefined || more === undefined) throw new Error('bench/results.md has no row for the example');
  const weir = rate.weir + more.weir - one.weir;
  const redis = rate.redis + more.redis - one.redis;
  const megabytes = Math.round((buckets * bucketBytes) / 1e6);
  return [
    `**Example.** ${count(perSecond)} requests a second with ${descriptors} descriptors each, ${count(buckets)} buckets in use, ${instances} instances:`,
    '',
    `- **Weir.** Each instance gets ${count(each)} requests a second. One descriptor costs ${rate.weir} µs at this rate, and the others add ${more.weir} - ${one.weir} µs: ${weir.toFixed(1)} µs in all. That is ${cores((each * weir) / 1e6)} of a core for each instance, and ${cores(((perSecond / (instances - 1)) * weir) / 1e6)} while one of them is away.`,
    `- **Redis** needs ${rate.redis} + ${more.redis} - ${one.redis} = ${redis.toFixed(1)} µs for each request, so ${cores((perSecond * redis) / 1e6)} of a core. One Redis uses one core. From 0.7 on, plan for [more than one](#when-redis-is-the-limit).`,
    `- **Memory of Redis.** A bucket takes ${bucketBytes} bytes with its key, so ${count(buckets)} buckets take ${count(megabytes)} MB. Set \`maxmemory\` to twice that.`,
    `- **Memory of Weir.** Request ${more.mebibytes} MiB for each instance, and limit it to three times that: a reload of many rules needs more for a moment.`,
  ];
}

/**
 * @param {string} results
 * @param {number} perSecond
 */
function costAt(results, perSecond) {
  const rates = tableBelow(results, '### Latency at a fixed rate');
  const of = figuresOf(rates, rowOf(rates, [SERVER, count(perSecond)]));
  return { p99: of('p99 ms'), weir: of('CPU µs'), redis: of('Redis CPU µs') };
}

/**
 * @param {string} results
 * @param {string} request
 */
function costOf(results, request) {
  const costs = tableBelow(results, '### The cost of a decision');
  const of = figuresOf(costs, rowOf(costs, [SERVER, request, FULL_LOAD]));
  return { weir: of('CPU µs'), perSecond: of('per second'), redis: of('Redis CPU µs'), mebibytes: of('RSS MiB') };
}

/**
 * The number in the column of that name.
 *
 * @param {import('./results-tables.mjs').Table} table
 * @param {readonly string[]} row
 */
function figuresOf({ header }, row) {
  return (/** @type {string} */ column) => numberOf(row[header.indexOf(column)]);
}

/**
 * `2.84 (2.80 to 2.90)` or `152,393`.
 *
 * @param {string | undefined} cell
 */
function numberOf(cell = '') {
  const number = Number.parseFloat(cell.replaceAll(',', ''));
  if (Number.isNaN(number)) throw new Error(`bench/results.md has "${cell}" where docs/sizing.md needs a number`);
  return number;
}

/**
 * The page with its figures.
 *
 * @param {string} page
 * @param {string} results
 */
export function withFigures(page, results) {
  return withSection({ page, file: 'docs/sizing.md', command: 'node scripts/generate/sizing.mjs', text: renderFigures(results) });
}

if (isMain(import.meta.url)) writeFileSync(PAGE, withFigures(readFileSync(PAGE, 'utf8'), readFileSync(RESULTS, 'utf8')));
